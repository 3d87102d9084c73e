import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Attempts } from '../../src/attempt/attempt.ts';
import type { Exchange, Route } from '../../src/exchange/ports.ts';
import {
  attemptsFor,
  bodyOf,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  routeOver,
  textOf,
} from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, rawServer, replying, until } from '../support/raw-server.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** An origin whose sockets can be told to die at their next request. */
async function mortalOrigin(t: TestContext) {
  const sockets: Socket[] = [];
  const doomed = new Set<Socket>();
  const origin = await rawServer((socket) => {
    sockets.push(socket);
    onHead(socket, () => {
      if (doomed.has(socket)) socket.resetAndDestroy();
      else socket.write(OK);
    });
  });
  t.after(() => origin.close());
  return { origin, sockets, doom: () => sockets.map((socket) => doomed.add(socket)) };
}

async function fetchOk(attempts: Attempts, exchange: Exchange, route: Route): Promise<void> {
  const received = await attempts.attempt(exchange, route);
  assert.equal(await textOf(received), 'ok');
  await received.closed;
}

test('a connection is used again, and its idle limit is four seconds', async (t) => {
  const { origin } = await mortalOrigin(t);
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  await fetchOk(attempts, exchangeTo(origin), direct);
  await clock.advance(3900);
  await fetchOk(attempts, exchangeTo(origin), direct);
  assert.equal(origin.accepted, 1);
  await clock.advance(4100);
  await fetchOk(attempts, exchangeTo(origin), direct);
  assert.equal(origin.accepted, 2);
});

test('a GET on a socket that had died goes out again on a fresh one, in the same attempt', async (t) => {
  const { origin, doom } = await mortalOrigin(t);
  const attempts = attemptsFor(t);
  const first = await Promise.all(
    [1, 2, 3].map(() => attempts.attempt(exchangeTo(origin), direct)),
  );
  await Promise.all(first.map((received) => textOf(received)));
  assert.equal(origin.accepted, 3);
  doom();
  await fetchOk(attempts, exchangeTo(origin), direct);
  assert.equal(origin.accepted, 4, 'one fresh connection, not a try on each stale one');
  await until(() => attempts.openSockets() === 1);
});

test('a death on a fresh socket is a failure', async (t) => {
  const origin = await rawServer((socket) => onHead(socket, () => socket.resetAndDestroy()));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const failure = failureOf(await attempt(exchangeTo(origin), direct));
  assert.deepEqual(
    [failure.code, failure.phase, failure.leg, failure.sent],
    ['connection_reset', 'first_byte', 'origin', true],
  );
  assert.equal(origin.accepted, 1);
});

test('a POST that died on a used socket is not sent again', async (t) => {
  const { origin, doom } = await mortalOrigin(t);
  const { attempt } = attemptsFor(t);
  await textOf(await attempt(exchangeTo(origin), direct));
  doom();
  const post = exchangeTo(origin, { method: 'POST', body: bodyOf(Buffer.from('x')) });
  const failure = failureOf(await attempt(post, direct));
  assert.deepEqual([failure.code, failure.sent], ['connection_reset', true]);
  assert.equal(origin.accepted, 1);
});

test('a PUT whose body is not kept is not sent again either', async (t) => {
  const { origin, doom } = await mortalOrigin(t);
  const { attempt } = attemptsFor(t);
  await textOf(await attempt(exchangeTo(origin), direct));
  doom();
  const body = { ...bodyOf(Buffer.from('x')), replayable: false };
  const put = exchangeTo(origin, { method: 'PUT', body });
  assert.equal(failureOf(await attempt(put, direct)).code, 'connection_reset');
  assert.equal(origin.accepted, 1);
});

test('a POST does not ride on a socket that has been idle for half a second', async (t) => {
  const { origin } = await mortalOrigin(t);
  const clock = new FakeClock();
  const attempts = attemptsFor(t, { clock });
  const post = () => exchangeTo(origin, { method: 'POST' });
  await fetchOk(attempts, post(), direct);
  await clock.advance(400);
  await fetchOk(attempts, post(), direct);
  assert.equal(origin.accepted, 1);
  await clock.advance(600);
  await fetchOk(attempts, post(), direct);
  assert.equal(origin.accepted, 2);
});

