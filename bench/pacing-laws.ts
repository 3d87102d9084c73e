import { newPacing, started, succeeded, type Turn, throttled, turn } from '../src/core/pacing.ts';
import type { Law } from './simulation.ts';

/** The law under test, as the proxy runs it. */
export const bracket: Law<ReturnType<typeof newPacing>> = {
  init: newPacing,
  turn,
  started,
  succeeded,
  throttled,
};

/** Shares a site's pauses between all workers and learns nothing: already better than a pause per worker. */
export const pauseOnly: Law<{ pausedUntil: number }> = {
  init: () => ({ pausedUntil: 0 }),
  turn: (s, now) => (now < s.pausedUntil ? { kind: 'at', at: s.pausedUntil } : { kind: 'go' }),
  started: (s) => s,
  succeeded: (s) => s,
  throttled: (s, reply, now) => ({ pausedUntil: Math.max(s.pausedUntil, now + reply.waitMs) }),
};

interface Cubic {
  readonly rate: number | null;
  readonly nextAt: number;
  readonly pausedUntil: number;
  readonly window: number;
  readonly measured: number;
  readonly halfSecond: number;
  readonly count: number;
  readonly rateAtThrottle: number;
  readonly throttledAt: number;
  readonly event: number;
}

const BETA = 0.7;
const SCALE = 0.4;

/** CUBIC as the AWS SDKs' adaptive mode has it, with the shared pause and the slow opening added. */
export const cubic: Law<Cubic> = {
  init: () => ({
    rate: null,
    nextAt: 0,
    pausedUntil: 0,
    window: Number.POSITIVE_INFINITY,
    measured: 0,
    halfSecond: 0,
    count: 0,
    rateAtThrottle: 0,
    throttledAt: 0,
    event: -1,
  }),
  turn(s, now, inFlight): Turn {
    if (now < s.pausedUntil) return { kind: 'at', at: s.pausedUntil };
    if (inFlight >= s.window) return { kind: 'when_one_ends' };
    return now < s.nextAt ? { kind: 'at', at: s.nextAt } : { kind: 'go' };
  },
  started(s, now) {
    const measured = measure(s, now);
    if (s.rate === null) return { ...s, ...measured };
    return { ...s, ...measured, nextAt: Math.max(now, s.nextAt) + 1000 / s.rate };
  },
  succeeded(s, _reply, now) {
    const window = s.window * 2;
    if (s.rateAtThrottle === 0) return { ...s, window };
    const seconds = (now - s.throttledAt) / 1000;
    const plateau = Math.cbrt((s.rateAtThrottle * (1 - BETA)) / SCALE);
    const curve = SCALE * (seconds - plateau) ** 3 + s.rateAtThrottle;
    return { ...s, window, rate: Math.max(0.5, Math.min(curve, 2 * Math.max(s.measured, 0.5))) };
  },
  throttled(s, reply, now) {
    if (reply.startedAt <= s.event) return s;
    const unlimited = Math.max(s.measured, s.count / 0.5);
    const reached = s.rate === null ? unlimited : Math.min(s.measured, s.rate);
    const pausedUntil = Math.max(s.pausedUntil, now + reply.waitMs);
    return {
      ...s,
      event: now,
      rateAtThrottle: reached,
      rate: Math.max(0.5, BETA * reached),
      throttledAt: now + reply.waitMs,
      pausedUntil,
      nextAt: pausedUntil,
      window: 1,
    };
  },
};

function measure(s: Cubic, now: number): Pick<Cubic, 'measured' | 'halfSecond' | 'count'> {
  const halfSecond = Math.floor((now / 1000) * 2) / 2;
  const count = s.count + 1;
  if (halfSecond <= s.halfSecond) return { measured: s.measured, halfSecond: s.halfSecond, count };
  const current = count / (halfSecond - s.halfSecond);
  return { measured: current * 0.8 + s.measured * 0.2, halfSecond, count: 0 };
}
