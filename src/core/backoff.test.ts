import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { backoff } from './backoff.ts';
import type { BackoffPolicy } from './policy.ts';

const full: BackoffPolicy = {
  baseMs: 1000,
  factor: 2,
  capMs: 60_000,
  jitter: 'full',
  count: 'attempts',
};
const rolls = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

const table: readonly [
  string,
  Partial<BackoffPolicy>,
  number,
  number,
  number | undefined,
  number,
][] = [
  ['full jitter, first delay, low draw is not 0', {}, 1, 0, undefined, 1],
  ['full jitter, first delay, middle draw', {}, 1, 0.5, undefined, 500],
  ['full jitter, first delay, high draw', {}, 1, 0.9999, undefined, 1000],
  ['full jitter doubles', {}, 3, 0.5, undefined, 2000],
  ['full jitter is capped', {}, 20, 0.5, undefined, 30_000],
  ['a power beyond all numbers is capped', {}, 5000, 0.5, undefined, 30_000],
  ['n below 1 is the first', {}, 0, 0.5, undefined, 500],
  ['factor 1 does not grow', { factor: 1 }, 9, 0.5, undefined, 500],
  ['equal jitter never less than half', { jitter: 'equal' }, 1, 0, undefined, 500],
  ['equal jitter in the middle', { jitter: 'equal' }, 2, 0.5, undefined, 1500],
  ['a number spreads below', { jitter: 0.2 }, 1, 0, undefined, 800],
  ['a number spreads above', { jitter: 0.2 }, 1, 0.75, undefined, 1100],
  ['jitter 0 is exact', { jitter: 0 }, 4, 0.9, undefined, 8000],
  [
    '20 s × 3^N ± 20 %, cap 300 s: first',
    { baseMs: 20_000, factor: 3, capMs: 300_000, jitter: 0.2 },
    1,
    0.5,
    undefined,
    20_000,
  ],
  [
    '20 s × 3^N ± 20 %, cap 300 s: third',
    { baseMs: 20_000, factor: 3, capMs: 300_000, jitter: 0.2 },
    3,
    0,
    undefined,
    144_000,
  ],
  [
    '20 s × 3^N ± 20 %, cap 300 s: fifth',
    { baseMs: 20_000, factor: 3, capMs: 300_000, jitter: 0.2 },
    5,
    0.5,
    undefined,
    300_000,
  ],
  ['decorrelated starts at base', { jitter: 'decorrelated' }, 1, 0, undefined, 1000],
  ['decorrelated reaches three times the last', { jitter: 'decorrelated' }, 2, 0.5, 3000, 5000],
  ['decorrelated is capped', { jitter: 'decorrelated' }, 9, 0.9, 50_000, 60_000],
  ['a base of 0 asks for no delay', { baseMs: 0 }, 5000, 0.5, undefined, 0],
  ['a cap of 0 asks for no delay', { capMs: 0 }, 1, 0.5, undefined, 0],
];

for (const [name, patch, n, roll, lastDelayMs, expected] of table) {
  test(name, () => {
    assert.equal(backoff({ ...full, ...patch }, n, { roll, lastDelayMs }), expected);
  });
}

test('every delay is a whole number of ms, at least 1, and within the jitter of the cap', () => {
  const jitter = fc.oneof(
    fc.constantFrom('full' as const, 'equal' as const, 'decorrelated' as const),
    fc.double({ min: 0, max: 1, noNaN: true }),
  );
  fc.assert(
    fc.property(
      jitter,
      fc.nat(10_000),
      rolls,
      fc.option(fc.nat(10 ** 9), { nil: undefined }),
      (j, n, roll, lastDelayMs) => {
        const delayMs = backoff({ ...full, jitter: j }, n, { roll, lastDelayMs });
        assert.ok(Number.isInteger(delayMs) && delayMs >= 1);
        assert.ok(delayMs <= Math.ceil(full.capMs * (typeof j === 'number' ? 1 + j : 1)) + 1);
      },
    ),
  );
});

test('a higher draw never makes a shorter delay', () => {
  const jitter = fc.constantFrom<BackoffPolicy['jitter']>('full', 'equal', 'decorrelated', 0.3);
  fc.assert(
    fc.property(jitter, fc.integer({ min: 1, max: 12 }), rolls, rolls, (j, n, a, b) => {
      const at = (roll: number) => backoff({ ...full, jitter: j }, n, { roll, lastDelayMs: 2000 });
      assert.ok(at(Math.min(a, b)) <= at(Math.max(a, b)));
    }),
  );
});
