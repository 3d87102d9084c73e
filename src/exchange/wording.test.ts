import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestHeaders } from './headers.ts';
import { wordingOf } from './wording.ts';

const of = (raw: readonly string[], host?: string) => wordingOf(raw, requestHeaders(raw, host));

test('two that stand in front of one field keep their order', () => {
  const { connection, te, transferEncoding } = of([
    ...['TE', 'trailers', 'Transfer-Encoding', 'chunked', 'Connection', 'TE, close'],
  ]);
  assert.deepEqual(
    [te, transferEncoding, connection].map((field) => [field?.at, field?.rank]),
    [
      [0, 0],
      [0, 2],
      [0, 4],
    ],
  );
});

test('a Connection keeps its place among what goes on, its name and its letters', () => {
  const raw = ['Host', 'o', 'A', '1', 'CONNECTION', 'Keep-Alive, X', 'X', '1', 'B', '2'];
  assert.deepEqual(of(raw).connection, { at: 4, rank: 4, name: 'CONNECTION', value: 'Keep-Alive' });
});

test('what is taken out in front of a field does not count for its place', () => {
  const raw = ['Proxy-Authorization', 'x', 'Forbear-Retry', 'off', 'A', '1', 'Connection', 'close'];
  assert.deepEqual(of(raw).connection, { at: 2, rank: 6, name: 'Connection', value: 'keep-alive' });
});

test('a Host that is added stands in front of all, and moves the rest', () => {
  const raw = ['A', '1', 'Connection', 'keep-alive'];
  assert.equal(of(raw, 'o.test').connection?.at, 4);
});

test('a client that says nothing of its connection, or only what ends here, gets none', () => {
  for (const raw of [
    ['Host', 'o'],
    ['Connection', 'Upgrade'],
    ['Connection', 'TE'],
  ]) {
    assert.equal(of(raw).connection, undefined);
  }
});

test('a Proxy-Connection stands for the Connection it replaces, but not the one of curl', () => {
  const browser = ['Host', 'o', 'Proxy-Connection', 'keep-alive', 'A', '1'];
  assert.deepEqual(of(browser).connection, {
    at: 2,
    rank: 2,
    name: 'Connection',
    value: 'keep-alive',
  });
  assert.equal(of(['Host', 'o', 'Proxy-Connection', 'Keep-Alive']).connection, undefined);
  const both = ['Connection', 'Keep-Alive', 'Proxy-Connection', 'keep-alive'];
  assert.equal(of(both).connection?.value, 'Keep-Alive');
});

test('of TE only the word trailers is made anew', () => {
  const te = ['A', '1', 'te', 'deflate, Trailers;q=0.5', 'TE', 'trailers, gzip'];
  assert.deepEqual(of(te).te, { at: 2, rank: 4, name: 'TE', value: 'trailers' });
  assert.equal(of(['TE', 'deflate,gzip;q=0.3']).te, undefined);
});

test('Transfer-Encoding keeps its place and its letters', () => {
  const raw = ['transfer-encoding', 'Chunked', 'A', '1'];
  assert.deepEqual(of(raw).transferEncoding, {
    at: 0,
    rank: 0,
    name: 'transfer-encoding',
    value: 'Chunked',
  });
});
