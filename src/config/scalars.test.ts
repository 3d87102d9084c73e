import assert from 'node:assert/strict';
import test from 'node:test';
import type * as z from 'zod';
import * as scalars from './scalars.ts';

const WRONG = Symbol('wrong');

type Row = readonly [z.ZodType, unknown, unknown];

const { delay, duration, jitter, rate, share, size, statuses } = scalars;
const natural = scalars.whole({ min: 0, max: 10 });

const rows: readonly Row[] = [
  [duration, '250ms', 250],
  [duration, '1.5s', 1500],
  [duration, '5m', 300_000],
  [duration, '1h', 3_600_000],
  [duration, '7d', 604_800_000],
  [duration, '60d', 5_184_000_000],
  [duration, '0s', WRONG],
  [duration, '-1s', WRONG],
  [duration, '1', WRONG],
  [duration, 1, WRONG],
  [duration, '1 s', WRONG],
  [duration, '1S', WRONG],
  [duration, Number.POSITIVE_INFINITY, WRONG],
  [duration, 'Infinity', WRONG],
  [duration, Number.NaN, WRONG],
  [duration, `${'9'.repeat(400)}s`, WRONG],
  [duration, '5000d', WRONG],
  [delay, '0s', { minMs: 0, maxMs: 0 }],
  [delay, '10s..20s', { minMs: 10_000, maxMs: 20_000 }],
  [delay, '500ms .. 1s', { minMs: 500, maxMs: 1000 }],
  [delay, '20s..10s', WRONG],
  [delay, '10s..', WRONG],
  [delay, '1s..2s..3s', WRONG],
  [size, '64KiB', 65_536],
  [size, '1MiB', 1_048_576],
  [size, '1KB', 1000],
  [size, '2MB', 2_000_000],
  [size, '0B', 0],
  [size, 4096, 4096],
  [size, '4096', WRONG],
  [size, -1, WRONG],
  [size, '1XB', WRONG],
  [share, 0.5, 0.5],
  [share, '10%', 0.1],
  [share, 1.1, WRONG],
  [share, '101%', WRONG],
  [share, Number.NaN, WRONG],
  [jitter, 'full', 'full'],
  [jitter, 0.2, 0.2],
  [jitter, 'some', WRONG],
  [jitter, 2, WRONG],
  [rate, 2, 2],
  [rate, '30/m', 0.5],
  [rate, '3600/h', 1],
  [rate, 0, WRONG],
  [rate, '0/s', WRONG],
  [rate, '1/w', WRONG],
  [statuses, 503, [503]],
  [statuses, '502-504', [502, 503, 504]],
  [statuses, '504, 502', [502, 504]],
  [statuses, [408, '520-521', 408], [408, 520, 521]],
  [statuses, [], []],
  [statuses, 99, WRONG],
  [statuses, '504-502', WRONG],
  [statuses, ['x'], WRONG],
  [statuses, { a: 1 }, WRONG],
  [natural, 10, 10],
  [natural, 11, WRONG],
  [natural, 1.5, WRONG],
  [natural, '1', WRONG],
  [scalars.flag, true, true],
  [scalars.flag, 'yes', WRONG],
  [scalars.autoFlag, 'auto', 'auto'],
  [scalars.autoCount, 0, WRONG],
  [scalars.decimal({ min: 1 }), Number.POSITIVE_INFINITY, WRONG],
];

for (const [schema, written, expected] of rows) {
  const outcome = expected === WRONG ? 'is refused' : `means ${JSON.stringify(expected)}`;
  test(`${String(JSON.stringify(written)).slice(0, 40)} ${outcome}`, () => {
    const read = schema.safeParse(written);
    assert.deepEqual(read.success ? read.data : WRONG, expected);
  });
}
