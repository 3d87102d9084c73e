import type { BreakerPolicy } from './policy.ts';
import { newWindow, type Window, windowAdd, windowSum } from './window.ts';

/** Cool-downs are spread over ± this share, so that lanes that tripped together do not probe together. */
const JITTER = 0.1;

/** A circuit breaker as data. `leases` counts the leases ever given, so that an old one never fits again. */
export type Breaker = ClosedBreaker | OpenBreaker | HalfOpenBreaker;

export interface ClosedBreaker {
  readonly state: 'closed';
  /** Attempts that started earlier belong to the time before the recovery and say nothing. */
  readonly since: number;
  readonly good: Window;
  readonly bad: Window;
  readonly failuresInRow: number;
  readonly leases: number;
}

export interface OpenBreaker {
  readonly state: 'open';
  readonly until: number;
  /** Trips in a row, without a recovery between. */
  readonly trips: number;
  readonly leases: number;
}

export interface HalfOpenBreaker {
  readonly state: 'half_open';
  readonly trips: number;
  /** Probes in a row that found the host alive. */
  readonly alive: number;
  /** The probe that is out. After `until` its place is free: a probe that never reports must not wedge the circuit. */
  readonly probe: { readonly lease: number; readonly until: number } | null;
  readonly leases: number;
}

export type Passage =
  | {
      readonly kind: 'granted';
      readonly breaker: Breaker;
      /** Set when this passage is a probe. */
      readonly lease: number | undefined;
    }
  | { readonly kind: 'denied'; readonly retryAt: number; readonly trips: number };

/** `alive`: the host answered, though not well (404, 429): it ends an outage, but is no success. */
export type Outcome = 'success' | 'failure' | 'alive' | 'neutral';

export interface Recorded {
  readonly outcome: Outcome;
  readonly startedAt: number;
  readonly lease: number | undefined;
  readonly retryAfterMs?: number;
}

/** A closed breaker without history. */
export const newBreaker = (): Breaker => closed(0, 0);

/** Asks to pass. Once the cool-down is over, whoever asks first becomes the probe and holds a lease of `leaseMs`. */
export function pass(
  breaker: Breaker,
  now: number,
  _policy: BreakerPolicy,
  leaseMs: number,
): Passage {
  switch (breaker.state) {
    case 'closed':
      return { kind: 'granted', breaker, lease: undefined };
    case 'open': {
      const { until, trips, leases } = breaker;
      if (now < until) return { kind: 'denied', retryAt: until, trips };
      return probing({ state: 'half_open', trips, alive: 0, probe: null, leases }, now, leaseMs);
    }
    case 'half_open': {
      const { probe, trips } = breaker;
      if (probe && now < probe.until) return { kind: 'denied', retryAt: probe.until, trips };
      return probing(breaker, now, leaseMs);
    }
  }
}

function probing(breaker: HalfOpenBreaker, now: number, leaseMs: number): Passage {
  const lease = breaker.leases + 1;
  const probe = { lease, until: now + Math.max(1, leaseMs) };
  return { kind: 'granted', breaker: { ...breaker, probe, leases: lease }, lease };
}

/** Takes one outcome into account. `roll` spreads the cool-down, if this trips the breaker. */
export function record(
  breaker: Breaker,
  recorded: Recorded,
  now: number,
  policy: BreakerPolicy,
  roll: number,
): Breaker {
  const draw = { now, policy, roll };
  switch (breaker.state) {
    case 'closed':
      return recorded.startedAt < breaker.since ? breaker : counted(breaker, recorded, draw);
    case 'open':
      // A straggler sent before the trip neither extends nor ends the cool-down.
      return breaker;
    case 'half_open':
      return breaker.probe?.lease === recorded.lease && recorded.lease !== undefined
        ? probed(breaker, recorded, draw)
        : breaker;
  }
}

interface Moment {
  readonly now: number;
  readonly policy: BreakerPolicy;
  readonly roll: number;
}

function counted(breaker: ClosedBreaker, recorded: Recorded, moment: Moment): Breaker {
  const { now, policy } = moment;
  const one = { at: now, amount: 1 };
  switch (recorded.outcome) {
    case 'success': {
      const good = windowAdd(breaker.good, one, now, policy.windowMs);
      return { ...breaker, good, failuresInRow: 0 };
    }
    case 'failure': {
      const bad = windowAdd(breaker.bad, one, now, policy.windowMs);
      const next = { ...breaker, bad, failuresInRow: breaker.failuresInRow + 1 };
      return mustTrip(next, now, policy) ? trip(1, breaker.leases, recorded, moment) : next;
    }
    case 'alive':
    case 'neutral':
      return breaker;
  }
}

function mustTrip(breaker: ClosedBreaker, now: number, policy: BreakerPolicy): boolean {
  if (breaker.failuresInRow >= policy.consecutive) return true;
  const failures = windowSum(breaker.bad, now, policy.windowMs);
  const attempts = failures + windowSum(breaker.good, now, policy.windowMs);
  return attempts >= policy.minAttempts && failures >= policy.failureRatio * attempts;
}

function probed(breaker: HalfOpenBreaker, recorded: Recorded, moment: Moment): Breaker {
  switch (recorded.outcome) {
    case 'success':
    case 'alive': {
      const alive = breaker.alive + 1;
      if (alive >= moment.policy.probes) return closed(moment.now, breaker.leases);
      return { ...breaker, alive, probe: null };
    }
    case 'failure':
      return trip(breaker.trips + 1, breaker.leases, recorded, moment);
    case 'neutral':
      return { ...breaker, probe: null };
  }
}

function trip(trips: number, leases: number, recorded: Recorded, moment: Moment): Breaker {
  const { now, policy, roll } = moment;
  const plainMs = Math.min(policy.maxCooldownMs, policy.cooldownMs * 2 ** (trips - 1));
  const cooldownMs = Math.ceil(plainMs * (1 - JITTER + 2 * JITTER * roll));
  const until = now + Math.max(cooldownMs, recorded.retryAfterMs ?? 0);
  return { state: 'open', until, trips, leases };
}

function closed(since: number, leases: number): Breaker {
  const good = newWindow();
  return { state: 'closed', since, good, bad: good, failuresInRow: 0, leases };
}

/** Gives a probe's place back when it has nothing to report; the next who asks may probe. */
export function returnLease(breaker: Breaker, lease: number): Breaker {
  if (breaker.state !== 'half_open' || breaker.probe?.lease !== lease) return breaker;
  return { ...breaker, probe: null };
}

/** When the next may ask again; undefined when nobody has to wait. */
export function breakerRetryAt(breaker: Breaker): number | undefined {
  switch (breaker.state) {
    case 'closed':
      return undefined;
    case 'open':
      return breaker.until;
    case 'half_open':
      return breaker.probe?.until;
  }
}
