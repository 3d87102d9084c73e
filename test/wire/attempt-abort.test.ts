import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type { Stage } from '../../src/exchange/ports.ts';
import {
  attemptsFor,
  bodyOf,
  direct,
  exchangeTo,
  failureOf,
  routeOver,
} from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, rawServer, type Serve, until } from '../support/raw-server.ts';

const HTML = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

test('an abort ends the attempt in every phase, and no socket or timer is left', async (t) => {
  const silent: Serve = () => {};
  const cases: readonly (readonly [
    string,
    Serve,
    'direct' | 'http' | 'socks5' | 'https',
    Stage['kind'],
  ])[] = [
    ['CONNECT reply', silent, 'http', 'dialling'],
    ['SOCKS greeting', silent, 'socks5', 'dialling'],
    ['TLS to the upstream', silent, 'https', 'dialling'],
    [
      'TLS to the origin',
      (socket) => onHead(socket, () => socket.write('HTTP/1.1 200 OK\r\n\r\n')),
      'http',
      'dialling',
    ],
    ['first byte', silent, 'direct', 'awaiting_reply'],
    [
      'held body',
      (socket) => onHead(socket, () => socket.write(`${HTML}Content-Length: 9\r\n\r\npart`)),
      'direct',
      'receiving',
    ],
  ];
  for (const [name, serve, kind, stage] of cases) {
    const server = await rawServer(serve);
    t.after(() => server.close());
    const clock = new FakeClock();
    const attempts = attemptsFor(t, { clock });
    const gone = new AbortController();
    const exchange = exchangeTo(server, {
      scheme: kind === 'direct' ? 'http' : 'https',
      signal: gone.signal,
    });
    const route = kind === 'direct' ? direct : routeOver(server, { kind });
    const pending = attempts.attempt(exchange, route);
    await until(() => exchange.stage.kind === stage && (server.heard[0] ?? '') !== '');
    gone.abort();
    const received = await pending;
    await received.closed;
    assert.equal(received.deliverable, false, name);
    if (stage !== 'receiving') {
      const failure = failureOf(received);
      assert.deepEqual([failure.code, failure.leg], ['aborted', 'local'], name);
    }
    await until(() => attempts.openSockets() === 0 && server.open === 0);
    assert.equal(clock.pending, 0, name);
  }
});

test('an abort while a name is being resolved does not wait for the resolver', async (t) => {
  const attempts = attemptsFor(t, { resolve: () => new Promise(() => {}) });
  const gone = new AbortController();
  const pending = attempts.attempt(
    exchangeTo({ host: 'o.test', port: 80 }, { signal: gone.signal }),
    direct,
  );
  gone.abort();
  assert.deepEqual(failureOf(await pending).code, 'aborted');
});

test('a name that comes too late is not dialled any more', async (t) => {
  const server = await rawServer(() => {});
  t.after(() => server.close());
  const late = Promise.withResolvers<{ address: string; family: number }[]>();
  const attempts = attemptsFor(t, { resolve: () => late.promise });
  const gone = new AbortController();
  const pending = attempts.attempt(
    exchangeTo(server, { host: 'o.test', signal: gone.signal }),
    direct,
  );
  gone.abort();
  await pending;
  late.resolve([{ address: '127.0.0.1', family: 4 }]);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([attempts.openSockets(), server.accepted], [0, 0]);
});

test('an exchange that is over before its attempt is not sent', async (t) => {
  const server = await rawServer(() => {});
  t.after(() => server.close());
  const attempts = attemptsFor(t);
  const received = await attempts.attempt(
    exchangeTo(server, { signal: AbortSignal.abort() }),
    direct,
  );
  assert.deepEqual([failureOf(received).code, server.accepted], ['aborted', 0]);
});

test('a reader that leaves, and a client that leaves, both end a stream', async (t) => {
  const server = await rawServer((socket) =>
    onHead(socket, () => socket.write('HTTP/1.1 200 OK\r\nContent-Type: image/x\r\n\r\npart')),
  );
  t.after(() => server.close());
  const attempts = attemptsFor(t);
  const gone = new AbortController();
  const left = await attempts.attempt(exchangeTo(server), direct);
  const aborted = await attempts.attempt(exchangeTo(server, { signal: gone.signal }), direct);
  left.response?.body.destroy();
  gone.abort();
  await Promise.all([left.closed, aborted.closed]);
  assert.equal(aborted.response?.body.destroyed, true);
  assert.deepEqual([left.deliverable, aborted.deliverable], [false, false]);
  await until(() => attempts.openSockets() === 0 && server.open === 0);
});

test('an origin that does not take an upload is timed out', async (t) => {
  const server = await rawServer((socket) => socket.pause());
  t.after(() => server.close());
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const pieces = function* () {
    for (let i = 0; i < 1000; i++) yield Buffer.alloc(64 * 1024);
  };
  const open = () => Readable.from(pieces(), { objectMode: false });
  const body = { ...bodyOf(Buffer.alloc(0), 'chunked'), open };
  const pending = attempts.attempt(exchangeTo(server, { method: 'POST', body }), direct);
  let settled = false;
  void pending.then(() => {
    settled = true;
  });
  await until(() => server.accepted === 1);
  while (!settled) await clock.advance(10_000);
  const failure = failureOf(await pending);
  assert.deepEqual(
    [failure.code, failure.phase, failure.leg, failure.sent],
    ['timeout', 'send', 'origin', true],
  );
  await until(() => attempts.openSockets() === 0);
  assert.equal(clock.pending, 0);
});

test('a client that is slow with its body is not taken for a slow origin', async (t) => {
  const server = await rawServer(() => {});
  t.after(() => server.close());
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const pass = new Readable({ read() {} });
  pass.push('part');
  const body = { ...bodyOf(Buffer.alloc(0), 'chunked'), open: () => pass };
  const gone = new AbortController();
  const exchange = exchangeTo(server, { method: 'POST', body, signal: gone.signal });
  const pending = attempts.attempt(exchange, direct);
  await until(() => (server.heard[0] ?? '').includes('part'));
  await clock.advance(300_000);
  assert.equal(exchange.stage.kind, 'awaiting_reply');
  gone.abort();
  assert.equal(failureOf(await pending).code, 'aborted');
});

test('no reply within first_byte is a timeout of the origin', async (t) => {
  const server = await rawServer(() => {});
  t.after(() => server.close());
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const pending = attempts.attempt(exchangeTo(server), direct);
  await until(() => (server.heard[0] ?? '') !== '');
  await clock.advance(30_000);
  const failure = failureOf(await pending);
  assert.deepEqual(
    [failure.code, failure.phase, failure.leg, failure.sent],
    ['timeout', 'first_byte', 'origin', true],
  );
  await until(() => attempts.openSockets() === 0);
  assert.equal(clock.pending, 0);
});
