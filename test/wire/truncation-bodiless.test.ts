import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { until } from '../support/raw-server.ts';
import { get, type Step, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const QUICK = ['policy: { backoff: { base: 1ms, cap: 2ms }, max_attempts: 3 }'];
const OK: Step = { bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext' };

const HEADS: Readonly<Record<string, { bytes: string; length: string | undefined }>> = {
  'a Content-Length': { bytes: 'Content-Length: 1234\r\n\r\n', length: '1234' },
  'a Content-Length and stray bytes': {
    bytes: 'Content-Length: 1234\r\n\r\nabcd',
    length: '1234',
  },
  'chunked framing': { bytes: 'Transfer-Encoding: chunked\r\n\r\n', length: undefined },
  'a content coding': {
    bytes: 'Content-Encoding: gzip\r\nContent-Length: 99\r\n\r\n',
    length: '99',
  },
};

for (const [name, { bytes, length }] of Object.entries(HEADS)) {
  test(`a HEAD reply with ${name} is whole, has no body, and is not asked for again`, async (t) => {
    const { port } = await startProxy(t, [
      'policy: { expect: [{ when: { method: HEAD }, min_bytes: 500, else: transient }], backoff: { base: 1ms } }',
    ]);
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n${bytes}`;
    const site = await scriptedSite(t, [{ bytes: head }, OK]);
    const got = await get(port, site.url, { method: 'HEAD' });
    assert.deepEqual([got.status, got.end, got.body.length], [200, 'whole', 0]);
    assert.equal(got.headers['content-length'], length);
    assert.equal(site.heads.length, 1);
    const next = await get(port, site.url);
    assert.equal(next.body.toString(), 'next');
  });
}

test('no byte follows the head of a HEAD reply, whatever its framing says', async (t) => {
  const { port } = await startProxy(t, QUICK);
  const site = await scriptedSite(t, [
    { bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' },
  ]);
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.write(`HEAD ${site.url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await once(socket, 'close');
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(text.indexOf('\r\n\r\n'), text.length - 4);
});

const BODILESS: Readonly<Record<string, { bytes: string; length?: string }>> = {
  '204 with a length and stray bytes': {
    bytes: 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello',
  },
  '204 in chunks': {
    bytes: 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  },
  '304 with a length': {
    bytes: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 1234\r\n\r\n',
    length: '1234',
  },
};

for (const [name, { bytes, length }] of Object.entries(BODILESS)) {
  test(`a ${name} ends at the blank line, and poisons nothing that follows`, async (t) => {
    const { port, told } = await startProxy(t, QUICK);
    const site = await scriptedSite(t, [{ bytes }, OK]);
    const got = await get(port, site.url);
    assert.deepEqual(
      [got.status, got.end, got.body.length],
      [Number(name.slice(0, 3)), 'whole', 0],
    );
    assert.equal(got.headers['content-length'], length);
    assert.equal(got.headers['transfer-encoding'], undefined);
    assert.equal(site.heads.length, 1);
    const next = await get(port, site.url);
    assert.deepEqual([next.status, next.body.toString()], [200, 'next']);
    assert.equal(next.headers['forbear-attempts'], '1');
    assert.ok(told('attempt_finished').every(({ verdict }) => verdict.fault === 'none'));
  });
}

const TWO_FRAMINGS =
  'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n';

test('a reply with two framings is refused once, without a retry, and its connection is not used again', async (t) => {
  const { port, told } = await startProxy(t, QUICK);
  const site = await scriptedSite(t, [{ bytes: TWO_FRAMINGS }, OK]);
  const got = await get(port, site.url);
  assert.equal(got.status, 502);
  assert.match(String(got.headers['proxy-status']), /error=http_protocol_error/);
  assert.equal(site.heads.length, 1);
  assert.equal(told('attempt_finished')[0]?.verdict.reason, 'malformed_reply');
  await until(() => site.open === 0);
  assert.equal((await get(port, site.url)).body.toString(), 'next');
  assert.equal(site.accepted, 2);
});
