import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { askingForRest, beginningOf, explainMisfit, fitOf, type Misfit } from './resume.ts';

const NOW = Date.UTC(2026, 0, 2);
const DATE = ['Date', 'Fri, 02 Jan 2026 00:00:00 GMT'];
const ETAG = ['ETag', '"v1"'];
const LENGTH = ['Content-Length', '1000'];
const GET = { method: 'GET', rawHeaders: ['Accept', '*/*'] };

const begin = (rawHeaders: readonly string[], o: { status?: number } = {}, request = GET) =>
  beginningOf(request, { status: o.status ?? 200, rawHeaders }, NOW);

test('a strong tag makes a beginning, with the length and the coding', () => {
  assert.deepEqual(begin([...ETAG, ...LENGTH, 'Content-Encoding', 'GZip']), {
    validator: '"v1"',
    etag: '"v1"',
    coding: 'gzip',
    totalBytes: 1000,
  });
  assert.equal(begin([...ETAG])?.totalBytes, undefined);
  const both = begin([...ETAG, ...LENGTH, 'Transfer-Encoding', 'chunked']);
  assert.equal(both?.totalBytes, undefined, 'chunks override the length');
});

const modified = (text: string) => ['Last-Modified', text];
const DATES: readonly (readonly [string, readonly string[], boolean])[] = [
  ['an old date', [...DATE, ...modified('Thu, 01 Jan 2026 00:00:00 GMT')], true],
  ['exactly 60 s', [...DATE, ...modified('Thu, 01 Jan 2026 23:59:00 GMT')], true],
  ['59 s', [...DATE, ...modified('Thu, 01 Jan 2026 23:59:01 GMT')], false],
  ['a date ahead', [...DATE, ...modified('Fri, 02 Jan 2026 01:00:00 GMT')], false],
  ['no Date to hold it against', modified('Thu, 01 Jan 2026 00:00:00 GMT'), false],
  ['no date at all', [...DATE, ...modified('yesterday')], false],
  [
    'an old date beside a weak tag',
    [...DATE, ...modified('Thu, 01 Jan 2026 00:00:00 GMT'), 'ETag', 'W/"v1"'],
    false,
  ],
];

for (const [name, headers, isStrong] of DATES) {
  test(`Last-Modified, ${name}: ${isStrong ? 'strong' : 'not strong'}`, () => {
    const beginning = begin([...headers, ...LENGTH]);
    const validator = isStrong ? headers[headers.indexOf('Last-Modified') + 1] : undefined;
    assert.equal(beginning?.validator, validator);
  });
}

test('there is nothing to resume without a strong validator, by another method, status or kind of body', () => {
  assert.equal(begin(LENGTH), undefined);
  for (const tag of ['W/"v1"', 'v1', '"a" b"', '']) {
    assert.equal(begin(['ETag', tag, ...LENGTH]), undefined, tag);
  }
  assert.equal(begin([...ETAG, 'Accept-Ranges', 'None']), undefined);
  assert.ok(begin([...ETAG, 'Accept-Ranges', 'bytes']));
  for (const type of ['text/event-stream; charset=utf-8', 'multipart/x-mixed-replace']) {
    assert.equal(begin([...ETAG, 'Content-Type', type]), undefined, type);
  }
  for (const status of [201, 203, 206, 404]) assert.equal(begin(ETAG, { status }), undefined);
  for (const method of ['POST', 'HEAD', 'PUT', 'get']) {
    assert.equal(begin(ETAG, {}, { ...GET, method }), undefined, method);
  }
  const ranged = { method: 'GET', rawHeaders: ['range', 'bytes=5-'] };
  assert.equal(begin(ETAG, {}, ranged), undefined, 'the client resumes by itself');
});

test('the question for the rest keeps the request, and drops what would ask for something else', () => {
  const asked = askingForRest(
    ['Cookie', 'a=1', 'If-None-Match', '"v0"', 'if-modified-since', 'x', 'If-Range', '"v0"'],
    { validator: '"v1"', etag: '"v1"', coding: '', totalBytes: undefined },
    400,
  );
  assert.deepEqual(asked, ['Cookie', 'a=1', 'Range', 'bytes=400-', 'If-Range', '"v1"']);
});

const BEGUN = { validator: '"v1"', etag: '"v1"', coding: '', totalBytes: 1000 } as const;
const DATED = { ...BEGUN, validator: 'a date', etag: undefined };
const range = (text: string) => ['Content-Range', text];
const GOOD = [...ETAG, ...range('bytes 400-999/1000')];

