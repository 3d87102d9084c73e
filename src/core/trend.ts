import {
  adopted,
  type Course,
  calm,
  fade,
  isBack,
  learned,
  moved,
  newCourse,
  THRESHOLD,
  withRoute,
} from './trend-course.ts';
import type { Reason, Verdict } from './verdict.ts';

/** What is watched: every reason by itself, and `retry` for all attempts that ended badly, whatever the reason. */
export type Signal = Reason | 'retry';

/** What one attempt showed. */
export interface Sighting {
  readonly at: number;
  readonly reason: Reason;
  /** Whether it is a failure of somebody: what clients ask in vain for is none. */
  readonly bad: boolean;
  readonly route: string;
}

/** What a lane's attempts usually come to, and whether that changes (CUSUM after Page, 1954). JSON. */
export interface Trend {
  readonly slot: Slot;
  /** Attempts the slow means rest on; older ones fade. */
  readonly weight: number;
  readonly signals: Courses;
}

interface Slot {
  readonly startsAt: number;
  readonly attempts: number;
  readonly bad: Readonly<Partial<Record<Signal, number>>>;
  readonly routes: readonly string[];
  readonly badRoutes: Readonly<Partial<Record<Signal, readonly string[]>>>;
}

type Courses = Readonly<Partial<Record<Signal, Course>>>;

/** A share has risen beyond chance, or is back where it was. */
export interface Warning {
  readonly kind: 'raised' | 'cleared';
  readonly signal: Signal;
  /** Shares of attempts, 0 to 1. */
  readonly before: number;
  readonly now: number;
  /** When the rise began, as far as can be told; epoch ms. */
  readonly since: number;
  readonly badRoutes: number;
  readonly routes: number;
}

const SLOT_MS = 10_000;
/** Nothing is usual yet before that many attempts. */
const WARM_UP = 200;
/** The sum of all waits for the one reason, which says more. */
const RETRY_THRESHOLD = 1.3 * THRESHOLD;
const CLEAR_AFTER_MS = 600_000;
/** What stays that long is the new usual. */
const ADOPT_AFTER_MS = 6 * 3_600_000;

/** Nothing seen yet. */
export const newTrend = (): Trend => ({ slot: slotAt(0), weight: 0, signals: {} });

/** What an attempt's verdict is for the trend. */
export function sightingOf(verdict: Verdict, route: string, at: number): Sighting {
  const { fault, reason } = verdict;
  const isFailure = fault !== 'none' && fault !== 'client';
  return { at, reason, bad: isFailure || reason === 'persistent_block', route };
}

/** Takes one attempt in. Warnings come when a slot of 10 s is over. */
export function observe(
  trend: Trend,
  seen: Sighting,
): { readonly trend: Trend; readonly warnings: readonly Warning[] } {
  const startsAt = Math.floor(seen.at / SLOT_MS) * SLOT_MS;
  if (startsAt <= trend.slot.startsAt) {
    return { trend: { ...trend, slot: added(trend.slot, seen) }, warnings: [] };
  }
  const closed = trend.slot.attempts === 0 ? { trend, warnings: [] } : closeSlot(trend);
  const slot = added(slotAt(startsAt), seen);
  return { trend: { ...closed.trend, slot }, warnings: closed.warnings };
}

/** What is raised now, with its figures. */
export function raised(trend: Trend): readonly Warning[] {
  return entries(trend.signals)
    .filter(([, { raisedAt }]) => raisedAt !== null)
    .map(([signal, course]) => warning('raised', { signal, course, weight: trend.weight }));
}

const slotAt = (startsAt: number): Slot => ({
  startsAt,
  attempts: 0,
  bad: {},
  routes: [],
  badRoutes: {},
});

