import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { get, type Step, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const QUICK = [
  'policy: { backoff: { base: 1ms, cap: 2ms }, max_attempts: 3, timeouts: { idle: 150ms } }',
];
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const PAGE = `<html>${Array.from({ length: 4000 }, (_, i) => `item ${(i * 7919) % 10007}`).join(' ')}</html>`;

const whole: Step = { bytes: `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n${PAGE}` };
const half = PAGE.slice(0, PAGE.length / 2);

const coded = (name: string, bytes: Buffer, length = bytes.length): Buffer =>
  Buffer.concat([
    Buffer.from(`${HEAD}Content-Encoding: ${name}\r\nContent-Length: ${length}\r\n\r\n`),
    bytes,
  ]);
const closing = (name: string, bytes: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${HEAD}Content-Encoding: ${name}\r\nConnection: close\r\n\r\n`),
    bytes,
  ]);
const cut = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length / 2);

const SHORT: Readonly<Record<string, Step>> = {
  'fewer bytes than Content-Length, then FIN': {
    bytes: `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n${half}`,
    after: 'end',
  },
  'fewer bytes than Content-Length, then RST': {
    bytes: `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n${half}`,
    after: 'reset',
  },
  'fewer bytes than Content-Length, then silence': {
    bytes: `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n${half}`,
  },
  'chunks without an end': { bytes: `${CHUNKED}5\r\nhello\r\n`, after: 'end' },
  'a chunk cut inside': { bytes: `${CHUNKED}ff\r\nhello`, after: 'end' },
  'a chunk size line cut inside': { bytes: `${CHUNKED}5\r\nhello\r\n1`, after: 'end' },
  'a chunk size line that breaks off behind CR': {
    bytes: `${CHUNKED}5\r\nhello\r\n5\r`,
    after: 'reset',
  },
  'only the 0 line of the last chunk': { bytes: `${CHUNKED}5\r\nhello\r\n0\r\n`, after: 'end' },
  'no byte of the body': { bytes: `${HEAD}Content-Length: ${PAGE.length}\r\n\r\n`, after: 'end' },
  'a body until close that is reset': { bytes: `${HEAD}\r\n${half}`, after: 'reset' },
  'an HTTP/1.0 body that is reset': {
    bytes: `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${half}`,
    after: 'reset',
  },
  'half a gzip stream until close': { bytes: closing('gzip', cut(gzipSync(PAGE))), after: 'end' },
  'half a deflate stream until close': {
    bytes: closing('deflate', cut(deflateSync(PAGE))),
    after: 'end',
  },
  'half a brotli stream until close': {
    bytes: closing('br', cut(brotliCompressSync(PAGE))),
    after: 'end',
  },
  'half a gzip stream under a length that fits': { bytes: coded('gzip', cut(gzipSync(PAGE))) },
  'half a brotli stream in whole chunks': {
    bytes: Buffer.concat([
      Buffer.from(`${HEAD}Content-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n`),
      Buffer.from(`${cut(brotliCompressSync(PAGE)).length.toString(16)}\r\n`),
      cut(brotliCompressSync(PAGE)),
      Buffer.from('\r\n0\r\n\r\n'),
    ]),
  },
};

for (const [name, step] of Object.entries(SHORT)) {
  test(`${name}: healed unseen, and when it never is, told as incomplete`, async (t) => {
    const { port, told } = await startProxy(t, QUICK);
    const site = await scriptedSite(t, [step, whole]);
    const healed = await get(port, site.url);
    assert.deepEqual([healed.status, healed.end], [200, 'whole']);
    assert.ok(healed.body.equals(Buffer.from(PAGE)));
    assert.equal(healed.headers['forbear-attempts'], '2');
    const [first] = told('attempt_finished');
    assert.equal(first?.verdict.fault, 'host');

    const always = await scriptedSite(t, [step]);
    const refused = await get(port, always.url);
    assert.equal(refused.end, 'whole');
    assert.equal(always.heads.length, 3);
    const stalled = name.endsWith('silence');
    assert.equal(refused.status, stalled ? 504 : 502);
    const token = stalled ? 'http_response_timeout' : 'http_response_incomplete';
    assert.match(String(refused.headers['proxy-status']), new RegExp(`error=${token}`));
  });
}

const BROKEN_SIZES = { 'no number': 'zz', 'beyond all bounds': 'FFFFFFFFFFFFFFFFF' };
for (const [name, size] of Object.entries(BROKEN_SIZES)) {
  test(`a chunk size that is ${name} is never passed on as a whole reply, nor rotated away`, async (t) => {
    const { port, told } = await startProxy(t, QUICK);
    const site = await scriptedSite(t, [
      { bytes: `${CHUNKED}5\r\nhello\r\n${size}\r\nhello\r\n0\r\n\r\n` },
    ]);
    const got = await get(port, site.url);
    assert.equal(got.status, 502);
    assert.ok(told('attempt_finished').every(({ action }) => action.kind !== 'rotate'));
  });
}

const FINE: Readonly<Record<string, { step: Step; body: string | Buffer }>> = {
  'extra bytes behind Content-Length': {
    step: { bytes: `${HEAD}Content-Length: 5\r\n\r\nhello, and more` },
    body: 'hello',
  },
  'an HTTP/1.0 body until close': {
    step: { bytes: `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}`, after: 'end' },
    body: PAGE,
  },
  'an empty body until close': { step: { bytes: `${HEAD}\r\n`, after: 'end' }, body: '' },
  'gzip without its checksum': {
    step: { bytes: closing('gzip', gzipSync(PAGE).subarray(0, -8)), after: 'end' },
    body: gzipSync(PAGE).subarray(0, -8),
  },
  'two gzip members': {
    step: { bytes: coded('gzip', Buffer.concat([gzipSync('one'), gzipSync('two')])) },
    body: Buffer.concat([gzipSync('one'), gzipSync('two')]),
  },
  'gzip with rubbish behind it': {
    step: { bytes: coded('gzip', Buffer.concat([gzipSync(PAGE), Buffer.from('rubbish')])) },
    body: Buffer.concat([gzipSync(PAGE), Buffer.from('rubbish')]),
  },
  'an empty body with a coding': { step: { bytes: coded('gzip', Buffer.alloc(0)) }, body: '' },
};

for (const [name, { step, body }] of Object.entries(FINE)) {
  test(`${name}: passed on as it came, by the first attempt`, async (t) => {
    const { port, proxy } = await startProxy(t, QUICK);
    const site = await scriptedSite(t, [step]);
    const got = await get(port, site.url);
    assert.deepEqual([got.status, got.end], [200, 'whole']);
    assert.ok(got.body.equals(Buffer.from(body)));
    assert.equal(site.heads.length, 1);
    assert.equal(proxy.activity().exchanges, 0);
  });
}
