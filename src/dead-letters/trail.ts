import { wasUnprocessed } from '../core/classify.ts';
import { explain } from '../core/explain.ts';
import type { Exchange } from '../exchange/ports.ts';
import { type LetterAttempt, MAX_TRAIL } from '../store/letter.ts';
import type { ProxyEvent } from '../telemetry/events.ts';

/** The failed attempts of one exchange. */
export interface Trail {
  readonly attempts: readonly LetterAttempt[];
  /** How many there were, those that are forgotten included. */
  readonly judged: number;
  /** Whether one of them reached the site, which did not say that nothing was done. */
  readonly reached: boolean;
}

const NOTHING: Trail = { attempts: [], judged: 0, reached: false };

type AttemptFinished = Extract<ProxyEvent, { type: 'attempt_finished' }>;

/** Keeps the trail of every exchange that is in trouble, for as long as it runs; the others cost nothing. */
export class Trails {
  readonly #trails = new WeakMap<Exchange, Trail>();

  record(event: AttemptFinished): void {
    if (event.verdict.fault === 'none') return;
    const { attempts, judged, reached } = this.of(event.exchange);
    const { reply } = event;
    const arrived = reply.kind === 'response' || reply.sent;
    this.#trails.set(event.exchange, {
      attempts: [...attempts, letterAttempt(event)].slice(-MAX_TRAIL),
      judged: judged + 1,
      reached: reached || (arrived && !wasUnprocessed(reply)),
    });
  }

  of(exchange: Exchange): Trail {
    return this.#trails.get(exchange) ?? NOTHING;
  }
}

function letterAttempt(event: AttemptFinished): LetterAttempt {
  const { n, route, verdict, action, reply, at, durationMs } = event;
  return {
    n,
    route: route.label,
    fault: verdict.fault,
    reason: verdict.reason,
    action: action.kind,
    sentence: explain(verdict, action),
    sentBytes: event.sentBytes,
    receivedBytes: event.receivedBytes,
    at: at - durationMs,
    durationMs,
    status: reply.kind === 'response' ? reply.status : undefined,
  };
}
