import { createHmac } from 'node:crypto';
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Clock } from '../clock.ts';
import type { DeadLettersPolicy } from '../core/policy.ts';
import type { Letter } from '../store/letter.ts';
import type { Rows } from '../store/store.ts';
import type { Emit } from '../telemetry/events.ts';
import type { FullLetter } from './full-letter.ts';
import { shownLetter } from './shown-letter.ts';

type Hook = NonNullable<DeadLettersPolicy['webhook']>;

/** What telling somebody else needs of the rest. */
export interface WebhookDeps {
  readonly clock: Clock;
  readonly emit: Emit;
  /** Read when it is its turn: bodies that wait would fill the memory. */
  readonly load: (id: string) => Promise<FullLetter | undefined>;
  /** Where letters like this one are told of now; undefined: nowhere. */
  readonly hookFor: (letter: Letter) => Hook | undefined;
  /** Letters that are still to be told of, by id, beyond the process. */
  readonly pending: Rows;
}

const TIMEOUT_MS = 10_000;
/** Before each further try. */
const WAITS_MS = [5_000, 30_000, 120_000];
const MOST_WAITING = 1_000;
const AT_ONCE = 2;

/**
 * Posts letters that are over to the user's own address. Nothing waits for it, and its failures end with it. A letter
 * whose turn has not come when the process ends is told of by the next one; somebody may hear of it twice.
 */
export class Webhook {
  readonly #deps: WebhookDeps;
  readonly #waiting: string[] = [];
  readonly #ending = new AbortController();
  #underWay = 0;

  constructor(deps: WebhookDeps) {
    this.#deps = deps;
  }

  /** Takes up what an earlier process left. */
  async start(): Promise<void> {
    const left = await this.#deps.pending.entries();
    for (const [id] of left) this.#add(id);
  }

  /** Tells of one letter, in its turn. */
  tell(id: string): void {
    // When it cannot be written it is still told of now.
    void this.#deps.pending.put(id, true).catch(() => {});
    this.#add(id);
  }

  /** Tells nobody any more. */
  stop(): void {
    this.#waiting.length = 0;
    this.#ending.abort();
  }

  #add(id: string): void {
    if (this.#ending.signal.aborted) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#complain(id, `${MOST_WAITING} others wait already`);
      this.#over(id);
      return;
    }
    this.#waiting.push(id);
    void this.#work();
  }

  #over(id: string): void {
    void this.#deps.pending.delete(id).catch(() => {});
  }

  async #work(): Promise<void> {
    if (this.#underWay >= AT_ONCE) return;
    this.#underWay += 1;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      try {
        await this.#deliver(next);
      } catch (error) {
        this.#complain(next, String(error));
      }
      if (!this.#ending.signal.aborted) this.#over(next);
    }
    this.#underWay -= 1;
  }

  async #deliver(id: string): Promise<void> {
    const full = await this.#deps.load(id);
    const hook = full && this.#deps.hookFor(full.letter);
    if (!hook) return;
    const text = Buffer.from(JSON.stringify(noticeOf(full)));
    let failure = '';
    for (const waitMs of [0, ...WAITS_MS]) {
      await this.#deps.clock.sleep(waitMs, this.#ending.signal);
      if (this.#ending.signal.aborted) return;
      const answer = await post(text, hook, { ...this.#deps, signal: this.#ending.signal });
      if (answer.kind === 'taken' || this.#ending.signal.aborted) return;
      failure = answer.detail;
    }
    this.#complain(id, failure);
  }

  #complain(id: string, detail: string): void {
    const message = `the webhook was not told of dead letter ${id}: ${detail}`;
    this.#deps.emit({ type: 'notice', at: this.#deps.clock.now(), level: 'warn', message });
  }
}

/** Credentials are never told, whoever asks. */
function noticeOf({ letter, response }: FullLetter) {
  const body = response && {
    encoding: 'base64',
    text: Buffer.from(response.body).toString('base64'),
    truncated: response.truncated,
  };
  return { letter: shownLetter(letter), body: body ?? null };
}

type Answer = { readonly kind: 'taken' } | { readonly kind: 'not_taken'; readonly detail: string };

/** The signature covers the time, so that what was overheard cannot be sent again for ever. */
function post(
  text: Buffer,
  { url, secret }: Hook,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const timestamp = String(Math.floor(clock.now() / 1000));
  const mac = createHmac('sha256', secret).update(`${timestamp}.`).update(text).digest('hex');
  const send = url.startsWith('https:') ? secureRequest : plainRequest;
  const asking = send(url, {
    method: 'POST',
    // No connection is shared, and no proxy of the environment has a say.
    agent: false,
    signal,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': text.length,
      'Forbear-Timestamp': timestamp,
      'Forbear-Signature': `sha256=${mac}`,
    },
  });
  const cancel = clock.after(TIMEOUT_MS, () => {
    asking.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`));
  });
  const settle = (answer: Answer) => {
    cancel();
    resolve(answer);
  };
  asking.on('response', (reply) => {
    const { statusCode = 0 } = reply;
    // Redirects are not followed: what is told is for this address.
    const isTaken = statusCode >= 200 && statusCode < 300;
    settle(
      isTaken ? { kind: 'taken' } : { kind: 'not_taken', detail: `it answered ${statusCode}` },
    );
    asking.destroy();
  });
  asking.on('error', (error) => settle({ kind: 'not_taken', detail: error.message }));
  asking.end(text);
  return promise;
}
