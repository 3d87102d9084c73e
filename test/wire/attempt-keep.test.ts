import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { attemptsFor, direct, exchangeTo, textOf } from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, type RawServer, rawServer, type Serve, until } from '../support/raw-server.ts';

const FILE = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n';

test('keep reads a small rest into memory and frees the wire', async (t) => {
  const sockets: Socket[] = [];
  const { attempts, server } = await scene(t, (socket) => {
    sockets.push(socket);
    onHead(socket, () => socket.write(`${FILE}Content-Length: 8\r\n\r\npart`));
  });
  const received = await attempts.attempt(exchangeTo(server), direct);
  received.keep();
  sockets[0]?.write('rest');
  await received.closed;
  assert.equal(received.deliverable, true);
  assert.equal(await textOf(received), 'partrest');
});

test('keep gives up what is too long, comes too late or breaks off', async (t) => {
  const clock = new FakeClock();
  const cases = [
    [`${FILE}Content-Length: 9000000\r\n\r\npart`, 'stay', 0],
    [`${FILE}\r\n${'x'.repeat(300 * 1024)}`, 'stay', 0],
    [`${FILE}Content-Length: 8\r\n\r\npart`, 'stay', 6000],
    [`${FILE}Content-Length: 8\r\n\r\npart`, 'end', 0],
  ] as const;
  for (const [bytes, then, ms] of cases) {
    const { attempts, server } = await scene(
      t,
      (socket) => onHead(socket, () => socket.write(bytes, () => ending(socket, then))),
      clock,
    );
    const received = await attempts.attempt(exchangeTo(server), direct);
    received.keep();
    await clock.advance(ms);
    await received.closed;
    assert.equal(received.deliverable, false, bytes.slice(0, 90));
    await until(() => attempts.openSockets() === 0);
  }
});

test('a short rest of a discarded body is read, which saves the connection; a long one is not', async (t) => {
  const sockets: Socket[] = [];
  const { attempts, server } = await scene(t, (socket) => {
    sockets.push(socket);
    onHead(socket, (head) => {
      const size = head.includes('/big') ? 10_000_000 : 8;
      socket.write(`${FILE}Content-Length: ${size}\r\n\r\npart`);
    });
  });
  const small = await attempts.attempt(exchangeTo(server), direct);
  small.discard();
  assert.equal(small.deliverable, false);
  sockets[0]?.write('rest');
  await small.closed;
  const big = await attempts.attempt(exchangeTo(server, { path: '/big' }), direct);
  assert.equal(server.accepted, 1, 'the connection was saved');
  big.discard();
  await big.closed;
  await until(() => attempts.openSockets() === 0);
});

test('a discarded body that does not end within a second is cut off', async (t) => {
  const clock = new FakeClock();
  const { attempts, server } = await scene(t, answering(`${FILE}\r\npart`), clock);
  const received = await attempts.attempt(exchangeTo(server), direct);
  received.discard();
  await clock.advance(1000);
  await received.closed;
  await until(() => attempts.openSockets() === 0);
  assert.equal(clock.pending, 0);
});

function ending(socket: Socket | undefined, then: 'end' | 'reset' | 'stay'): void {
  if (then === 'end') socket?.end();
  if (then === 'reset') socket?.resetAndDestroy();
}

function answering(bytes: string | Buffer): Serve {
  return (socket) => onHead(socket, () => socket.write(bytes));
}

async function scene(t: TestContext, serve: Serve, clock?: FakeClock) {
  const server: RawServer = await rawServer(serve);
  t.after(() => server.close());
  return { server, attempts: attemptsFor(t, clock === undefined ? {} : { clock }) };
}
