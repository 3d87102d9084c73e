import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heardToEnd, startWire, statuses } from '../support/client-wire.ts';
import { onHead, rawServer, until } from '../support/raw-server.ts';

const BROKEN = 'Transfer-Encoding: chunked\r\n\r\nno size\r\n';

test('an upload that is no HTTP does not take the place of the answer that is owed before it', async (t) => {
  const wire = await startWire(t);
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  const origin = await rawServer((socket) =>
    onHead(socket, async () => {
      await mayAnswer;
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood');
    }),
  );
  t.after(() => origin.close());
  const authority = `o.test:${origin.port}`;
  const socket = await wire.dial();
  const host = `Host: ${authority}\r\n`;
  socket.write(
    `GET http://${authority}/ HTTP/1.1\r\n${host}\r\nPOST http://${authority}/ HTTP/1.1\r\n${host}${BROKEN}`,
  );
  await until(() => origin.heard.length > 0);
  answer();
  const all = await heardToEnd(socket);
  assert.deepEqual(statuses(all), [200, 400]);
  assert.equal(origin.heard.join('').includes('POST'), false);
});

test('an upload that breaks behind its answer gets no second answer', async (t) => {
  const wire = await startWire(t);
  const socket = await wire.dial();
  const all = heardToEnd(socket);
  const fields = 'Host: o.test\r\nForbear-Nonsense: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
  socket.write(`POST http://o.test/ HTTP/1.1\r\n${fields}`);
  await until(() => wire.told('request_refused').length > 0);
  socket.write('no size\r\n');
  assert.deepEqual(statuses(await all), [400]);
});
