const GROWTH_PER_SECOND = 1.6;
const CREEP_PER_SECOND = 1.01;
/** Never closer to the known ceiling than this. */
const BELOW_CEILING = 0.97;
/** Where between floor and ceiling to go on after a throttle. */
const AIM = 0.3;
const QUIET_MS = 10_000;
const QUIET_PAUSES = 3;
const FORGET_MS = 300_000;
const SLOWEST_PER_SECOND = 0.02;
const WIDEST_WINDOW = 1_000_000;
/** One reply never stands for more use of the pace than this. */
const LONGEST_CREDIT_MS = 1_000;
/** Timers fire late; starts this late are made up for. */
const CATCH_UP_MS = 20;
/** A lane without a rate that was silent this long begins a new cycle: its average would be of silence. */
const SILENCE_MS = 10_000;

/** What a lane has learned of its site's limit: the bracket law (docs/pacing.md). Plain data; times in ms. */
export interface Pacing {
  /** Starts per second; null: not limited. */
  readonly rate: number | null;
  readonly nextAt: number;
  readonly pausedUntil: number;
  /** Attempts that may be out at once while the lane opens. */
  readonly window: number;
  /** Floor: the goodput of a whole cycle, its pause included. */
  readonly lo: number;
  /** Ceiling: the paced rate that was throttled; null: unknown. */
  readonly hi: number | null;
  /** When the lane opened after the last pause (or first); -1 before the first start. */
  readonly cycleAt: number;
  /** Good replies to requests that started in this cycle. */
  readonly good: number;
  /** When the last throttle was told: replies to requests sent before it are the same event. */
  readonly event: number;
  /** The last start. */
  readonly last: number;
  readonly lastPauseMs: number;
  /** How long in this cycle the pace, not the demand, decided when to start. */
  readonly usedMs: number;
  /** The part of `usedMs` that no reply has confirmed yet. */
  readonly creditMs: number;
  /** The cycle that the last throttle ended, kept until a good reply shows that its pause is over. */
  readonly ended: Cycle | null;
}

interface Cycle {
  readonly rate: number | null;
  readonly lo: number;
  readonly hi: number | null;
  readonly cycleAt: number;
  readonly good: number;
  readonly usedMs: number;
  readonly at: number;
}

export type Turn =
  | { readonly kind: 'go' }
  | { readonly kind: 'at'; readonly at: number }
  /** As many are out as the slow opening allows. */
  | { readonly kind: 'when_one_ends' };

/** A lane never seen before: no known limit, but it opens slowly. */
export const newPacing = (): Pacing => ({
  rate: null,
  nextAt: 0,
  pausedUntil: 0,
  window: 1,
  lo: 0,
  hi: null,
  cycleAt: -1,
  good: 0,
  event: -1,
  last: -1,
  lastPauseMs: 0,
  usedMs: 0,
  creditMs: 0,
  ended: null,
});

/**
 * Whether the next attempt may start now.
 * `inFlight` counts attempts that have no verdict yet; those sent before the last pause need not be counted.
 */
export function turn(pacing: Pacing, now: number, inFlight: number): Turn {
  if (now < pacing.pausedUntil) return { kind: 'at', at: pacing.pausedUntil };
  if (inFlight >= pacing.window) return { kind: 'when_one_ends' };
  return now < pacing.nextAt ? { kind: 'at', at: pacing.nextAt } : { kind: 'go' };
}

/**
 * An attempt starts now. One that only fills a gap is no use of the pace: nobody is in want of a higher one, so it must
 * not lead the lane to try one.
 */
export function started(pacing: Pacing, now: number, use: 'wanted' | 'filling' = 'wanted'): Pacing {
  if (pacing.rate === null) {
    const afresh = pacing.cycleAt < 0 || now - pacing.last > SILENCE_MS;
    return afresh ? { ...pacing, cycleAt: now, good: 0, last: now } : { ...pacing, last: now };
  }
  const intervalMs = 1000 / pacing.rate;
  const lateMs = now - Math.max(pacing.nextAt, pacing.pausedUntil);
  const spanMs = Math.max(0, now - Math.max(pacing.last, pacing.cycleAt));
  const isDense = lateMs <= Math.max(CATCH_UP_MS, intervalMs / 4);
  const usedMs = isDense && use === 'wanted' ? spanMs : 0;
  return {
    ...pacing,
    nextAt: Math.max(pacing.nextAt, now - CATCH_UP_MS) + intervalMs,
    last: now,
    usedMs: pacing.usedMs + usedMs,
    creditMs: pacing.creditMs + usedMs,
  };
}

/** A reply that was no throttle; only those to requests of this cycle say anything about it. */
export function succeeded(pacing: Pacing, reply: { startedAt: number }, now: number): Pacing {
  if (reply.startedAt < pacing.cycleAt) return pacing;
  const next = {
    ...pacing,
    good: pacing.good + 1,
    window: Math.min(WIDEST_WINDOW, pacing.window + 1),
    creditMs: 0,
    ended: null,
  };
  if (pacing.rate === null) return next;
  const seconds = Math.min(LONGEST_CREDIT_MS, pacing.creditMs) / 1000;
  return { ...next, ...risen(next, pacing.rate, seconds, now) };
}

