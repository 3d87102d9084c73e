import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { PolicyPatch } from '../../src/config/config.ts';
import type { Received } from '../../src/exchange/ports.ts';
import {
  attemptsFor,
  direct,
  exchangeTo,
  failureOf,
  responseOf,
  textOf,
} from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, type RawServer, rawServer, type Serve, until } from '../support/raw-server.ts';

const HTML = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
const FILE = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n';

test('a body cut short is seen as such, and its reader gets what came and then an error', async (t) => {
  const cases = [
    [`${HTML}Content-Length: 1000\r\n\r\npart`, 'end'],
    [`${HTML}Content-Length: 1000\r\nConnection: close\r\n\r\npart`, 'end'],
    [`${HTML}Content-Length: 1000\r\n\r\npart`, 'reset'],
    [`${HTML}Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\n`, 'end'],
    [`${HTML}Transfer-Encoding: chunked\r\n\r\nff\r\npart`, 'end'],
  ] as const;
  for (const [bytes, then] of cases) {
    const sockets: Socket[] = [];
    const { attempts, server } = await scene(t, (socket) => {
      sockets.push(socket);
      onHead(socket, () => socket.write(bytes));
    });
    const exchange = exchangeTo(server);
    const pending = attempts.attempt(exchange, direct);
    // What waits to be read is lost in a reset, so it comes after the head was seen.
    await until(() => exchange.stage.kind === 'receiving');
    ending(sockets[0], then);
    const received = await pending;
    const { body } = responseOf(received);
    assert.deepEqual(
      body,
      { kind: 'seen', text: 'part', receivedBytes: 4, end: 'cut_short', coding: 'ok' },
      `${bytes} ${then}`,
    );
    await received.closed;
    assert.equal(await brokenText(received), 'part');
    await until(() => attempts.openSockets() === 0);
  }
});

test('a chunk size that is none makes the reply a malformed one, not one that was cut short', async (t) => {
  const bytes = `${HTML}Transfer-Encoding: chunked\r\n\r\n4\r\npart\r\nzz\r\n`;
  const { attempts, server } = await scene(t, (socket) =>
    onHead(socket, () => socket.write(bytes)),
  );
  const failure = failureOf(await attempts.attempt(exchangeTo(server), direct));
  assert.deepEqual([failure.phase, failure.code, failure.sent], ['body', 'http_protocol', true]);
  await until(() => attempts.openSockets() === 0);
});

test('a body that ends with its connection is whole', async (t) => {
  const { attempts, server } = await scene(t, (socket) =>
    onHead(socket, () => socket.end(`${HTML}\r\nall`)),
  );
  const received = await attempts.attempt(exchangeTo(server), direct);
  assert.equal(await textOf(received), 'all');
  assert.equal(sightOf(received).end, 'complete');
});

test('a compressed body that is half there is complete on the wire and cut short within', async (t) => {
  const page = gzipSync('<p>hello</p>'.repeat(4000));
  const half = page.subarray(0, page.length / 2);
  const head = `${HTML}Content-Encoding: gzip\r\nContent-Length: ${half.length}\r\n\r\n`;
  const { attempts, server } = await scene(t, answering(Buffer.concat([Buffer.from(head), half])));
  const received = await attempts.attempt(exchangeTo(server), direct);
  const sight = sightOf(received);
  assert.deepEqual([sight.end, sight.coding], ['complete', 'cut_short']);
  assert.match(sight.text, /^<p>hello/);
  assert.equal(await textOf(received), half.toString('latin1'), 'the encoded bytes are untouched');
});

test('a body that falls silent while it is held is stalled, and its socket is closed', async (t) => {
  const clock = new FakeClock();
  const { attempts, server } = await scene(
    t,
    answering(`${HTML}Content-Length: 9\r\n\r\npart`),
    clock,
  );
  const pending = attempts.attempt(exchangeTo(server), direct);
  await until(() => server.accepted === 1 && clock.pending > 0);
  const received = await windUntil(clock, pending);
  assert.equal(sightOf(received).end, 'stalled');
  assert.equal(await brokenText(received), 'part');
  await until(() => attempts.openSockets() === 0);
  assert.equal(clock.pending, 0, 'no timer is left');
});

test('a stream that falls silent is destroyed; one whose reader is slow is not', async (t) => {
  const clock = new FakeClock();
  const size = 1024 * 1024;
  const { attempts, server } = await scene(
    t,
    answering(`${FILE}Content-Length: ${size + 1}\r\n\r\n${'x'.repeat(size)}`),
    clock,
  );
  const received = await attempts.attempt(exchangeTo(server), direct);
  await clock.advance(600_000);
  assert.equal(received.deliverable, true, 'nobody has read yet, so nobody is silent');
  const body = received.response?.body;
  let read = 0;
  body?.on('data', (chunk) => {
    read += chunk.length;
  });
  await until(() => read === size);
  await clock.advance(29_000);
  assert.equal(body?.destroyed, false);
  await clock.advance(2_000);
  assert.equal(body?.destroyed, true);
  await received.closed;
});

