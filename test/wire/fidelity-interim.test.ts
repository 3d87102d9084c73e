import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Exchange } from '../../src/exchange/ports.ts';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  textOf,
} from '../support/attempts.ts';
import { ask } from '../support/client-wire.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, rawServer, replying, until } from '../support/raw-server.ts';
import { scriptedSite, startProxy } from '../support/whole-proxy.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const HINT = 'HTTP/1.1 103 Early Hints\r\nlink: </a.css>\r\nLink: </b.js>; x=\xe9\r\n\r\n';

type Told = [status: number, rawHeaders: readonly string[]];

/** An exchange whose client takes interim replies. */
function informed(exchange: Exchange): { exchange: Exchange; told: Told[] } {
  const told: Told[] = [];
  const inform = (status: number, rawHeaders: readonly string[]) =>
    void told.push([status, rawHeaders]);
  return { exchange: { ...exchange, inform }, told };
}

test('interim replies go on as they come, names and order kept; a 100 was never asked for', async (t) => {
  const bytes = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n${HINT}${HINT}${OK}`;
  const origin = await rawServer(replying(Buffer.from(bytes, 'latin1')));
  t.after(() => origin.close());
  const { exchange, told } = informed(exchangeTo(origin));
  const received = await attemptsFor(t).attempt(exchange, direct);
  assert.equal(await textOf(received), 'ok');
  const hint = ['link', '</a.css>', 'Link', '</b.js>; x=\xe9'];
  assert.deepEqual(told, [
    [102, []],
    [103, hint],
    [103, hint],
  ]);
});

test('an interim reply goes on at once, long before the reply', async (t) => {
  const origin = await rawServer((socket) => onHead(socket, () => socket.write(HINT)));
  t.after(() => origin.close());
  const { exchange, told } = informed(exchangeTo(origin));
  const pending = attemptsFor(t).attempt(exchange, direct);
  await until(() => told.length === 1);
  await origin.close();
  assert.equal(failureOf(await pending).phase, 'first_byte');
});

test('what an interim reply must not say stays behind: framing, connection, our own fields, broken ones', async (t) => {
  const head =
    'HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: X\r\n' +
    'Forbear-Stop: x\r\nProxy-Status: x\r\nbad name: 1\r\nX-Nul: a\x00b\r\nX-Good: 1\r\n\r\n';
  const origin = await rawServer(replying(head + OK));
  t.after(() => origin.close());
  const { exchange, told } = informed(exchangeTo(origin));
  assert.equal(await textOf(await attemptsFor(t).attempt(exchange, direct)), 'ok');
  assert.deepEqual(told, [[103, ['X-Good', '1']]]);
});

test('an exchange without an ear for interim replies gets the reply alone', async (t) => {
  const origin = await rawServer(replying(HINT + OK));
  t.after(() => origin.close());
  const received = await attemptsFor(t).attempt(exchangeTo(origin), direct);
  assert.equal(await textOf(received), 'ok');
});

test('32 interim replies are taken; one more is a flood, and a malformed reply', async (t) => {
  for (const [count, outcome] of [
    [32, 'response'],
    [33, 'failure'],
  ] as const) {
    const origin = await rawServer(replying(HINT.repeat(count) + OK));
    t.after(() => origin.close());
    const attempts = attemptsFor(t);
    const { exchange, told } = informed(exchangeTo(origin));
    const received = await attempts.attempt(exchange, direct);
    assert.equal(received.reply.kind, outcome);
    assert.equal(told.length, 32);
    if (outcome === 'response') continue;
    assert.equal(failureOf(received).code, 'http_protocol');
    await until(() => attempts.openSockets() === 0);
  }
});

test('each interim reply is a sign of life: the time for the first byte begins anew', async (t) => {
  const clock = new FakeClock();
  const origin = await rawServer((socket) => onHead(socket, () => socket.write(HINT)));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t, { clock });
  const { exchange, told } = informed(
    exchangeTo(origin, { policy: { timeouts: { firstByteMs: 1000 } } }),
  );
  let settled = false;
  const pending = attempt(exchange, direct).finally(() => {
    settled = true;
  });
  await until(() => told.length === 1);
  await clock.advance(900);
  assert.equal(settled, false);
  await clock.advance(200);
  const failure = failureOf(await pending);
  assert.deepEqual([failure.phase, failure.code], ['first_byte', 'timeout']);
});

test('nothing is told to a client that has left', async (t) => {
  const left = new AbortController();
  const origin = await rawServer((socket) => {
    onHead(socket, () => {
      left.abort();
      socket.write(HINT);
    });
  });
  t.after(() => origin.close());
  const attempts = attemptsFor(t);
  const { exchange, told } = informed(exchangeTo(origin, { signal: left.signal }));
  assert.equal(failureOf(await attempts.attempt(exchange, direct)).code, 'aborted');
  await until(() => attempts.openSockets() === 0);
  assert.deepEqual(told, []);
});

test('each try has its own count, and what is behind a head of 200 is no interim reply', async (t) => {
  const body = 'HTTP/1.1 103 Early Hints\r\n\r\n';
  const reply = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const origin = await rawServer(replying(HINT.repeat(20) + reply));
  t.after(() => origin.close());
  const { attempt } = attemptsFor(t);
  const { exchange, told } = informed(exchangeTo(origin));
  for (const tries of [1, 2]) {
    const received = await attempt(exchange, direct);
    assert.equal(responseOf(received).status, 200);
    assert.equal(await textOf(received), body);
    await received.closed;
    assert.equal(told.length, 20 * tries);
  }
  assert.equal(origin.accepted, 1);
});

test('a client sees the hints of every try, each of them once, and one reply', async (t) => {
  const throttled =
    'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0.1\r\nContent-Length: 0\r\n\r\n';
  const other = 'HTTP/1.1 103 Early Hints\r\nLink: </c.css>\r\n\r\n';
  const site = await scriptedSite(t, [{ bytes: HINT + throttled }, { bytes: HINT + other + OK }]);
  const { port } = await startProxy(t, ['policy: { annotate: false }']);
  const heard = await ask(
    { port },
    `GET ${site.url} HTTP/1.1\r\nHost: 127.0.0.1:${site.port}\r\nConnection: close\r\n\r\n`,
  );
  assert.deepEqual(
    [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status)),
    [103, 103, 200],
  );
  assert.match(heard, /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/a\.css>\r\nLink: <\/b\.js>; x=/);
  assert.match(heard, /\r\n\r\nok$/);
});
