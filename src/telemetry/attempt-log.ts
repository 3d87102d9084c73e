import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Policy } from '../core/policy.ts';
import {
  type AttemptLine,
  attemptLine,
  endLine,
  LOG_VERSION,
  type LogEntry,
  loggedPolicy,
  policyParts,
} from './attempt-line.ts';
import type { Emit, ProxyEvent } from './events.ts';
import { LogFile } from './log-file.ts';
import type { BodyLimits } from './logged-reply.ts';

export interface AttemptLogOptions {
  readonly file: string;
  readonly bodies: BodyLimits;
  /** The version of the program that writes. */
  readonly version: string;
  readonly clock: Clock;
  readonly tell: (level: 'info' | 'error', message: string) => void;
}

/** A file with a line for each attempt, from which all of them can be judged again. */
export interface AttemptLog {
  readonly record: Emit;
  /** The file was rotated away. */
  reopen(): void;
  close(): Promise<void>;
}

/** A longer line loses its body, then its header fields. */
const MOST_LINE_CHARS = 32 * 1024;
/** Rules beyond these are told again when they come back. */
const MOST_POLICIES = 200;

/** Opens the log. Throws the system's error where it cannot be opened. */
export function openAttemptLog(options: AttemptLogOptions): AttemptLog {
  const { clock, bodies } = options;
  const most = MOST_LINE_CHARS + 2 * Math.max(bodies.goodChars, bodies.otherChars);
  const policies = new Policies();
  const text = (entry: LogEntry): string => JSON.stringify(entry);
  const file = new LogFile({
    ...options,
    head: () => {
      const head = { v: LOG_VERSION, kind: 'head', at: clock.now(), forbear: options.version };
      return [JSON.stringify(head), ...policies.lines()].map((line) => `${line}\n`).join('');
    },
    gap: (lines) => text({ v: LOG_VERSION, kind: 'gap', at: clock.now(), lines }),
  });
  const policyId = (policy: Policy): string => {
    const { id, line } = policies.idOf(policy);
    if (line !== undefined) file.write(line);
    return id;
  };
  const record = (event: ProxyEvent): void => {
    if (event.type === 'exchange_finished') file.write(text(endLine(event)));
    if (event.type !== 'attempt_finished') return;
    file.write(bounded(attemptLine(event, policyId(event.exchange.policy), bodies), most));
  };
  return { record, reopen: () => file.reopen(), close: () => file.close() };
}

/** Text in JSON may be several times as long as the text itself. */
function bounded(line: AttemptLine, most: number): string {
  const whole = JSON.stringify(line);
  if (whole.length <= most) return whole;
  const { reply } = line;
  if (reply.kind === 'failure') return JSON.stringify({ ...line, reply: shortFailure(reply) });
  const { body } = reply;
  const bodiless =
    body.kind === 'seen' ? { ...body, text: '', chars: body.chars ?? body.text.length } : body;
  const shorter = JSON.stringify({ ...line, reply: { ...reply, body: bodiless } });
  if (shorter.length <= most) return shorter;
  return JSON.stringify({ ...line, reply: { ...reply, rawHeaders: [], body: bodiless } });
}

function shortFailure(reply: Extract<AttemptLine['reply'], { kind: 'failure' }>) {
  const { upstreamReply } = reply;
  if (upstreamReply === undefined) return reply;
  return { ...reply, upstreamReply: { ...upstreamReply, rawHeaders: [], text: '' } };
}

/**
 * Names sets of rules. They are put together anew for every request, but always of the same parts, so that their
 * parts tell whether a set was seen before.
 */
class Policies {
  readonly #partIds = new WeakMap<object, number>();
  readonly #known = new Map<string, { readonly id: string; readonly line: string }>();
  #parts = 0;

  /** `line`: to be written first. */
  idOf(policy: Policy): { readonly id: string; readonly line?: string } {
    const key = policyParts(policy)
      .map((part) => this.#idOfPart(part))
      .join(' ');
    const known = this.#known.get(key);
    if (known) return { id: known.id };
    const logged = loggedPolicy(policy);
    const id = createHash('sha256').update(JSON.stringify(logged)).digest('hex').slice(0, 12);
    const line = JSON.stringify({ v: LOG_VERSION, kind: 'policy', id, policy: logged });
    this.#known.set(key, { id, line });
    if (this.#known.size > MOST_POLICIES) {
      for (const [oldest] of this.#known) {
        this.#known.delete(oldest);
        break;
      }
    }
    return { id, line };
  }

  lines(): string[] {
    return [...new Set([...this.#known.values()].map(({ line }) => line))];
  }

  #idOfPart(part: unknown): string {
    if (typeof part !== 'object' || part === null) return String(part);
    let id = this.#partIds.get(part);
    if (id === undefined) {
      this.#parts += 1;
      id = this.#parts;
      this.#partIds.set(part, id);
    }
    return `#${id}`;
  }
}
