import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTrend, observe, raised, type Trend } from './trend.ts';
import { readTrend } from './trend-saved.ts';

const SECOND = 1_000;
const HOUR = 3_600_000;

/** One attempt a second; from `from` on every second one is challenged. */
function lived(seconds: number, from: number, trend = newTrend()): Trend {
  let now = trend;
  for (let n = 0; n < seconds; n += 1) {
    const isBad = n >= from && n % 2 === 0;
    const reason = isBad ? 'challenged' : 'ok';
    now = observe(now, { at: HOUR + n * SECOND, reason, bad: isBad, route: `r${n % 3}` }).trend;
  }
  return now;
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test('a trend comes back as it was, but for the slot that was running', () => {
  const trend = lived(1_000, 700);
  const read = readTrend(json(trend), 0);
  assert.deepEqual(json(read?.signals), json(trend.signals));
  assert.equal(read?.weight, trend.weight);
  assert.deepEqual(raised(read ?? newTrend()), raised(trend));
  assert.equal(raised(trend).length, 1, 'something is raised in it');
});

test('what was usual stays usual: a rise right behind the restart is told', () => {
  const read = readTrend(json(lived(1_000, 1e9)), 0) ?? newTrend();
  const after = lived(1_600, 1_000, read);
  assert.deepEqual(
    raised(after).map(({ signal }) => signal),
    ['challenged'],
  );
});

test('instants move with the clock', () => {
  const trend = lived(1_000, 700);
  const read = readTrend(json(trend), HOUR);
  const [before] = raised(trend);
  const [after] = raised(read ?? newTrend());
  assert.equal(after?.since, (before?.since ?? 0) + HOUR);
  assert.equal(read?.slot.startsAt, trend.slot.startsAt + HOUR);
});

test('what is not whole is learned anew', () => {
  const whole = json(lived(1_000, 700)) as Record<string, never>;
  const course = Object.values(whole.signals ?? {})[0] as Record<string, unknown>;
  const broken: readonly unknown[] = [
    undefined,
    null,
    [],
    'trend',
    {},
    { ...whole, weight: null },
    { ...whole, slot: {} },
    { ...whole, signals: [] },
    { ...whole, signals: { challenged: {} } },
    { ...whole, signals: { challenged: { ...course, slow: 'many' } } },
    { ...whole, signals: { challenged: { ...course, raisedAt: 'noon' } } },
    { ...whole, signals: { challenged: { ...course, rise: {} } } },
    { ...whole, signals: { challenged: { ...course, recent: null } } },
  ];
  for (const saved of broken) assert.equal(readTrend(saved, 0), undefined, JSON.stringify(saved));
});

test('signals that nobody knows any more are left out', () => {
  const trend = json(lived(1_000, 700)) as { signals: Record<string, unknown> };
  const signals = { ...trend.signals, cursed: trend.signals.challenged };
  const read = readTrend({ ...trend, signals }, 0);
  assert.deepEqual(Object.keys(read?.signals ?? {}).sort(), ['challenged', 'retry']);
});
