import type { Turn } from '../core/pacing.ts';
import type { PacePolicy, Policy } from '../core/policy.ts';
import { grow, limitOf, newLimit, shrink } from './concurrency.ts';
import { FairQueue } from './queue.ts';

/** One pace within a host: its own slots, distance between starts, and queue. */
export class PacedLane {
  readonly id: string;
  readonly queue = new FairQueue();
  /** The newest policy seen, for what is shown outside an exchange. */
  policy: Policy;
  #inFlight = 0;
  #nextAt = 0;
  #limit = newLimit;

  constructor(id: string, policy: Policy) {
    this.id = id;
    this.policy = policy;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get nextAt(): number {
    return this.#nextAt;
  }

  get concurrency(): number {
    return limitOf(this.#limit, this.policy.pace.concurrency);
  }

  /** Whether an exchange under this pace may start now, as far as the lane alone is concerned. */
  turn(pace: PacePolicy, now: number): Turn {
    if (this.#inFlight >= limitOf(this.#limit, pace.concurrency)) return { kind: 'when_one_ends' };
    return now < this.#nextAt ? { kind: 'at', at: this.#nextAt } : { kind: 'go' };
  }

  start(pace: PacePolicy, now: number, roll: number): void {
    const { minMs, maxMs } = pace.delay;
    this.#inFlight += 1;
    this.#nextAt = now + Math.max(minMs + roll * (maxMs - minMs), fixedGapMs(pace));
  }

  end(): void {
    this.#inFlight -= 1;
  }

  /** Too much of our own was under way. */
  overran(startedAt: number, now: number): void {
    // Half of what was under way, not of what would have been allowed: else the first cuts change nothing.
    const configured = Math.min(this.policy.pace.concurrency, Math.max(1, this.#inFlight));
    this.#limit = shrink(this.#limit, { startedAt, configured }, now);
  }

  succeeded(startedAt: number): void {
    this.#limit = grow(this.#limit, { startedAt, configured: this.policy.pace.concurrency });
  }

  /** Whether nothing would be lost by forgetting it. */
  isIdle(now: number): boolean {
    return (
      this.queue.size === 0 &&
      this.#inFlight === 0 &&
      this.#nextAt <= now &&
      this.#limit.learned === null
    );
  }
}

/** The least distance between two starts under this pace. */
export function leastGapMs(pace: PacePolicy): number {
  return Math.max(pace.delay.minMs, fixedGapMs(pace));
}

const fixedGapMs = ({ ratePerSecond }: PacePolicy): number =>
  ratePerSecond === null ? 0 : 1000 / ratePerSecond;
