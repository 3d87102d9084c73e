import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHeldMemory } from '../../src/exchange/held-memory.ts';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  textOf,
} from '../support/attempts.ts';
import { onHead, rawServer, replying, until } from '../support/raw-server.ts';
import { get, scriptedSite, startProxy } from '../support/whole-proxy.ts';

const MIB = 1024 * 1024;
const PAGE = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${MIB}\r\n\r\n${'x'.repeat(MIB)}`;

test('a head above limits.reply_header_bytes is a malformed reply, told as such and not tried again', async (t) => {
  const { port, proxy } = await startProxy(t, ['limits: { reply_header_bytes: 4KiB }']);
  const site = await scriptedSite(t, [
    (head) => ({
      bytes: `HTTP/1.1 200 OK\r\nX-Long: ${'x'.repeat(Number(/n=(\d+)/.exec(head)?.[1]))}\r\nContent-Length: 2\r\n\r\nok`,
    }),
  ]);
  assert.equal((await get(port, `${site.url}?n=4000`)).status, 200);
  const long = await get(port, `${site.url}?n=4096`);
  assert.equal(long.status, 502);
  assert.equal(long.headers['forbear-verdict'], 'client/malformed_reply');
  assert.match(
    String(long.headers['proxy-status']),
    /error=http_response_header_section_size; .*larger than allowed/,
  );
  assert.equal(site.heads.length, 2);
  await until(() => proxy.activity().sockets <= 1);
});

test('a head that never ends is cut off at the limit, however slowly it comes', async (t) => {
  const attempts = attemptsFor(t, { replyTerms: { maxHeadBytes: 1000 } });
  const origin = await rawServer((socket) => {
    onHead(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const drip = () =>
        socket.write('X-A: 12345678901234567890\r\n', (error) => {
          if (!error) setImmediate(drip);
        });
      drip();
    });
  });
  t.after(() => origin.close());
  const failure = failureOf(await attempts.attempt(exchangeTo(origin), direct));
  assert.deepEqual([failure.code, failure.phase], ['header_overflow', 'first_byte']);
  await until(() => attempts.openSockets() === 0);
});

test('1000 fields are taken, one more is too many, lenient or not', async (t) => {
  for (const lenient of [false, true]) {
    for (const [count, outcome] of [
      [999, 'response'],
      [1000, 'failure'],
    ] as const) {
      const bytes = `HTTP/1.1 200 OK\r\n${'X-A: 1\r\n'.repeat(count)}Content-Length: 2\r\n\r\nok`;
      const origin = await rawServer(replying(bytes));
      t.after(() => origin.close());
      const { attempt } = attemptsFor(t);
      const received = await attempt(exchangeTo(origin, { policy: { lenient } }), direct);
      assert.equal(received.reply.kind, outcome);
      if (outcome === 'failure') assert.equal(failureOf(received).code, 'header_overflow');
      else assert.equal(await textOf(received), 'ok');
    }
  }
});

test('an interim head counts by itself, and has the same limit', async (t) => {
  const hint = (bytes: number) => `HTTP/1.1 103 Hints\r\nX-A: ${'x'.repeat(bytes)}\r\n\r\n`;
  const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
  for (const [hints, outcome] of [
    [hint(900).repeat(3), 'response'],
    [hint(1000), 'failure'],
  ] as const) {
    const origin = await rawServer(replying(hints + OK));
    t.after(() => origin.close());
    const { attempt } = attemptsFor(t, { replyTerms: { maxHeadBytes: 1000 } });
    const received = await attempt(exchangeTo(origin), direct);
    assert.equal(received.reply.kind, outcome);
  }
});

test('held bodies count in the memory of all, until the last byte was read', async (t) => {
  const memory = createHeldMemory(() => 8 * MIB);
  const origin = await rawServer(replying(PAGE));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t, { replyTerms: { memory } });
  const received = await attempt(exchangeTo(origin), direct);
  assert.ok(memory.bytes > MIB / 2, `${memory.bytes} bytes are counted`);
  assert.equal((await textOf(received)).length, MIB);
  assert.equal(memory.bytes, 0);
});

test('without room a body is judged by its first piece, and passed on whole', async (t) => {
  const memory = createHeldMemory(() => 0);
  const origin = await rawServer(replying(PAGE));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t, { replyTerms: { memory } });
  const received = await attempt(exchangeTo(origin), direct);
  const { body } = responseOf(received);
  assert.ok(body.kind === 'seen' && body.end === 'pending' && body.text.length > 0);
  assert.ok(body.receivedBytes < MIB / 2, `${body.receivedBytes} bytes were held`);
  assert.equal((await textOf(received)).length, MIB);
  assert.equal(memory.bytes, 0);
});

test('without room a failed reply is not kept, and its connection is let go', async (t) => {
  for (const [room, deliverable] of [
    [MIB, true],
    [0, false],
  ] as const) {
    const memory = createHeldMemory(() => room);
    const page = `HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n`;
    const origin = await rawServer((socket) => {
      onHead(socket, () => socket.write(page + 'x'.repeat(50_000)));
    });
    t.after(() => origin.close());
    const { attempt } = attemptsFor(t, { replyTerms: { memory } });
    const policy = { inspect: { holdBytes: 1000 } };
    const received = await attempt(exchangeTo(origin, { policy }), direct);
    received.keep();
    assert.equal(received.deliverable, deliverable);
    received.discard();
    assert.equal(memory.bytes, 0);
  }
});

test('nothing stays counted of a body that is discarded, cut off or left by its client', async (t) => {
  const memory = createHeldMemory(() => 8 * MIB);
  const origin = await rawServer((socket) => {
    onHead(socket, (head) => {
      socket.write(PAGE.slice(0, head.includes('/cut') ? MIB / 4 : PAGE.length));
      if (head.includes('/cut')) socket.end();
    });
  });
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t, { replyTerms: { memory } });
  (await attempt(exchangeTo(origin), direct)).discard();
  assert.equal(memory.bytes, 0);

  const left = new AbortController();
  const policy = { inspect: { holdBytes: 1000 } };
  await attempt(exchangeTo(origin, { signal: left.signal, policy }), direct);
  assert.ok(memory.bytes > 0);
  left.abort();
  assert.equal(memory.bytes, 0);

  const cut = await attempt(exchangeTo(origin, { path: '/cut' }), direct);
  assert.ok(memory.bytes > 0);
  cut.discard();
  assert.equal(memory.bytes, 0);

  const unread = await attempt(exchangeTo(origin), direct);
  unread.response?.body.destroy();
  await until(() => memory.bytes === 0);
});

test('a full memory of bodies takes nothing from a client: pages come whole, one after the other', async (t) => {
  const site = await scriptedSite(t, [{ bytes: PAGE }]);
  const { port } = await startProxy(t, ['memory: { max_held: 0B }']);
  for (let i = 0; i < 3; i++) {
    const got = await get(port, site.url);
    assert.deepEqual([got.status, got.end, got.body.length], [200, 'whole', MIB]);
  }
});
