import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { exhausted, hasRetryAfter, rateSignal } from './retry-after.ts';

const NOW = Date.UTC(2026, 0, 1);
/** Header lines as a list of names and values. */
const fields = (head: string) =>
  head.split('\n').flatMap((line) => line.split(/: (.*)/s).slice(0, 2));
const wait = (...raw: string[]) => rateSignal(raw, NOW)?.waitMs;

describe('Retry-After that cannot be read is absent', () => {
  const garbage = [
    '',
    ' ',
    'abc',
    'NaN',
    'Infinity',
    '-Infinity',
    '0x10',
    '1e3',
    '10 seconds',
    '10s',
    '120, 120',
    '+5',
    '--1',
    '-1',
    '\u0663',
    '\u00d9\u00a3',
    '60;',
    'undefined',
    'null',
    'Mon',
    'Tomorrow',
    '1,5',
    '1.5.0',
    '.',
    '1..5',
    '1 5',
    '"5"',
    'Sep 2027',
    'Fri, 31 Feb 2027 00:00:00 GMT',
    'Thu, 01 Jan 2026 25:00:00 GMT',
    '01 Jan 2027 00:00:00 GMT',
    'Fri, 01 Jan 2027 00:00:00 PST',
    'Fri, 1 Jan 2027 00:00:00 GMT',
    '0b11',
    '1_000',
    'true',
  ];
  for (const text of garbage) {
    test(JSON.stringify(text), () => {
      assert.equal(wait('Retry-After', text), undefined);
      assert.equal(hasRetryAfter(['Retry-After', text]), true);
    });
  }
});

describe('Retry-After of nothing, or in the past, is absent: never a busy loop', () => {
  for (const text of [
    '0',
    '00',
    '0.0',
    '-1',
    '-0',
    '0.',
    '.0',
    '1000000000',
    '1000000000000',
    'Wed, 31 Dec 2025 23:00:00 GMT',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    'Wednesday, 31-Dec-25 23:59:59 GMT',
    'Wed Dec 31 23:59:59 2025',
    'Sun, 06 Nov 1994 08:49:37 GMT',
  ]) {
    test(text, () => assert.equal(wait('Retry-After', text), undefined));
  }
});