function added(slot: Slot, { bad: isBad, reason, route }: Sighting): Slot {
  const routes = withRoute(slot.routes, route);
  const attempts = slot.attempts + 1;
  if (!isBad) return { ...slot, attempts, routes };
  const bad = { ...slot.bad };
  const badRoutes = { ...slot.badRoutes };
  for (const signal of ['retry', reason] satisfies Signal[]) {
    bad[signal] = (bad[signal] ?? 0) + 1;
    badRoutes[signal] = withRoute(badRoutes[signal] ?? [], route);
  }
  return { ...slot, attempts, routes, bad, badRoutes };
}

function closeSlot(trend: Trend): { trend: Trend; warnings: readonly Warning[] } {
  const { slot, weight } = trend;
  const signals = advanced(trend);
  const warnings = weight < WARM_UP ? [] : judged(signals, { at: slot.startsAt, weight });
  const next = weight * fade(slot.attempts) + slot.attempts;
  return { trend: { ...trend, signals, weight: next }, warnings };
}

function advanced({ slot, signals, weight }: Trend): Partial<Record<Signal, Course>> {
  const next: Partial<Record<Signal, Course>> = {};
  for (const signal of new Set([...keys(signals), ...keys(slot.bad)])) {
    const course = signals[signal] ?? newCourse(slot.startsAt);
    const bad = slot.bad[signal] ?? 0;
    const badRoutes = slot.badRoutes[signal] ?? [];
    const slice = { ...slot, bad, badRoutes, weight };
    next[signal] = weight < WARM_UP ? learned(course, slice) : moved(course, slice);
  }
  return next;
}

/** Raises, clears and adopts, in place. */
function judged(
  signals: Partial<Record<Signal, Course>>,
  { at, weight }: { at: number; weight: number },
): Warning[] {
  const warnings: Warning[] = [];
  for (const [signal, course] of entries(signals)) {
    const { raisedAt, cusum } = course;
    if (raisedAt === null) {
      if (cusum < threshold(signal, signals)) continue;
      signals[signal] = { ...course, raisedAt: at };
      warnings.push(warning('raised', { signal, course, weight }));
    } else if (at - raisedAt >= ADOPT_AFTER_MS) {
      settle(signals, signal, (one) => adopted(one, at, weight));
    } else if (at - raisedAt >= CLEAR_AFTER_MS && isBack(course, weight)) {
      settle(signals, signal, (one) => calm(one, at));
      warnings.push(warning('cleared', { signal, course, weight }));
    }
  }
  return warnings;
}

/** What holds for one reason holds for the retries that it explained. */
function settle(
  signals: Partial<Record<Signal, Course>>,
  signal: Signal,
  how: (course: Course) => Course,
): void {
  for (const one of new Set<Signal>([signal, 'retry'])) {
    const course = signals[one];
    if (course !== undefined) signals[one] = how(course);
  }
}

/** What one reason explains, or is about to, is not told a second time as "retries". */
function threshold(signal: Signal, signals: Courses): number {
  if (signal !== 'retry') return THRESHOLD;
  const isExplained = entries(signals).some(
    ([name, { cusum, raisedAt }]) =>
      name !== 'retry' && (raisedAt !== null || cusum > THRESHOLD / 3),
  );
  return isExplained ? Number.POSITIVE_INFINITY : RETRY_THRESHOLD;
}

function warning(
  kind: Warning['kind'],
  { signal, course, weight }: { signal: Signal; course: Course; weight: number },
): Warning {
  const { rise, recent, slow } = course;
  const { attempts, bad } = kind === 'raised' ? rise : recent;
  return {
    kind,
    signal,
    before: slow / Math.max(1, weight),
    now: bad / Math.max(1, attempts),
    since: rise.since,
    badRoutes: rise.badRoutes.length,
    routes: rise.routes.length,
  };
}

const keys = (record: Readonly<Partial<Record<Signal, unknown>>>): Signal[] =>
  Object.keys(record) as Signal[];
const entries = (courses: Courses): [Signal, Course][] =>
  Object.entries(courses) as [Signal, Course][];