/** Where rate, floor and ceiling go after `seconds` of good replies at a pace that was used. */
function risen(
  pacing: Pacing,
  rate: number,
  seconds: number,
  now: number,
): Pick<Pacing, 'rate' | 'lo' | 'hi'> {
  const { lo, hi } = pacing;
  if (hi === null) return { rate: rate * GROWTH_PER_SECOND ** seconds, lo, hi };
  if (pacing.usedMs <= Math.max(QUIET_MS, QUIET_PAUSES * pacing.lastPauseMs))
    return { rate, lo, hi };
  const goodput = (pacing.good * 1000) / Math.max(1, now - pacing.cycleAt);
  const proved = Math.max(lo, Math.min(rate, goodput) * 0.98);
  const crept = rate * CREEP_PER_SECOND ** seconds;
  if (rate < hi * BELOW_CEILING)
    return { rate: Math.min(hi * BELOW_CEILING, crept), lo: proved, hi };
  if (pacing.usedMs <= FORGET_MS) return { rate, lo: proved, hi };
  const higher = hi * CREEP_PER_SECOND ** seconds;
  return { rate: Math.min(higher * BELOW_CEILING, crept), lo: proved, hi: higher };
}

/** The site said "send less": the lane pauses, and opens slowly at a lower rate. */
export function throttled(
  pacing: Pacing,
  reply: { startedAt: number; waitMs: number },
  now: number,
): Pacing {
  const pausedUntil = Math.max(pacing.pausedUntil, now + reply.waitMs);
  const sameEvent = reply.startedAt <= pacing.event;
  // A late reply to a request from before the last pause: the lane stays away longer, and has learned nothing.
  if (sameEvent && pacing.good > 0) return { ...pacing, pausedUntil };
  // No good reply since the last pause: that pause was too short, and its cycle goes on.
  const ended = (pacing.good === 0 && pacing.ended) || cycleOf(pacing, now);
  return {
    ...pacing,
    ...fallen(ended, pausedUntil),
    pausedUntil,
    nextAt: pausedUntil,
    window: 1,
    cycleAt: pausedUntil,
    good: 0,
    event: sameEvent ? pacing.event : now,
    lastPauseMs: Math.max(reply.waitMs, sameEvent ? pacing.lastPauseMs : 0),
    usedMs: 0,
    creditMs: 0,
    ended,
  };
}

function cycleOf(pacing: Pacing, now: number): Cycle {
  const { rate, lo, hi, cycleAt, good, usedMs } = pacing;
  return { rate, lo, hi, cycleAt, good, usedMs, at: now };
}

/** Floor, ceiling and rate after a cycle whose pause ends at `pauseEnd`. */
function fallen(cycle: Cycle, pauseEnd: number): Pick<Pacing, 'rate' | 'lo' | 'hi'> {
  const { rate } = cycle;
  // Not one good reply: this says that the lane came at a bad time, and nothing about its rate.
  if (cycle.good === 0) return { rate, lo: cycle.lo, hi: cycle.hi };
  const goodput = (cycle.good * 1000) / Math.max(1, pauseEnd - cycle.cycleAt);
  // A full bucket flatters the first cycle: no floor from it.
  if (rate === null) return { rate: Math.max(SLOWEST_PER_SECOND, goodput), lo: 0, hi: null };
  const { lo, hi } = bracket(cycle, rate, goodput, pauseEnd);
  const far = hi > 2 * lo;
  const aim = far ? Math.sqrt(Math.max(lo, SLOWEST_PER_SECOND) * hi) : lo + AIM * (hi - lo);
  return { rate: Math.min(hi * BELOW_CEILING, aim), lo, hi };
}

function bracket(cycle: Cycle, rate: number, goodput: number, pauseEnd: number) {
  if (rate <= cycle.lo * 1.02) {
    // The limit fell below what was proved. Idle time is no part of the new proof, or a quiet lane would fall too far.
    const busyMs = Math.max(1, cycle.usedMs + pauseEnd - cycle.at);
    return { lo: Math.min((cycle.good * 1000) / busyMs, rate * 0.8), hi: rate };
  }
  const lo = Math.max(cycle.lo, Math.min(goodput, rate * 0.95));
  const hi = Math.min(cycle.hi ?? rate, rate);
  return { lo, hi: hi <= lo ? lo * 1.1 : hi };
}

/** A good reply said that nothing is left for `waitMs`: stay away before the throttle comes. */
export function heldQuiet(pacing: Pacing, waitMs: number, now: number): Pacing {
  const pausedUntil = Math.max(pacing.pausedUntil, now + waitMs);
  return pausedUntil === pacing.pausedUntil ? pacing : { ...pacing, pausedUntil };
}
