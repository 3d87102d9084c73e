import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';
import type { Moment } from './core/elapsed.ts';

/** The only source of time. Tests pass a clock they can wind by hand. */
export interface Clock {
  /** Milliseconds since the Unix epoch, never running backwards: steps of the wall clock do not move it. */
  now(): number;
  /** Waits `ms` (any size; beyond 2^31 too) or until `signal` fires, whichever is first. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<'elapsed' | 'aborted'>;
  /** Runs `action` once after `ms`, unless the returned function is called first. */
  after(ms: number, action: () => void): () => void;
}

/** One uniform draw from [0, 1). */
export type Random = () => number;

// Node fires timers above this at once (setTimeout(f, 2^31) runs after about 2 ms), so long waits go in pieces.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

function after(ms: number, action: () => void): () => void {
  const dueAt = performance.now() + Math.max(0, ms);
  let timer: NodeJS.Timeout;
  const arm = () => {
    const leftMs = dueAt - performance.now();
    if (leftMs <= 0) action();
    else timer = setTimeout(arm, Math.min(Math.ceil(leftMs), LONGEST_TIMER_MS));
  };
  timer = setTimeout(arm, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMER_MS));
  return () => clearTimeout(timer);
}

/** Waits on any clock that has `after`; shared with the tests' clock. Never rejects. */
export function sleepOn(
  clock: Pick<Clock, 'after'>,
  ms: number,
  signal?: AbortSignal,
): Promise<'elapsed' | 'aborted'> {
  if (signal?.aborted) return Promise.resolve('aborted');
  const { promise, resolve } = Promise.withResolvers<'elapsed' | 'aborted'>();
  const onAbort = () => {
    cancel();
    resolve('aborted');
  };
  const cancel = clock.after(ms, () => {
    signal?.removeEventListener('abort', onAbort);
    resolve('elapsed');
  });
  signal?.addEventListener('abort', onAbort, { once: true });
  return promise;
}

export const systemClock: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  after,
  sleep: (ms, signal) => sleepOn({ after }, ms, signal),
};

/** The wall clock in epoch ms: only to be held against dates that others send. */
export const wallTime = (): number => Date.now();

/** An instant as the clocks on the wall here show it. */
export const timeOfDay = (at: number): string => new Date(at).toTimeString().slice(0, 5);

export const systemRandom: Random = Math.random;

const MS = 1000;
const boot = bootId();

/** This instant by all the clocks there are. */
export const systemMoment = (): Moment => ({
  now: systemClock.now(),
  wall: Date.now(),
  uptimeMs: Math.round(uptime() * MS),
  boot,
});

/** Linux alone names the start of the machine, for containers too. */
function bootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}
