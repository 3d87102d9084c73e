import { writeFileSync } from 'node:fs';
import { ownVersion } from '../../src/cli/version.ts';
import type { PolicyPatch } from '../../src/config/config.ts';
import type { Ledger, Progress } from '../../src/core/action.ts';
import { classify, type Judge, wasUnprocessed } from '../../src/core/classify.ts';
import { decide } from '../../src/core/decide.ts';
import { newLedger } from '../../src/core/ledger.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { ResponseReply } from '../../src/core/verdict.ts';
import { judgeTools } from '../../src/judge-tools.ts';
import {
  attemptLine,
  LOG_VERSION,
  type LogEntry,
  loggedPolicy,
} from '../../src/telemetry/attempt-line.ts';
import type { BodyLimits } from '../../src/telemetry/logged-reply.ts';
import { exchangeFor } from './playbook.ts';
import { policyWith } from './policy.ts';
import { fresh } from './recorded.ts';

/** When the first attempt of a log ends, epoch ms. */
const BEGIN = Date.UTC(2026, 0, 1);

/** One attempt of a made log; whatever is not said is plain. */
export interface Made {
  readonly exchange: string;
  readonly n?: number;
  /** Seconds from the beginning of the log to its end. */
  readonly atS?: number;
  /** Seconds from the start of the exchange to its end. */
  readonly sinceS?: number;
  readonly status: number;
  readonly headers?: readonly string[];
  readonly text?: string;
  readonly method?: string;
  readonly path?: string;
  readonly route?: string;
  readonly blockedAddresses?: readonly string[];
  readonly ledger?: Partial<Ledger>;
  readonly progress?: Partial<Progress>;
}

/** A log as the proxy would have written it: verdict and action are those of the core, under the rules given. */
export class MadeLog {
  readonly lines: LogEntry[] = [];
  readonly #policy: Policy;
  readonly #bodies: BodyLimits;

  constructor(policy: PolicyPatch = {}, bodies: BodyLimits = { goodChars: 0, otherChars: 2_048 }) {
    this.#policy = policyWith(policy);
    this.#bodies = bodies;
    this.lines.push({ v: LOG_VERSION, kind: 'head', at: BEGIN, forbear: ownVersion() });
    const kept = loggedPolicy(this.#policy);
    this.lines.push({ v: LOG_VERSION, kind: 'policy', id: 'p', policy: kept });
  }

  add(made: Made): this {
    const { exchange: id, n = 1, atS = this.lines.length, sinceS = 0.1, route = 'r1' } = made;
    const at = BEGIN + atS * 1_000;
    const { method = 'GET', path = '/items/1' } = made;
    const policy = this.#policy;
    const exchange = { ...exchangeFor({ policy, method, path }, at - sinceS * 1_000), id };
    const reply = replyOf(made);
    const judge: Judge = {
      request: { method, scheme: 'https', host: 'shop.test', path },
      ...{ policy, expectText: undefined, nowWall: at, routeId: route, tools: judgeTools },
      blockedAddresses: made.blockedAddresses ?? [],
    };
    const verdict = classify(reply, judge);
    const asked = 'waitMs' in verdict ? (verdict.waitMs ?? 0) : 0;
    const progress: Progress = {
      ledger: {
        ...{ ...newLedger, attempts: n, transientRetries: n - 1, addresses: [route] },
        ...made.ledger,
      },
      ...{ now: at, deadline: exchange.deadline, roll: 0.5, retry: 'on', inSession: false },
      replay: {
        ...{ bodyKept: true, repeatable: policy.replayMethods.includes(method), sent: true },
        unprocessed: wasUnprocessed(reply),
      },
      ...{ budgetLeft: true, bytesLeft: true, laneFailures: 1, pausedUntil: at + asked },
      ...{ routesLeft: true, upstreamsLeft: false },
      ...made.progress,
    };
    const event = {
      ...({
        type: 'attempt_finished',
        at,
        exchange,
        lane: 'shop.test',
        n,
        reply,
        verdict,
      } as const),
      route: {
        ...{ id: route, label: route, upstream: 'pool', session: undefined, generation: 0 },
        way: { kind: 'direct' } as const,
      },
      action: decide(verdict, progress, policy),
      basis: { judge, progress, retriesLeft: 6 },
      ...{ durationMs: 100, sentBytes: 500, receivedBytes: 2_000 },
    };
    this.lines.push(attemptLine(event, 'p', this.#bodies));
    return this;
  }

  /** Writes it as a file, and gives the name. */
  file(): string {
    const file = fresh('made.jsonl');
    writeFileSync(file, this.lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return file;
  }
}

function replyOf({ status, headers = [], text = 'some words' }: Made): ResponseReply {
  return {
    ...{ kind: 'response', via: 'tunnel', status, headMs: 50 },
    rawHeaders: ['Content-Type', 'text/html', ...headers],
    body: { kind: 'seen', text, receivedBytes: text.length, end: 'complete', coding: 'ok' },
  };
}
