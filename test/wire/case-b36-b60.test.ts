import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ask, heard, startWire, statuses } from '../support/client-wire.ts';
import { begin, farOrigin, fetchOver, parsed, reply, silence } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const QUICK =
  'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms }, timeouts: { idle: 200ms } }';
const OK = reply(200, 'ok');
const HTML = 'Content-Type: text/html';

test('B36 a 417 of the origin is its answer: it was sent no Expect, so there is nothing to leave out', async (t) => {
  const origin = await farOrigin(t, [reply(417, 'never'), OK]);
  const wire = await startWire(t, [QUICK]);
  const got = await ask(
    wire,
    `POST ${origin.url} HTTP/1.1\r\nHost: o.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\nhello`,
  );
  assert.equal(statuses(got).at(-1), 417);
  assert.ok(got.endsWith('never'));
  assert.equal(origin.hits.length, 1);
  assert.doesNotMatch(origin.hits[0]?.head ?? '', /expect/i);
});

test('B36 a refusal comes in place of 100: an open breaker needs no body', async (t) => {
  const origin = await farOrigin(t, [reply(503, 'busy')]);
  const wire = await startWire(t, [
    'policy: { max_attempts: 1, breaker: { min_attempts: 2, consecutive: 2, when_open: refuse }, timeouts: { linger: 100ms } }',
  ]);
  for (let i = 0; i < 2; i++) await fetchOver(wire, origin.url);
  const socket = await wire.dial();
  socket.write(
    `POST ${origin.url} HTTP/1.1\r\nHost: o.test\r\nContent-Length: 500000\r\nExpect: 100-continue\r\n\r\n`,
  );
  const answer = await heard(socket, (text) => text.includes('\r\n\r\n'));
  assert.match(answer, /^HTTP\/1\.1 503 [\s\S]*Forbear-Stop: breaker_open/);
  assert.equal(origin.hits.length, 2);
});

for (const [name, fields, status] of [
  ['20 KB in one field', [`X-Long: ${'v'.repeat(20_000)}`], 200],
  ['900 short lines', Array.from({ length: 900 }, (_, n) => `X-${n}: v`), 200],
  ['1100 short lines', Array.from({ length: 1100 }, (_, n) => `X-${n}: v`), 502],
  ['70 KB in one field', [`X-Long: ${'v'.repeat(70_000)}`], 502],
  ['70 KB in many', Array.from({ length: 70 }, (_, n) => `X-${n}: ${'v'.repeat(1000)}`), 502],
] as const) {
  test(`B43 a reply head of ${name} is passed on whole, or told once as too large: ${status}`, async (t) => {
    for (const tls of [false, true]) {
      const origin = await farOrigin(t, [reply(200, 'ok', ...fields)], { tls });
      const wire = await startWire(t, [QUICK]);
      const got = await fetchOver(wire, origin.url);
      assert.equal(got.status, status);
      assert.equal(origin.hits.length, 1);
      if (status === 200) {
        for (const line of fields) assert.ok(got.head.includes(`\r\n${line}\r\n`));
        continue;
      }
      assert.match(got.field('Proxy-Status') ?? '', /error=http_response_header_section_size/);
      assert.deepEqual(wire.told('breaker_changed'), []);
    }
  });
}

const BOTH =
  'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n';

test('B47 a reply with two framings that is cut short is still refused once: its framing is in doubt, not its end', async (t) => {
  const origin = await farOrigin(t, [(socket) => void socket.end(`${BOTH}5\r\nhe`), OK]);
  const wire = await startWire(t, [QUICK]);
  const got = await fetchOver(wire, origin.url);
  assert.equal(got.status, 502);
  assert.match(got.field('Proxy-Status') ?? '', /error=http_protocol_error/);
  assert.equal(origin.hits.length, 1);
});

test('B47 with lenient the chunks count: whole it is delivered under one framing, cut short it is asked for again', async (t) => {
  const lenient = QUICK.replace('{ max', '{ lenient: true, max');
  const whole = await farOrigin(t, [`${BOTH}5\r\nhello\r\n0\r\n\r\n`]);
  const wire = await startWire(t, [lenient]);
  const got = await fetchOver(wire, whole.url);
  assert.equal(got.status, 200);
  assert.ok(got.body.includes('hello'));
  const framings = got.head.match(/^(content-length|transfer-encoding):/gim) ?? [];
  assert.equal(framings.length, 1, String(framings));
  assert.equal(whole.hits.length, 1);
  const cut = await farOrigin(t, [(socket) => void socket.end(`${BOTH}5\r\nhe`), OK], {
    name: 'p.test',
  });
  const healed = await fetchOver(wire, cut.url);
  assert.deepEqual([healed.status, healed.body, cut.hits.length], [200, 'ok', 2]);
});

