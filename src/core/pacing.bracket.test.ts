import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { newPacing, type Pacing, throttled } from './pacing.ts';

const T0 = 1_767_225_600_000;

describe('after a cycle of 9 s and a pause of 1 s', () => {
  const rows: readonly [string, Partial<Pacing>, number, [number, number, number | null]][] = [
    ['near: 0.3 of the way up', { rate: 10, lo: 8, hi: 12, good: 90 }, 1000, [9.3, 9, 10]],
    ['far: the geometric mean', { rate: 16, lo: 1, hi: null, good: 20 }, 1000, [32 ** 0.5, 2, 16]],
    [
      'the floor stays below the rate',
      { rate: 10, lo: 8, hi: 12, good: 200 },
      1000,
      [9.65, 9.5, 10],
    ],
    ['an older floor holds', { rate: 10, lo: 8, hi: 12, good: 30 }, 1000, [8.6, 8, 10]],
    ['an older ceiling holds', { rate: 10, lo: 8, hi: 9.5, good: 85 }, 1000, [8.8, 8.5, 9.5]],
    ['the limit fell', { rate: 10, lo: 9.9, hi: 12, good: 90 }, 1000, [8.6, 8, 10]],
    ['the limit fell far', { rate: 10, lo: 9.9, hi: 12, good: 60 }, 1000, [7.2, 6, 10]],
    ['never slower than one in 50 s', { rate: null, good: 1 }, 1e6, [0.02, 0, null]],
    ['no good reply, nothing learned', { rate: 10, lo: 8, hi: 12, good: 0 }, 1000, [10, 8, 12]],
  ];
  for (const [name, known, waitMs, expected] of rows) {
    test(name, () => {
      const pacing = { ...newPacing(), cycleAt: T0, usedMs: 9000, event: T0, ...known };
      const { rate, lo, hi } = throttled(pacing, { startedAt: T0 + 8990, waitMs }, T0 + 9000);
      const near = (value: number | null) => value && Number(value.toFixed(9));
      assert.deepEqual([rate, lo, hi].map(near), expected.map(near));
    });
  }
});