describe('Retry-After in every form', () => {
  const rows: readonly [string, number][] = [
    ['7', 7000],
    [' 7 ', 7000],
    ['\t7', 7000],
    ['007', 7000],
    ['1', 1000],
    ['3600', 3_600_000],
    ['2147484', 2_147_484_000],
    ['0.5', 500],
    ['1.5', 1500],
    ['2.000', 2000],
    ['1.1', 1100],
    ['0.001', 1],
    ['0.0001', 1],
    ['1.0001', 1001],
    ['.5', 500],
    ['5.', 5000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['thu, 01 jan 2026 00:00:30 gmt', 30_000],
    ['Thursday, 01-Jan-26 00:00:30 GMT', 30_000],
    ['Thu Jan  1 00:00:30 2026', 30_000],
    ['Thu Jan 01 00:00:30 2026', 30_000],
    ['Sat Jan 10 00:00:00 2026', 9 * 86_400_000],
    ['2026-01-01T00:00:30Z', 30_000],
    ['1767225630', 30_000],
    ['1767225630.5', 30_500],
    ['1767225630000', 30_000],
    ['999999999', 999_999_999_000],
    ['99999999999', 99_999_999_999_000 - NOW],
    ['9'.repeat(400), 1e15],
  ];
  for (const [text, expected] of rows) {
    test(text.slice(0, 40), () => assert.equal(wait('Retry-After', text), expected));
  }
});

describe('absolute times are read against the Date of the reply', () => {
  const DATE = 'Thu, 01 Jan 2026 01:00:00 GMT';
  const rows: readonly [string, string, string, number | undefined][] = [
    ['a server an hour ahead', DATE, 'Thu, 01 Jan 2026 01:00:10 GMT', 10_000],
    ['already past by the server clock', DATE, 'Thu, 01 Jan 2026 00:30:00 GMT', undefined],
    ['an epoch', DATE, '1767229210', 10_000],
    ['delta seconds do not depend on it', DATE, '10', 10_000],
    ['an unreadable Date counts for nothing', 'yesterday', 'Thu, 01 Jan 2026 00:00:10 GMT', 10_000],
  ];
  for (const [name, date, text, expected] of rows) {
    test(name, () => assert.equal(wait('Date', date, 'Retry-After', text), expected));
  }
});

describe('other fields that name a wait', () => {
  const rows: readonly [string, string, number | undefined][] = [
    ['retry-after-ms', 'retry-after-ms: 250', 250],
    ['retry-after-ms with a fraction, up', 'retry-after-ms: 250.2', 251],
    ['retry-after-ms unreadable', 'retry-after-ms: 250ms', undefined],
    ['retry-after-ms zero', 'retry-after-ms: 0', undefined],
    ['X-RateLimit-Reset: delta', 'X-RateLimit-Reset: 30', 30_000],
    ['X-RateLimit-Reset: epoch s', 'X-RateLimit-Reset: 1767225630', 30_000],
    ['X-RateLimit-Reset: epoch ms', 'X-RateLimit-Reset: 1767225630000', 30_000],
    ['X-RateLimit-Reset: epoch s with a fraction', 'X-RateLimit-Reset: 1767225630.5', 30_500],
    ['X-RateLimit-Reset: ISO date', 'X-RateLimit-Reset: 2026-01-01T00:00:30Z', 30_000],
    ['X-RateLimit-Reset: past', 'X-RateLimit-Reset: 1767225570', undefined],
    ['X-RateLimit-Reset: 0', 'X-RateLimit-Reset: 0', undefined],
    ['X-RateLimit-Reset: garbage', 'X-RateLimit-Reset: abc', undefined],
    ['X-Rate-Limit-Reset', 'X-Rate-Limit-Reset: 1767225630', 30_000],
    ['RateLimit-Reset', 'RateLimit-Reset: 30', 30_000],
    ['RateLimit, structured', 'RateLimit: "default";r=0;t=30', 30_000],
    ['RateLimit, spaces and a token for a name', 'RateLimit:  burst ; r=0 ; t=5 ', 5000],
    ['RateLimit, the spent one of two', 'RateLimit: "burst";r=0;t=5, "daily";r=100;t=3600', 5000],
    [
      'RateLimit, the longer of two spent ones',
      'RateLimit: "burst";r=0;t=5\nRateLimit: "daily";r=0;t=3600',
      3_600_000,
    ],
    ['RateLimit, separators inside quotes', 'RateLimit: "a;r=1,b";r=0;t=9', 9000],
    [
      'RateLimit without t: the policy window bounds it',
      'RateLimit: "d";r=0\nRateLimit-Policy: "b";q=1;w=2, "d";q=100;w=60',
      60_000,
    ],
    ['RateLimit without t or policy', 'RateLimit: "d";r=0', undefined],
    ['RateLimit, older drafts', 'RateLimit: limit=10, remaining=0, reset=30', 30_000],
    ['RateLimit, older drafts, some left', 'RateLimit: limit=10, remaining=3, reset=30', undefined],
    ['RateLimit, garbage', 'RateLimit: "default"; r=x; t=y, ;;, =,"', undefined],
    ['RateLimit-Policy alone tells no wait', 'RateLimit-Policy: "default";q=100;w=60', undefined],
    ['reset-requests as duration', 'x-ratelimit-reset-requests: 1m30s', 90_000],
    ['reset-tokens as duration', 'x-ratelimit-reset-tokens: 20ms', 20],
    ['reset-requests with a zero part', 'x-ratelimit-reset-requests: 6m0s', 360_000],
    ['reset-requests with hours and a fraction', 'x-ratelimit-reset-requests: 1h2m3.5s', 3_723_500],
    ['reset-requests in plain seconds', 'x-ratelimit-reset-requests: 30', 30_000],
    ['reset-requests, wrong order', 'x-ratelimit-reset-requests: 30s1m', undefined],
    [
      'the spent one of requests and tokens',
      'x-ratelimit-remaining-requests: 0\nx-ratelimit-reset-requests: 12s\nx-ratelimit-remaining-tokens: 500\nx-ratelimit-reset-tokens: 6m0s',
      12_000,
    ],
    [
      'a reset whose remaining says that some is left is not waited for',
      'X-RateLimit-Remaining: 10\nX-RateLimit-Reset: 3600',
      undefined,
    ],
    ['Retry-After wins over a longer reset', 'X-RateLimit-Reset: 30\nRetry-After: 5', 5000],
    ['Retry-After wins over retry-after-ms', 'retry-after-ms: 100\nRetry-After: 5', 5000],
    [
      'an unreadable Retry-After gives way to the reset',
      'Retry-After: soon\nX-RateLimit-Reset: 30',
      30_000,
    ],
    ['the longer of two Retry-After fields', 'Retry-After: 5\nRetry-After: 60', 60_000],
    ['nothing told', 'Content-Type: text/html', undefined],
  ];
  for (const [name, head, expected] of rows) {
    test(name, () => assert.equal(rateSignal(fields(head), NOW)?.waitMs, expected));
  }
});

test('a signal names the field it came from', () => {
  assert.deepEqual(rateSignal(['Retry-After', '5'], NOW), {
    waitMs: 5000,
    header: 'retry-after',
    value: '5',
  });
  assert.deepEqual(rateSignal(['RateLimit', '"d";r=0;t=3'], NOW), {
    waitMs: 3000,
    header: 'ratelimit',
    value: '"d";r=0;t=3',
  });
});

test('hasRetryAfter sees the field in any case, and only that field', () => {
  assert.equal(hasRetryAfter(['RETRY-AFTER', 'x']), true);
  assert.equal(hasRetryAfter(['retry-after-ms', '5']), true);
  assert.equal(hasRetryAfter(['X-RateLimit-Reset', '5']), false);
  assert.equal(hasRetryAfter([]), false);
});

test('whatever the fields say, a wait is a positive whole number within bounds', () => {
  const name = fc.constantFrom(
    'Retry-After',
    'retry-after-ms',
    'RateLimit',
    'RateLimit-Policy',
    'RateLimit-Reset',
    'X-RateLimit-Reset',
    'X-RateLimit-Remaining',
    'x-ratelimit-reset-tokens',
    'Date',
  );
  const value = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[-+.\d]{0,30}$/),
    fc.stringMatching(/^["\w;=,. :-]{0,40}$/),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 5 }), (fields) => {
      const raw = fields.flat();
      for (const signal of [rateSignal(raw, NOW), exhausted(raw, NOW)]) {
        if (signal?.waitMs === undefined) continue;
        assert.ok(Number.isInteger(signal.waitMs) && signal.waitMs > 0 && signal.waitMs <= 1e15);
      }
    }),
    { numRuns: 1000 },
  );
});

test('every second of a Retry-After is kept', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 999_999_999 }), (seconds) => {
      assert.equal(wait('Retry-After', String(seconds)), seconds * 1000);
    }),
  );
});
