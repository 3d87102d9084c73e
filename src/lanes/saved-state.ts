import type { Breaker } from '../core/breaker.ts';
import type { Budget } from '../core/budget.ts';
import type { ByteBook } from '../core/byte-budget.ts';
import { moved } from '../core/elapsed.ts';
import type { Fuse } from '../core/fuse.ts';
import type { Pacing } from '../core/pacing.ts';
import { windowMoved } from '../core/window.ts';

/** What is kept of the lanes over a restart. JSON. */
export interface SavedLanes {
  readonly version: 1;
  readonly hosts: readonly SavedHost[];
}

/** What one host has taught us. */
export interface SavedHost {
  readonly host: string;
  readonly usedAt: number;
  readonly pacing: Pacing;
  readonly breaker: Breaker;
  readonly budget: Budget;
  /** Absent where an earlier version has saved it. */
  readonly bytes?: ByteBook;
  readonly fuse: Fuse;
  readonly failuresInRow: number;
  readonly throttlesInRow: number;
}

/** Reads saved lanes back; hosts whose state is not whole are left out, and begin anew. */
export function readSavedLanes(saved: unknown): readonly SavedHost[] {
  if (!isRecord(saved)) return [];
  const { version, hosts } = saved;
  return version === 1 && Array.isArray(hosts) ? hosts.filter(isSavedHost) : [];
}

/** Reads one saved host back; undefined when it is not whole. */
export const readSavedHost = (saved: unknown): SavedHost | undefined =>
  isSavedHost(saved) ? saved : undefined;

/** The same, with all its instants `byMs` later: the clock of another process has another beginning. */
export function movedHost(host: SavedHost, byMs: number): SavedHost {
  const at = (instant: number) => moved(instant, byMs);
  const { pacing, fuse, budget } = host;
  const { nextAt, pausedUntil, cycleAt, event, last, ended } = pacing;
  const strikes = fuse.strikes.map((one) => ({ ...one, blownUntil: at(one.blownUntil) }));
  return {
    ...host,
    usedAt: at(host.usedAt),
    pacing: {
      ...pacing,
      ...{ nextAt: at(nextAt), pausedUntil: at(pausedUntil), cycleAt: at(cycleAt) },
      ...{ event: at(event), last: at(last) },
      ended: ended && { ...ended, cycleAt: at(ended.cycleAt), at: at(ended.at) },
    },
    breaker: movedBreaker(host.breaker, byMs),
    budget: { balance: windowMoved(budget.balance, byMs) },
    fuse: { strikes },
  };
}

function movedBreaker(breaker: Breaker, byMs: number): Breaker {
  switch (breaker.state) {
    case 'closed': {
      const { good, bad, since } = breaker;
      const windows = { good: windowMoved(good, byMs), bad: windowMoved(bad, byMs) };
      return { ...breaker, ...windows, since: moved(since, byMs) };
    }
    case 'open':
      return { ...breaker, until: moved(breaker.until, byMs) };
    case 'half_open':
      // The probe that was out has gone with the process that sent it.
      return { ...breaker, probe: null };
  }
}

/** Whether it still says anything: it holds somebody back, or is not long ago. */
export function isOfUse({ usedAt, pacing, breaker, fuse }: SavedHost, now: number): boolean {
  if (now - usedAt < OLD_MS || pacing.pausedUntil > now) return true;
  if (breaker.state === 'open' && breaker.until > now) return true;
  return fuse.strikes.some(({ blownUntil }) => blownUntil > now);
}

const OLD_MS = 24 * 3_600_000;

type Check = (value: unknown) => boolean;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const number: Check = (value) => typeof value === 'number' && Number.isFinite(value);
const text: Check = (value) => typeof value === 'string';
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
const list =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const word =
  (expected: string): Check =>
  (value) =>
    value === expected;
const either =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));
const shape =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isRecord(value) && Object.entries(fields).every(([key, check]) => check(value[key]));

const window = shape({ slotMs: number, newest: number, sums: list(number) });
const cycle = {
  rate: orNull(number),
  lo: number,
  hi: orNull(number),
  cycleAt: number,
  good: number,
};

const savedHost = shape({
  host: text,
  usedAt: number,
  failuresInRow: number,
  throttlesInRow: number,
  budget: shape({ balance: window }),
  bytes: either((value) => value === undefined, shape({ day: number, bytes: number })),
  pacing: shape({
    ...cycle,
    nextAt: number,
    pausedUntil: number,
    window: number,
    event: number,
    last: number,
    lastPauseMs: number,
    usedMs: number,
    creditMs: number,
    ended: orNull(shape({ ...cycle, usedMs: number, at: number })),
  }),
  breaker: either(
    shape({
      state: word('closed'),
      since: number,
      good: window,
      bad: window,
      failuresInRow: number,
      leases: number,
    }),
    shape({ state: word('open'), until: number, trips: number, leases: number }),
    shape({
      state: word('half_open'),
      trips: number,
      alive: number,
      probe: orNull(shape({ lease: number, until: number })),
      leases: number,
    }),
  ),
  fuse: shape({
    strikes: list(
      shape({ credential: text, refusals: number, status: number, blownUntil: number }),
    ),
  }),
});

const isSavedHost = (value: unknown): value is SavedHost => savedHost(value);
