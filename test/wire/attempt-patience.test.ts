import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attemptsFor, direct, exchangeTo, failureOf, responseOf } from '../support/attempts.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

test('the patience of the client ends an attempt that nothing can be said about yet', async (t) => {
  for (const reply of ['', `${HEAD}Content-Length: 9\r\n\r\npart`]) {
    const server = await rawServer((socket) => onHead(socket, () => socket.write(reply)));
    t.after(() => server.close());
    const clock = new FakeClock();
    const attempts = attemptsFor(t, { clock });
    const exchange = { ...exchangeTo(server), deadline: clock.now() + 2000 };
    const attempt = attempts.attempt(exchange, direct);
    await until(() => exchange.stage.kind === (reply === '' ? 'awaiting_reply' : 'receiving'));
    await clock.advance(2000);
    const received = await attempt;
    assert.equal(failureOf(received).code, 'patience');
    assert.equal(received.deliverable, false);
    assert.equal(clock.pending, 0);
  }
});

test('a body that streams is not bounded by the patience', async (t) => {
  const server = await rawServer((socket) =>
    onHead(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\nab');
      setTimeout(() => socket.write('cd'), 300);
    }),
  );
  t.after(() => server.close());
  const attempts = attemptsFor(t);
  const now = performance.timeOrigin + performance.now();
  const received = await attempts.attempt({ ...exchangeTo(server), deadline: now + 150 }, direct);
  assert.equal(responseOf(received).status, 200);
  const chunks = await received.response?.body.toArray();
  assert.equal(Buffer.concat(chunks ?? []).toString(), 'abcd');
});
