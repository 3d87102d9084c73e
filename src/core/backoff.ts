import type { BackoffPolicy } from './policy.ts';

/** One uniform draw from [0, 1), and the delay before this one (for `decorrelated`). */
export interface Draw {
  readonly roll: number;
  readonly lastDelayMs?: number | undefined;
}

/**
 * The delay before the try after the `n`-th (1-based), in whole milliseconds.
 * Never 0 unless the policy's own ceiling is: a draw of 0 must not become a busy loop.
 */
export function backoff(policy: BackoffPolicy, n: number, draw: Draw): number {
  const ceiling = ceilingMs(policy, n);
  return ceiling === 0 ? 0 : Math.max(1, Math.ceil(spread(policy, ceiling, draw)));
}

function ceilingMs(policy: BackoffPolicy, n: number): number {
  // 0 × factor^n would be NaN once the power overflows.
  if (policy.baseMs <= 0) return 0;
  return Math.min(policy.capMs, policy.baseMs * policy.factor ** (Math.max(1, n) - 1));
}

function spread(policy: BackoffPolicy, ceiling: number, draw: Draw): number {
  const { roll } = draw;
  switch (policy.jitter) {
    case 'full':
      return ceiling * roll;
    case 'equal':
      return (ceiling / 2) * (1 + roll);
    case 'decorrelated': {
      const last = Math.max(policy.baseMs, draw.lastDelayMs ?? policy.baseMs);
      return Math.min(policy.capMs, policy.baseMs + roll * (last * 3 - policy.baseMs));
    }
  }
  return ceiling * (1 - policy.jitter + 2 * policy.jitter * roll);
}