const ANSWERS: readonly (readonly [string, number, readonly string[], Misfit | 'rest'])[] = [
  ['the rest', 206, GOOD, 'rest'],
  ['a part of the rest', 206, [...ETAG, ...range('bytes 400-499/1000')], 'rest'],
  ['the same identity coding', 206, [...GOOD, 'Content-Encoding', 'identity'], 'rest'],
  ['the whole again', 200, [...ETAG, ...LENGTH], 'not_partial'],
  ['not found', 404, [], 'not_partial'],
  ['another start', 206, [...ETAG, ...range('bytes 399-999/1000')], 'other_range'],
  ['no range', 206, ETAG, 'other_range'],
  ['two ranges', 206, [...GOOD, ...range('bytes 400-999/1000')], 'other_range'],
  ['an end beyond the whole', 206, [...ETAG, ...range('bytes 400-1000/1000')], 'other_range'],
  ['an end before the start', 206, [...ETAG, ...range('bytes 400-300/1000')], 'other_range'],
  ['an unknown whole', 206, [...ETAG, ...range('bytes 400-999/*')], 'other_range'],
  ['other units', 206, [...ETAG, ...range('lines 400-999/1000')], 'other_range'],
  ['another length', 206, [...ETAG, ...range('bytes 400-999/1001')], 'changed'],
  ['another tag', 206, ['ETag', '"v2"', ...range('bytes 400-999/1000')], 'changed'],
  ['the tag made weak', 206, ['ETag', 'W/"v1"', ...range('bytes 400-999/1000')], 'changed'],
  ['no tag', 206, range('bytes 400-999/1000'), 'changed'],
  ['another coding', 206, [...GOOD, 'Content-Encoding', 'gzip'], 'changed'],
  [
    'several ranges',
    206,
    [...GOOD, 'Content-Type', 'multipart/byteranges; boundary=x'],
    'several_ranges',
  ],
];

for (const [name, status, rawHeaders, expected] of ANSWERS) {
  test(`${name} in answer to the question for the rest: ${expected}`, () => {
    const fit = fitOf(BEGUN, 400, { status, rawHeaders });
    assert.equal(fit.kind === 'misfit' ? fit.misfit : fit.kind, expected);
    if (fit.kind === 'rest') assert.equal(fit.totalBytes, 1000);
    if (fit.kind === 'misfit') assert.ok(explainMisfit(fit.misfit, status).length > 10);
  });
}

test('a part may leave its coding out where a tag vouches for it, but not where only a date does', () => {
  const untagged = range('bytes 400-999/1000');
  assert.equal(
    fitOf({ ...BEGUN, coding: 'gzip' }, 400, { status: 206, rawHeaders: GOOD }).kind,
    'rest',
  );
  assert.equal(fitOf(DATED, 400, { status: 206, rawHeaders: untagged }).kind, 'rest');
  const coded = { ...DATED, coding: 'gzip' };
  assert.equal(fitOf(coded, 400, { status: 206, rawHeaders: untagged }).kind, 'misfit');
  const told = [...untagged, 'Content-Encoding', 'gzip'];
  assert.equal(fitOf(coded, 400, { status: 206, rawHeaders: told }).kind, 'rest');
});

test('that there is nothing behind the last byte means that all has come, unless it is coded', () => {
  const open = { ...BEGUN, totalBytes: undefined };
  const nothing = (text: string, etag: readonly string[] = ETAG) => ({
    status: 416,
    rawHeaders: [...etag, ...range(text)],
  });
  assert.equal(fitOf(open, 400, nothing('bytes */400')).kind, 'complete');
  assert.equal(fitOf(open, 400, nothing('bytes */400', [])).kind, 'complete');
  assert.equal(fitOf(open, 400, nothing('bytes */399')).kind, 'misfit');
  assert.equal(fitOf(open, 400, nothing('bytes */400', ['ETag', '"v2"'])).kind, 'misfit');
  assert.equal(fitOf({ ...open, coding: 'gzip' }, 400, nothing('bytes */400')).kind, 'misfit');
  assert.equal(fitOf(open, 400, { status: 416, rawHeaders: ETAG }).kind, 'misfit');
});

test('whatever range is answered, only one that begins at the offset and lies within the same whole is taken', () => {
  const count = fc.nat(50);
  fc.assert(
    fc.property(count, count, count, count, count, (offset, first, last, total, known) => {
      const reply = {
        status: 206,
        rawHeaders: [...ETAG, ...range(`bytes ${first}-${last}/${total}`)],
      };
      const fit = fitOf({ ...BEGUN, totalBytes: known }, offset, reply);
      const fits = first === offset && first <= last && last < total && total === known;
      assert.equal(fit.kind === 'rest', fits);
    }),
  );
});
