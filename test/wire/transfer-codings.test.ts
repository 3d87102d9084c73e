import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { get, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const packed = gzipSync('the page');
const chunk = Buffer.concat([
  Buffer.from(`${packed.length.toString(16)}\r\n`),
  packed,
  Buffer.from('\r\n0\r\n\r\n'),
]);
const reply = (codings: readonly string[]) => ({
  bytes: Buffer.concat([
    Buffer.from(['HTTP/1.1 200 OK', ...codings, '', ''].join('\r\n')),
    codings.join().includes('chunked') ? chunk : packed,
  ]),
  after: 'end' as const,
});

for (const codings of [
  ['Transfer-Encoding: gzip, chunked'],
  ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'],
  ['Transfer-Encoding: gzip'],
]) {
  test(`a body in a transfer coding does not pass for content: ${codings.join(' and ')}`, async (t) => {
    const { port, told } = await startProxy(t, []);
    const site = await scriptedSite(t, [reply(codings)]);
    const got = await get(port, site.url);
    assert.equal(got.status, 502);
    assert.match(String(got.headers['proxy-status']), /error=http_protocol_error/);
    assert.equal(told('attempt_finished').length, 1);
  });
}

test('with lenient its bytes are passed on, and identity is no coding at all', async (t) => {
  const lenient = await startProxy(t, ['policy: { lenient: true }']);
  const site = await scriptedSite(t, [reply(['Transfer-Encoding: gzip, chunked'])]);
  assert.deepEqual((await get(lenient.port, site.url)).body, packed);
  const strict = await startProxy(t, []);
  const plain = await scriptedSite(t, [reply(['Transfer-Encoding: identity'])]);
  assert.deepEqual((await get(strict.port, plain.url)).body, packed);
});
