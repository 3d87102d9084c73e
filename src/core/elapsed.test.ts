import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { elapsedMs, type Moment, moved, shiftMs } from './elapsed.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const at = (patch: Partial<Moment> = {}): Moment => ({
  now: 100 * DAY,
  wall: 100 * DAY,
  uptimeMs: 5 * HOUR,
  boot: 'a',
  ...patch,
});

const cases: readonly [what: string, later: Partial<Moment>, elapsed: number][] = [
  ['ten minutes later', { wall: 100 * DAY + 600_000, uptimeMs: 5 * HOUR + 600_000 }, 600_000],
  ['the wall clock was set on a day', { wall: 101 * DAY, uptimeMs: 5 * HOUR + 1_000 }, 1_000],
  ['the wall clock was set back a day', { wall: 99 * DAY, uptimeMs: 5 * HOUR + 1_000 }, 1_000],
  ['the machine was restarted', { wall: 100 * DAY + HOUR, uptimeMs: 60_000, boot: 'b' }, HOUR],
  ['restarted, clock set back', { wall: 99 * DAY, uptimeMs: 60_000, boot: 'b' }, 0],
  ['on another machine, long up', { wall: 100 * DAY + 5_000, uptimeMs: 9 * DAY, boot: 'c' }, 5_000],
];

for (const [what, later, elapsed] of cases) {
  test(`what has passed is known when: ${what}`, () => {
    assert.equal(elapsedMs(at(), at(later)), elapsed);
  });
}

test('without a name for the start of the machine the wall clock has the word', () => {
  const saved = at({ boot: null });
  const later = at({ boot: null, wall: 100 * DAY + 7_000, uptimeMs: 9 * DAY });
  assert.equal(elapsedMs(saved, later), 7_000);
});

test('a wait is never longer after a restart than it was before, and only as much shorter as time has passed', () => {
  const jump = fc.integer({ min: -DAY, max: DAY });
  const span = fc.integer({ min: 0, max: DAY });
  fc.assert(
    fc.property(span, span, jump, (leftMs, downMs, jumpMs) => {
      const saved = at();
      const later = at({
        now: 100 * DAY + downMs + jumpMs,
        wall: 100 * DAY + downMs + jumpMs,
        uptimeMs: 5 * HOUR + downMs,
      });
      const untilAt = moved(saved.now + leftMs, shiftMs(saved, later));
      assert.equal(untilAt - later.now, leftMs - downMs);
    }),
  );
});

test('an instant that stands for never is not moved', () => {
  assert.deepEqual([moved(0, 5), moved(-1, 5), moved(10, 5)], [0, -1, 15]);
});
