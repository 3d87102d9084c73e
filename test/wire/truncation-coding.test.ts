import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { followCoding } from '../../src/attempt/coding-end.ts';
import { until } from '../support/raw-server.ts';
import { get, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const PAGE = Array.from({ length: 60_000 }, (_, i) => (i * 7919) % 10007).join(' ');
const CODERS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
};

async function endOf(coding: string, bytes: Buffer, step: number): Promise<string> {
  const following = followCoding(coding);
  assert.ok(following);
  for (let at = 0; at < bytes.length; at += step) following.write(bytes.subarray(at, at + step));
  return following.end();
}

for (const [coding, encode] of Object.entries(CODERS)) {
  test(`the end of ${coding} is found, in whatever pieces it comes`, async () => {
    const bytes = encode(PAGE);
    for (const step of [1, 7, 4096, bytes.length]) {
      const short = bytes.subarray(0, Math.min(bytes.length / 2, 40 * step));
      assert.equal(await endOf(coding, short, step), 'short');
      if (step > 1) assert.equal(await endOf(coding, bytes, step), 'whole');
    }
  });
}

test('what browsers accept counts as whole: no checksum, rubbish behind, bare deflate, a wrong label, nothing', async () => {
  const gzip = gzipSync(PAGE);
  assert.equal(await endOf('gzip', gzip.subarray(0, -8), 5000), 'whole');
  assert.equal(await endOf('gzip', Buffer.concat([gzip, Buffer.from('more')]), 5000), 'whole');
  assert.equal(await endOf('deflate', deflateRawSync(PAGE), 5000), 'whole');
  assert.equal(await endOf('gzip', Buffer.from(PAGE), 5000), 'whole');
  assert.equal(await endOf('br', Buffer.alloc(0), 1), 'whole');
  assert.equal(await endOf('gzip', gzip.subarray(0, 5), 5), 'short');
});

test('a coded script that comes all at once is followed too', async (t) => {
  const { port } = await startProxy(t, ['drain: 1s']);
  const whole = gzipSync(PAGE.slice(0, 5000));
  const half = whole.subarray(0, whole.length / 2);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/javascript\r\nContent-Encoding: gzip\r\nContent-Length: `;
  const reply = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${head}${bytes.length}\r\n\r\n`), bytes]);
  const site = await scriptedSite(t, [{ bytes: reply(half) }, { bytes: reply(whole) }]);
  assert.equal((await get(port, site.url)).end, 'broken');
  const next = await get(port, site.url);
  assert.deepEqual([next.end, next.body.equals(whole)], ['whole', true]);
});

test('a bomb is not decoded to its end', async () => {
  const bomb = gzipSync(Buffer.alloc(100 * 1024 * 1024));
  assert.equal(await endOf('gzip', bomb.subarray(0, -1000), bomb.length), 'whole');
});

test('no coding, and one that is unknown, is not followed', () => {
  for (const coding of ['', 'identity', 'utf-8']) assert.equal(followCoding(coding), undefined);
});

for (const type of ['text/html', 'application/javascript']) {
  for (const framing of ['Content-Length', 'close'] as const) {
    test(`half of a coded ${type} framed by ${framing} is broken off, though the framing calls it whole`, async (t) => {
      const { port, told } = await startProxy(t, ['policy: { inspect: { hold: 1KiB } }']);
      const whole = gzipSync(PAGE);
      const half = whole.subarray(0, whole.length / 2);
      const site = await scriptedSite(t, [coded(half), coded(whole)]);
      const got = await get(port, site.url);
      assert.equal(got.end, 'broken');
      assert.equal(told('exchange_finished')[0]?.answered, 'broken_off');
      const next = await get(port, site.url);
      assert.deepEqual([next.end, next.body.equals(whole)], ['whole', true]);

      /** Its beginning first, so that the hold is over before the end is there. */
      function coded(bytes: Buffer) {
        const length = framing === 'close' ? '' : `Content-Length: ${bytes.length}\r\n`;
        const head = `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Encoding: gzip\r\n${length}`;
        return (_: string, socket: Socket) => {
          socket.write(Buffer.concat([Buffer.from(`${head}\r\n`), bytes.subarray(0, 5000)]));
          const before = told('attempt_finished').length;
          const judged = () => told('attempt_finished').length > before;
          void until(judged).then(() => socket.end(bytes.subarray(5000)));
          return undefined;
        };
      }
    });
  }
}
