import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decimalSpan, durationSpan, httpDate, spanOrMoment } from './moments.ts';

const now = { wallMs: Date.UTC(2026, 0, 1) };

describe('HTTP-dates', () => {
  const rows: readonly [string, number | undefined][] = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sunday, 06-Nov-94 08:49:37 GMT', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov  6 08:49:37 1994', Date.UTC(1994, 10, 6, 8, 49, 37)],
    ['Sun Nov 16 08:49:37 1994', Date.UTC(1994, 10, 16, 8, 49, 37)],
    ['Friday, 01-Jan-76 00:00:00 GMT', Date.UTC(2076, 0, 1)],
    ['Friday, 01-Jan-77 00:00:00 GMT', Date.UTC(1977, 0, 1)],
    ['Thu, 29 Feb 2024 00:00:00 GMT', Date.UTC(2024, 1, 29)],
    ['Sat, 31 Dec 2016 23:59:60 GMT', Date.UTC(2017, 0, 1)],
    ['Mon, 29 Feb 2027 00:00:00 GMT', undefined],
    ['Mon, 00 Jan 2027 00:00:00 GMT', undefined],
    ['Mon, 32 Jan 2027 00:00:00 GMT', undefined],
    ['Mon, 01 Jan 2027 24:00:00 GMT', undefined],
    ['Mon, 01 Jan 2027 00:60:00 GMT', undefined],
    ['Mon, 01 Jan 2027 00:00:61 GMT', undefined],
    ['Mon, 01 Jan 1900 00:00:00 GMT', Date.UTC(1900, 0, 1)],
    ['Mon, 01 Jan 0050 00:00:00 GMT', undefined],
    ['Mon, 01 Foo 2027 00:00:00 GMT', undefined],
    ['Mon, 01 Jan 2027 00:00:00', undefined],
    ['Mon, 01 Jan 2027 00:00:00 GMT+1', undefined],
    ['Mon Jan 1 00:00:00 2027', undefined],
    ['2027', undefined],
    ['', undefined],
  ];
  for (const [text, expected] of rows) {
    test(JSON.stringify(text), () => assert.equal(httpDate(text, now), expected));
  }

  test('two-digit years around the turn of a century are read near to now', () => {
    const in2095 = { wallMs: Date.UTC(2095, 5, 1) };
    assert.equal(httpDate('Friday, 01-Jan-99 00:00:00 GMT', in2095), Date.UTC(2099, 0, 1));
    assert.equal(httpDate('Friday, 01-Jan-10 00:00:00 GMT', in2095), Date.UTC(2110, 0, 1));
    assert.equal(httpDate('Sunday, 01-Jan-45 00:00:00 GMT', in2095), Date.UTC(2145, 0, 1));
    assert.equal(httpDate('Sunday, 01-Jan-46 00:00:00 GMT', in2095), Date.UTC(2046, 0, 1));
  });

  test('every date that toUTCString can write is read back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8_000_000_000 }), (seconds) => {
        assert.equal(httpDate(new Date(seconds * 1000).toUTCString(), now), seconds * 1000);
      }),
    );
  });
});

describe('ISO dates', () => {
  const rows: readonly [string, number | undefined][] = [
    ['2026-01-01T00:00:30Z', 30_000],
    ['2026-01-01T00:00:30.25Z', 30_250],
    ['2026-01-01 00:00:30z', 30_000],
    ['2026-01-01T01:00:30+01:00', 30_000],
    ['2025-12-31T19:00:30-0500', 30_000],
    ['2026-01-01T05:30:30+05:30', 30_000],
    ['2026-01-01T00:00:30', undefined],
    ['2026-02-30T00:00:00Z', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    ['2026-01-01', undefined],
  ];
  for (const [text, expected] of rows) {
    test(text, () => assert.equal(spanOrMoment(text, now), expected));
  }
});

describe('numbers are read by their size', () => {
  const rows: readonly [string, number][] = [
    ['30', 30_000],
    ['999999999', 999_999_999_000],
    ['1000000000', 1e12 - now.wallMs],
    ['1767225630', 30_000],
    ['1767225570', -30_000],
    ['999999999999', 999_999_999_999_000 - now.wallMs],
    ['1000000000000', 1e12 - now.wallMs],
    ['1767225630000', 30_000],
  ];
  for (const [text, expected] of rows) {
    test(text, () => assert.equal(spanOrMoment(text, now), expected));
  }
});

describe('durations', () => {
  const rows: readonly [string, number | undefined][] = [
    ['1m30s', 90_000],
    ['20ms', 20],
    ['6m0s', 360_000],
    ['7.66s', 7660],
    ['1d', 86_400_000],
    ['1d2h3m4s5ms', 93_784_005],
    ['0.4ms', 1],
    ['0s', 0],
    ['', undefined],
    ['1', undefined],
    ['s', undefined],
    ['1m-30s', undefined],
    ['1s1m', undefined],
    ['1 m', undefined],
    ['1e3s', undefined],
  ];
  for (const [text, expected] of rows) {
    test(JSON.stringify(text), () => assert.equal(durationSpan(text), expected));
  }
});

test('decimals are rounded up to whole ms and bounded', () => {
  assert.equal(decimalSpan('0.2', 1), 1);
  assert.equal(decimalSpan('1.1', 1000), 1100);
  assert.equal(decimalSpan('9'.repeat(400), 1), 1e15);
  assert.equal(decimalSpan('1e3', 1), undefined);
});
