import { newLedger } from '../core/ledger.ts';
import type { Emit, ProxyEvent } from '../telemetry/events.ts';
import type { Delivery, Exchange, Stage } from './ports.ts';

interface Live {
  /** Attempts that have ended. */
  ended: number;
  readonly cutOff: (answer: Delivery) => void;
}

/** Who was told to come back asks another replica, or the same one after its restart. */
const RETRY_AFTER_MS = 1_000;

/** The end of the exchanges when the proxy stops: none of them goes without an answer. */
export class Drain {
  readonly #begun = new AbortController();
  #held: PromiseWithResolvers<void> | undefined;
  readonly #live = new Map<Exchange, Live>();

  constructor(subscribe: (subscriber: Emit) => unknown) {
    subscribe((event) => this.#count(event));
  }

  /** Fires when the proxy stops: a wait before a retry is of no use from then on. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /**
   * Who comes from now on is kept until it begins: whoever was told at once to come back would be there again while the
   * door is being shut, and it might never be.
   */
  hold(): void {
    this.#held ??= Promise.withResolvers();
  }

  begin(): void {
    this.#begun.abort();
    this.#held?.resolve();
  }

  /** The time is over: who has no answer yet gets one now, whatever becomes of the attempt. */
  cutOff(): void {
    this.begin();
    for (const [exchange, { ended, cutOff }] of this.#live) {
      cutOff(turnedAway(ended + (isUnderWay(exchange.stage) ? 1 : 0)));
    }
  }

  /** The loop, with an answer for those whom the end overtakes. */
  within<Rest extends unknown[], Answer extends Delivery>(
    run: (exchange: Exchange, ...rest: Rest) => Promise<Answer>,
  ): (exchange: Exchange, ...rest: Rest) => Promise<Answer | Delivery> {
    return (exchange, ...rest) => {
      const { promise, resolve, reject } = Promise.withResolvers<Answer | Delivery>();
      this.#live.set(exchange, { ended: 0, cutOff: resolve });
      const over = () => this.#live.delete(exchange);
      const answer =
        this.#held === undefined
          ? run(exchange, ...rest)
          : this.#held.promise.then(() => run(exchange, ...rest));
      answer.then(resolve, reject).then(over);
      return promise;
    };
  }

  #count(event: ProxyEvent): void {
    if (event.type !== 'attempt_finished') return;
    const live = this.#live.get(event.exchange);
    if (live) live.ended = event.n;
  }
}

/** What ends a backoff early: the client's leaving, or the proxy's. */
export const untilStopped = (
  signal: AbortSignal,
  stopping: AbortSignal | undefined,
): AbortSignal => (stopping ? AbortSignal.any([signal, stopping]) : signal);

/** Whether something of it may have reached the site that was not judged. */
function isUnderWay({ kind }: Stage): boolean {
  switch (kind) {
    case 'queued':
    case 'paused':
    case 'pacing':
    case 'breaker':
    case 'backoff':
      return false;
    case 'dialling':
    case 'awaiting_reply':
    case 'receiving':
    case 'streaming':
      return true;
  }
}

const turnedAway = (attempts: number): Delivery => ({
  received: undefined,
  verdict: undefined,
  stop: 'draining',
  retryAfterMs: RETRY_AFTER_MS,
  ledger: { ...newLedger, attempts },
  route: undefined,
});
