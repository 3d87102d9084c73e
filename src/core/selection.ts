/** What is remembered of a route, for one lane or everywhere. Old experience fades. */
export interface Health {
  /** Faded counts, as of `at`. */
  readonly good: number;
  readonly bad: number;
  /** Typical time to the response head; null until one was seen. */
  readonly headMs: number | null;
  readonly at: number;
}

export const newHealth: Health = { good: 0, bad: 0, headMs: null, at: 0 };

/** Half of the evidence is gone after this long, so that a route gets its chance again. */
const HALF_LIFE_MS = 30 * 60_000;
/** Beta-like prior: an unknown route counts as one that did well three times in four. */
const PRIOR = { good: 3, bad: 1 };
/** A block weighs more than a success: it costs a page and warns the site. */
const BAD_WEIGHT = 3;
const LATENCY_SHARE = 0.3;
/** At this time to the head half of the latency share of the score is lost. */
const SLOW_MS = 5000;
/** Scores this near to each other are a tie, broken by the dice, so that load spreads. */
const TIE = 0.05;

/** Enters one more experience with a route. */
export function experienced(
  health: Health,
  what: { readonly outcome: 'good' | 'bad'; readonly headMs: number | undefined },
  now: number,
): Health {
  const { good, bad } = faded(health, now);
  const { headMs } = what;
  return {
    good: good + (what.outcome === 'good' ? 1 : 0),
    bad: bad + (what.outcome === 'bad' ? 1 : 0),
    headMs: headMs === undefined ? health.headMs : smoothed(health.headMs, headMs),
    at: now,
  };
}

/** How promising a route is, between 0 and 1. */
export function score(health: Health, now: number): number {
  const { good, bad } = faded(health, now);
  const goods = good + PRIOR.good;
  const success = goods / (goods + bad * BAD_WEIGHT + PRIOR.bad);
  const slowness = health.headMs === null ? 0 : health.headMs / (health.headMs + SLOW_MS);
  return success * (1 - LATENCY_SHARE * slowness);
}

/** The most promising of the candidates; `roll` chooses among near-equals. */
export function best<T>(
  candidates: readonly T[],
  scoreOf: (candidate: T) => number,
  roll: number,
): T | undefined {
  const scored = candidates.map((candidate) => ({ candidate, score: scoreOf(candidate) }));
  const top = Math.max(...scored.map((one) => one.score));
  const ties = scored.filter((one) => one.score >= top - TIE);
  return ties[Math.floor(roll * ties.length)]?.candidate;
}

/** The candidates for which `measure` is least: the least used, or the longest at rest. */
export function least<T>(
  candidates: readonly T[],
  measure: (candidate: T) => number,
): readonly T[] {
  const lowest = Math.min(...candidates.map(measure));
  return candidates.filter((candidate) => measure(candidate) === lowest);
}

/** How many routes a lane keeps in use: `auto` grows with what is in flight. */
export function warmSize(warm: 'auto' | number, inFlight: number): number {
  if (warm !== 'auto') return Math.max(1, warm);
  return Math.min(8, Math.max(1, Math.ceil(inFlight / 8)));
}

/** What is left of the counts by now. */
export function faded(health: Health, now: number): { good: number; bad: number } {
  const left = 0.5 ** (Math.max(0, now - health.at) / HALF_LIFE_MS);
  return { good: health.good * left, bad: health.bad * left };
}

const smoothed = (before: number | null, latest: number): number =>
  before === null ? latest : before * 0.7 + latest * 0.3;