test('a reader that is slow slows the origin down', async (t) => {
  let written = 0;
  const { attempts, server } = await scene(t, (socket) =>
    onHead(socket, () => {
      socket.write(`${FILE}\r\n`);
      const more = () => {
        while (written < 200 * 1024 * 1024) {
          written += 65_536;
          if (!socket.write(Buffer.alloc(65_536))) return;
        }
      };
      socket.on('drain', more);
      more();
    }),
  );
  const received = await attempts.attempt(exchangeTo(server), direct);
  let before = -1;
  while (before !== written) {
    before = written;
    for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(received.receivedBytes < 4 * 1024 * 1024, `${received.receivedBytes} bytes were taken`);
  received.response?.body.destroy();
  await received.closed;
  await until(() => attempts.openSockets() === 0);
});

test('events stream at once, and are not looked at', async (t) => {
  const sockets: Socket[] = [];
  const { attempts, server } = await scene(t, (socket) => {
    sockets.push(socket);
    onHead(socket, () =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'),
    );
  });
  const exchange = exchangeTo(server);
  const received = await attempts.attempt(exchange, direct);
  assert.equal(responseOf(received).body.kind, 'unseen');
  assert.equal(exchange.stage.kind, 'receiving');
  const events: string[] = [];
  received.response?.body.on('data', (chunk) => events.push(String(chunk)));
  for (const n of [1, 2, 3]) {
    sockets[0]?.write(`data: ${n}\n\n`);
    await until(() => events.length === n);
  }
  assert.equal(exchange.stage.kind, 'streaming');
});

test('a long body is released at the hold limit, and the rest streams', async (t) => {
  const policy: PolicyPatch = { inspect: { holdBytes: 1000, bytes: 100 } };
  const body = `${'a'.repeat(2000)}${'b'.repeat(3000)}`;
  const { attempts, server } = await scene(
    t,
    answering(`${HTML}Content-Length: 5000\r\n\r\n${body}`),
  );
  const received = await attempts.attempt(exchangeTo(server, { policy }), direct);
  const sight = sightOf(received);
  assert.equal(sight.text, 'a'.repeat(100));
  assert.ok(sight.receivedBytes >= 1000);
  assert.equal(await textOf(received), body);
});

test('a drip of unknown length is held for a time, unless something is expected of it', async (t) => {
  const clock = new FakeClock();
  const sockets: Socket[] = [];
  const { attempts, server } = await scene(
    t,
    (socket) => {
      sockets.push(socket);
      onHead(socket, () => socket.write(`${HTML}\r\nstart`));
    },
    clock,
  );
  const policy: PolicyPatch = { inspect: { holdMs: 2000 } };
  const drip = await windUntil(
    clock,
    attempts.attempt(exchangeTo(server, { policy }), direct),
    500,
  );
  assert.deepEqual([sightOf(drip).end, sightOf(drip).text], ['pending', 'start']);
  const pending = attempts.attempt(exchangeTo(server, { policy, expectText: 'end' }), direct);
  let settled = false;
  void pending.then(() => {
    settled = true;
  });
  await until(() => (server.heard[1] ?? '') !== '');
  await clock.advance(10_000);
  assert.equal(settled, false);
  sockets[1]?.end(' and end');
  assert.equal(sightOf(await pending).text, 'start and end');
});

function ending(socket: Socket | undefined, then: 'end' | 'reset' | 'stay'): void {
  if (then === 'end') socket?.end();
  if (then === 'reset') socket?.resetAndDestroy();
}

function answering(bytes: string | Buffer): Serve {
  return (socket) => onHead(socket, () => socket.write(bytes));
}

function sightOf(received: Received) {
  const { body } = responseOf(received);
  if (body.kind !== 'seen') throw new Error(`the body is ${body.kind}`);
  return body;
}

/** What a reader gets of a body before the error, which has to come. */
async function brokenText(received: Received): Promise<string> {
  let text = '';
  const reading = async () => {
    for await (const chunk of received.response?.body ?? []) text += String(chunk);
  };
  await assert.rejects(reading());
  return text;
}

/** Winds the clock on, in steps, until a promise settles. */
async function windUntil<T>(clock: FakeClock, pending: Promise<T>, stepMs = 1000): Promise<T> {
  let settled = false;
  void pending.finally(() => {
    settled = true;
  });
  while (!settled) await clock.advance(stepMs);
  return pending;
}

async function scene(t: TestContext, serve: Serve, clock?: FakeClock) {
  const server: RawServer = await rawServer(serve);
  t.after(() => server.close());
  return { server, attempts: attemptsFor(t, clock === undefined ? {} : { clock }) };
}
