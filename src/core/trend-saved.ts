import { moved } from './elapsed.ts';
import { VOCABULARY } from './explain.ts';
import type { Signal, Trend } from './trend.ts';
import type { Course } from './trend-course.ts';

/** Reads a saved trend back, its instants `byMs` later; undefined when it is not whole: then it is learned anew. */
export function readTrend(saved: unknown, byMs: number): Trend | undefined {
  if (!isTrend(saved)) return undefined;
  const { slot, weight, signals } = saved;
  const known = Object.entries(signals).filter(([signal]) => SIGNALS.has(signal));
  return {
    weight,
    // What the running slot has seen is worth less than the trouble of checking it.
    slot: { ...NO_SLOT, startsAt: moved(slot.startsAt, byMs) },
    signals: Object.fromEntries(known.map(([signal, course]) => [signal, later(course, byMs)])),
  };
}

const SIGNALS: ReadonlySet<string> = new Set<Signal>([...VOCABULARY.reasons, 'retry']);
const NO_SLOT = { attempts: 0, bad: {}, routes: [], badRoutes: {} };

function later(course: Course, byMs: number): Course {
  const { rise, raisedAt } = course;
  return {
    ...course,
    rise: { ...rise, since: moved(rise.since, byMs) },
    raisedAt: raisedAt === null ? null : moved(raisedAt, byMs),
  };
}

function isTrend(value: unknown): value is Trend {
  if (!isRecord(value) || !isRecord(value.slot) || !isRecord(value.signals)) return false;
  if (!areNumbers(value.weight, value.slot.startsAt)) return false;
  return Object.values(value.signals).every(isCourse);
}

function isCourse(value: unknown): value is Course {
  if (!isRecord(value) || !isRecord(value.rise) || !isRecord(value.recent)) return false;
  const { slow, cusum, surprise, variance, rise, recent, raisedAt } = value;
  if (!areNumbers(slow, cusum, surprise, variance, recent.attempts, recent.bad)) return false;
  if (raisedAt !== null && !areNumbers(raisedAt)) return false;
  if (!areNumbers(rise.since, rise.attempts, rise.bad, rise.surprise, rise.variance)) return false;
  return areTexts(rise.routes) && areTexts(rise.badRoutes);
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const areNumbers = (...values: readonly unknown[]): boolean => values.every(Number.isFinite);

const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
