import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heard, heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { onHead, rawServer } from '../support/raw-server.ts';

test('a head that goes out ahead of its body keeps its bytes above 0x7F', async (t) => {
  const wire = await startWire(t);
  const { promise: hasHead, resolve: go } = Promise.withResolvers<void>();
  const origin = await rawServer((socket) =>
    onHead(socket, async () => {
      const type = 'Content-Type: text/event-stream';
      socket.write(`HTTP/1.1 200 OK\r\n${type}\r\nX-Name: \xe9\xff\r\n\r\n`, 'latin1');
      await hasHead;
      socket.end('data: 1\n\n');
    }),
  );
  t.after(() => origin.close());
  const authority = `o.test:${origin.port}`;
  const socket = await wire.dial();
  const all = heardToEnd(socket);
  const head = heard(socket, (text) => text.includes('\r\n\r\n'));
  socket.write(
    `GET http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
  );
  assert.match(await head, /\r\nX-Name: \xe9\xff\r\n/);
  go();
  assert.ok((await all).includes('data: 1\n\n'));
});

test('a HEAD reply that announces trailers is passed on without them', async (t) => {
  const wire = await startWire(t);
  const origin = await rawServer((socket) =>
    onHead(socket, () => socket.end('HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nX-A: 1\r\n\r\n')),
  );
  t.after(() => origin.close());
  const authority = `o.test:${origin.port}`;
  const socket = await wire.dial();
  const all = heardToEnd(socket);
  socket.write(
    `HEAD http://${authority}/ HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`,
  );
  const text = await all;
  assert.deepEqual(statuses(text), [200]);
  assert.match(text, /\r\nX-A: 1\r\n/);
});
