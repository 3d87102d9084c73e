const SLOTS = 10;

/** Sums over a sliding window in ten slots, newest first; plain data, integers only. */
export interface Window {
  readonly slotMs: number;
  /** Number of the newest slot: its start divided by `slotMs`. */
  readonly newest: number;
  readonly sums: readonly number[];
}

const NOTHING: readonly number[] = new Array<number>(SLOTS).fill(0);

/** A window in which nothing has happened. */
export const newWindow = (): Window => ({ slotMs: 1, newest: 0, sums: NOTHING });

/** The sum over the last `windowMs`. */
export function windowSum(window: Window, now: number, windowMs: number): number {
  return total(turned(window, now, windowMs).sums);
}

/** Adds `amount` to the slot of `at`; what happened before the window began is forgotten. */
export function windowAdd(
  window: Window,
  change: { at: number; amount: number },
  now: number,
  windowMs: number,
): Window {
  const current = turned(window, now, windowMs);
  const age = Math.max(0, current.newest - Math.floor(change.at / current.slotMs));
  return {
    ...current,
    sums: current.sums.map((sum, i) => (i === age ? sum + change.amount : sum)),
  };
}

function turned(window: Window, now: number, windowMs: number): Window {
  const slotMs = Math.max(1, windowMs / SLOTS);
  const slot = Math.floor(now / slotMs);
  // Another window length after a reload: what was spent stays spent, as if it had happened just now.
  if (slotMs !== window.slotMs) {
    return { slotMs, newest: slot, sums: [total(window.sums), ...NOTHING.slice(1)] };
  }
  const steps = slot - window.newest;
  if (steps <= 0) return window;
  const fresh = NOTHING.slice(0, Math.min(steps, SLOTS));
  return { slotMs, newest: slot, sums: [...fresh, ...window.sums.slice(0, SLOTS - fresh.length)] };
}

function total(sums: readonly number[]): number {
  return sums.reduce((sum, n) => sum + n, 0);
}

/** The same sums at other times, to the nearest slot. */
export function windowMoved(window: Window, byMs: number): Window {
  return { ...window, newest: window.newest + Math.round(byMs / window.slotMs) };
}
