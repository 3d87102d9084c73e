/** One instant by all the clocks there are. JSON. */
export interface Moment {
  /** The process's own time in epoch ms: steps of the wall clock do not move it. */
  readonly now: number;
  /** The wall clock, in epoch ms. */
  readonly wall: number;
  /** Since the machine was started, the time it slept included. */
  readonly uptimeMs: number;
  /** Names that start of the machine; null where the system does not tell. */
  readonly boot: string | null;
}

/**
 * How long ago something was saved. Since the same start of the machine that is known whatever was done to the wall
 * clock; else the wall clock has the only word, but a clock that was set back does not make time run backwards.
 */
export function elapsedMs(saved: Moment, now: Moment): number {
  const isSameBoot = saved.boot !== null && saved.boot === now.boot;
  return Math.max(0, isSameBoot ? now.uptimeMs - saved.uptimeMs : now.wall - saved.wall);
}

/**
 * What to add to an instant that an earlier process saved. What was left of a wait becomes less by the time that has
 * passed, and never more than it was.
 */
export function shiftMs(saved: Moment, now: Moment): number {
  return now.now - saved.now - elapsedMs(saved, now);
}

/** Moves an instant; those that stand for "never" (0 and below) stay. */
export const moved = (at: number, byMs: number): number => (at > 0 ? at + byMs : at);