test('what the server says about keeping alive is obeyed', async (t) => {
  for (const field of ['Connection: close', 'Keep-Alive: timeout=1']) {
    const origin = await rawServer(
      replying(
        `HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n${field}\r\nContent-Length: 2\r\n\r\nok`,
      ),
    );
    t.after(() => origin.close());
    const attempts = attemptsFor(t);
    await fetchOk(attempts, exchangeTo(origin), direct);
    await until(() => attempts.openSockets() === 0);
  }
});

test('a socket with bytes that nobody asked for is dropped', async (t) => {
  const { origin, sockets } = await mortalOrigin(t);
  const attempts = attemptsFor(t);
  await fetchOk(attempts, exchangeTo(origin), direct);
  sockets[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\npoison!');
  await until(() => attempts.openSockets() === 0);
  await fetchOk(attempts, exchangeTo(origin), direct);
  assert.equal(origin.accepted, 2);
});

test('routes, sessions and logins never share a socket', async (t) => {
  const upstream = await rawServer(replying(OK));
  t.after(() => upstream.close());
  const attempts = attemptsFor(t);
  const routes = [
    routeOver(upstream, { id: 'a' }),
    routeOver(upstream, { id: 'b' }),
    routeOver(upstream, { id: 'a', session: 's1' }),
    routeOver(upstream, { id: 'a', session: 's2' }),
    routeOver(upstream, { id: 'a', username: 'u', password: 'p' }),
    { ...routeOver(upstream, { id: 'a' }), generation: 1 },
  ];
  const target = { host: 'o.test', port: 80 };
  for (const route of [...routes, ...routes]) {
    await fetchOk(attempts, exchangeTo(target), route);
  }
  assert.equal(upstream.accepted, routes.length);
  await fetchOk(attempts, exchangeTo({ host: 'p.test', port: 80 }), routes[0] as Route);
  assert.equal(upstream.accepted, routes.length + 1, 'nor do targets');
});

test('a retired route loses its idle sockets at once, and its busy ones when they end', async (t) => {
  const sockets: Socket[] = [];
  const upstream = await rawServer((socket) => {
    sockets.push(socket);
    onHead(socket, (head) => socket.write(head.includes('/slow') ? OK.slice(0, -1) : OK));
  });
  t.after(() => upstream.close());
  const attempts = attemptsFor(t);
  const target = { host: 'o.test', port: 80 };
  const [a, b] = [routeOver(upstream, { id: 'a' }), routeOver(upstream, { id: 'b' })];
  const busy = attempts.attempt(exchangeTo(target, { path: '/slow' }), a);
  await until(() => sockets.length === 1 && upstream.heard[0] !== '');
  await fetchOk(attempts, exchangeTo(target), a);
  await fetchOk(attempts, exchangeTo(target), b);
  attempts.retire('a');
  await until(() => attempts.openSockets() === 2);
  sockets[0]?.write('k');
  assert.equal(await textOf(await busy), 'ok');
  await until(() => attempts.openSockets() === 1);
  await fetchOk(attempts, exchangeTo(target), b);
  assert.equal(upstream.accepted, 3, 'the other route kept its own');
  await fetchOk(attempts, exchangeTo(target), a);
  assert.equal(upstream.accepted, 4);
});

test('many requests over one socket leave no listeners behind', async (t) => {
  const { origin } = await mortalOrigin(t);
  const attempts = attemptsFor(t);
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const { signal } = new AbortController();
  for (let i = 0; i < 200; i++) {
    const received = await attempts.attempt(exchangeTo(origin, { signal }), direct);
    assert.equal(responseOf(received).status, 200);
    await textOf(received);
    await received.closed;
  }
  process.off('warning', onWarning);
  assert.deepEqual(warnings, []);
  assert.equal(origin.accepted, 1);
});
