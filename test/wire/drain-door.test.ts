import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { replyWith, startRig } from './listener-rig.ts';

const GET = 'GET http://site.test/ HTTP/1.1\r\nHost: site.test\r\n\r\n';
const answering = async () => replyWith({ rawHeaders: ['Content-Length', '2'], body: 'ok' });

/** The next whole reply on a connection; rejects when there is none. */
async function nextReply(socket: Socket): Promise<string> {
  let text = '';
  while (!text.endsWith('ok')) {
    const [chunk] = await Promise.race([
      once(socket, 'data'),
      once(socket, 'close').then(() => assert.fail(`closed after ${JSON.stringify(text)}`)),
    ]);
    text += chunk;
  }
  return text;
}

test('a request on an idle connection is answered when it crosses with the end of listening', async () => {
  const rig = await startRig({ run: answering });
  const socket = connect(rig.port, '127.0.0.1');
  socket.write(GET);
  assert.doesNotMatch(await nextReply(socket), /^connection: close/im);
  await rig.listener.stopAccepting();
  assert.equal(rig.listener.address(), undefined);
  socket.write(GET);
  assert.match(await nextReply(socket), /^connection: close/im);
  socket.destroy();
  await rig.stop();
});

test('whoever the system has let in already is answered, and only then is the door shut', async () => {
  const rig = await startRig({ run: answering });
  const sockets = Array.from({ length: 30 }, () => connect(rig.port, '127.0.0.1'));
  const connected = Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const replies = sockets.map((socket) => {
    socket.write(GET);
    return nextReply(socket);
  });
  await connected;
  const shut = rig.listener.stopAccepting();
  assert.notEqual(rig.listener.address(), undefined);
  assert.equal((await Promise.all(replies)).length, 30);
  await shut;
  assert.equal(rig.listener.address(), undefined);
  await rig.stop();
});