test('B54 a body until close comes in chunks, as HTTP/1.1, and the client’s connection goes on', async (t) => {
  for (const [version, fields] of [
    ['1.0', ''],
    ['1.1', 'Connection: close\r\n'],
  ] as const) {
    const origin = await farOrigin(t, [
      (socket) =>
        void socket.end(
          `HTTP/${version} 200 OK\r\nContent-Type: text/html\r\n${fields}\r\n<html>x</html>`,
        ),
    ]);
    const wire = await startWire(t, [QUICK]);
    const socket = await wire.dial();
    for (let n = 1; n <= 2; n++) {
      socket.write(`GET ${origin.url} HTTP/1.1\r\nHost: o.test\r\n\r\n`);
      const got = await heard(socket, (text) => text.endsWith('0\r\n\r\n'));
      assert.match(got, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(got, /<html>x<\/html>/);
      assert.doesNotMatch(got, /connection: close/i);
      assert.equal(origin.hits.length, n);
    }
  }
});

test('B54 a body until close that lacks what it must end with is asked for again', async (t) => {
  const untilClose = (body: string) => (socket: Socket) =>
    void socket.end(`HTTP/1.0 200 OK\r\n${HTML}\r\n\r\n${body}`);
  const origin = await farOrigin(t, [untilClose('<html>half'), untilClose('<html>whole</html>')]);
  const wire = await startWire(t, [
    'policy: { backoff: { base: 1ms }, expect: [{ body_contains: "</html>", else: transient }] }',
  ]);
  const got = await fetchOver(wire, origin.url);
  assert.equal(got.status, 200);
  assert.ok(got.body.includes('whole'));
  assert.equal(origin.hits.length, 2);
});

test('B60 a client that pauses for longer than the origin may gets all of it, since the pause is its own', async (t) => {
  const idleMs = 800;
  const size = 24 * 1024 * 1024;
  const wire = await startWire(t, [`policy: { timeouts: { idle: ${idleMs}ms } }`]);
  const origin = await farOrigin(t, [
    (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, 'z'));
    },
  ]);
  const socket = connect(wire.port, '127.0.0.1');
  socket.write(`GET ${origin.url} HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\n\r\n`);
  await once(socket, 'readable');
  // Its own limit is four of these spans; ten minutes are within it once timeouts.idle is 3m.
  await pause(3 * idleMs);
  let got = 0;
  socket.on('data', (piece) => {
    got += piece.length;
  });
  await once(socket, 'close');
  assert.ok(got > size, `${got} of ${size}`);
  assert.equal(wire.told('exchange_finished')[0]?.answered, 200);
});

test('B60 a stream that goes silent is broken off at the idle limit, and leaves no socket', async (t) => {
  const origin = await farOrigin(t, [
    (socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 999\r\n\r\nhalf'),
  ]);
  const wire = await startWire(t, [QUICK.replace('{ max', '{ resume_downloads: false, max')]);
  const { all } = begin(
    wire.port,
    `GET ${origin.url} HTTP/1.1\r\nHost: o.test\r\nConnection: close\r\n\r\n`,
  );
  const got = parsed(await all);
  assert.deepEqual([got.status, got.body], [200, 'half']);
  await until(() => wire.told('exchange_finished').length === 1);
  assert.equal(wire.told('exchange_finished')[0]?.answered, 'broken_off');
  await until(() => origin.open === 0 && wire.proxy.activity().sockets === 0);
});

test('B71 a Retry-After of 0 at every try: no more tries than allowed, further and further apart', async (t) => {
  const origin = await farOrigin(t, [reply(429, '', 'Retry-After: 0')]);
  const wire = await startWire(t, [
    'policy: { max_rate_waits: 3, backoff: { base: 150ms, jitter: 0.1 } }',
  ]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.field('Forbear-Stop')], [429, 'rate_waits_exhausted']);
  assert.equal(origin.hits.length, 4);
  const [one = 0, two = 0, three = 0] = origin.hits
    .slice(1)
    .map(({ at }, n) => at - (origin.hits[n]?.at ?? 0));
  assert.ok(one >= 130 && two > one * 1.3 && three > two * 1.3, `${[one, two, three]}`);
});

test('B87 a body that never comes behind its 100 reaches no origin', async (t) => {
  const origin = await farOrigin(t, [silence]);
  const wire = await startWire(t, [QUICK]);
  const { socket } = begin(
    wire.port,
    `POST ${origin.url} HTTP/1.1\r\nHost: o.test\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n`,
  );
  await heard(socket, (text) => text.includes(' 100 '));
  socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
  assert.equal(origin.hits.length, 0);
});
