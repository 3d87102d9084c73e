/** How many may be under way at once, learned below what is configured. JSON. */
export interface Limit {
  /** null: as configured. */
  readonly learned: number | null;
  /** Good replies since the last step up. */
  readonly good: number;
  readonly shrunkAt: number;
}

export const newLimit: Limit = { learned: null, good: 0, shrunkAt: Number.MIN_SAFE_INTEGER };

/** The limit in force. */
export function limitOf({ learned }: Limit, configured: number): number {
  return learned === null ? configured : Math.min(learned, configured);
}

/** We overran ourselves: half as many. What had left before the last cut is the same event. */
export function shrink(
  limit: Limit,
  o: { readonly startedAt: number; readonly configured: number },
  now: number,
): Limit {
  if (o.startedAt < limit.shrunkAt) return limit;
  const learned = Math.max(1, Math.floor(limitOf(limit, o.configured) / 2));
  return { learned, good: 0, shrunkAt: now };
}

/** Back up by one for each limit's worth of good replies, until what is configured is reached. */
export function grow(
  limit: Limit,
  o: { readonly startedAt: number; readonly configured: number },
): Limit {
  if (limit.learned === null || o.startedAt < limit.shrunkAt) return limit;
  const good = limit.good + 1;
  if (good < limit.learned) return { ...limit, good };
  const learned = limit.learned + 1;
  return { ...limit, learned: learned >= o.configured ? null : learned, good: 0 };
}
