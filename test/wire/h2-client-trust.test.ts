import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import { connectTo } from '../support/client-wire.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { got, HOST, h2Client, rawH2, rigFor, secure, tunnel } from './h2-client-rig.ts';
import { dial, failedWith, type Rig, until } from './listener-rig.ts';

function rigWith(t: TestContext, onUntrusted: 'fail' | 'tunnel', clock?: FakeClock): Promise<Rig> {
  return rigFor(t, {
    config: { intercept: { mode: 'all', except: [], only: [], onUntrusted } },
    runTunnel: async () => failedWith('connection_refused', 'dial'),
    ...(clock !== undefined && { clock }),
  });
}

/** A CONNECT that is opened is answered 200 at once; a blind one by what its far leg comes to, here a 502. */
async function isOpened(rig: Rig, host: string, ...fields: string[]): Promise<boolean> {
  const socket = await dial(rig.port);
  socket.write(connectTo(`${host}:443`, ...fields));
  const head = await until(socket, (text) => text.includes('\r\n'));
  socket.destroy();
  return head.startsWith('HTTP/1.1 200 ');
}

/** A client like Node's: it looks at the certificate when the handshake is done. */
async function refuseLate(rig: Rig, ...fields: string[]): Promise<void> {
  const socket = await tunnel(rig, `${HOST}:443`, ...fields);
  const inner = tls.connect({ socket, servername: HOST, ca: [], ALPNProtocols: ['h2'] });
  const [error] = (await once(inner, 'error')) as [NodeJS.ErrnoException];
  assert.match(error.code ?? '', /CERT|VERIFY/);
}

const failures = (rig: Rig) => rig.events.filter(({ type }) => type === 'client_tls_failed');

test('with on_untrusted: tunnel, a client that refuses the certificate behind the handshake is passed through next time, there and nowhere else', async (t) => {
  const rig = await rigWith(t, 'tunnel');
  const job = `Proxy-Authorization: Basic ${Buffer.from('job:x').toString('base64')}`;
  await refuseLate(rig, job);
  const told = await rig.event('client_tls_failed');
  assert.equal(told.host, HOST);
  assert.equal(await isOpened(rig, HOST, job), false);
  assert.equal(await isOpened(rig, 'other.test', job), true);
  assert.equal(await isOpened(rig, HOST), true, 'another client is not meant');
});

test('one that leaves on seeing the certificate, without a word, is passed through next time', async (t) => {
  const rig = await rigWith(t, 'tunnel');
  const socket = await tunnel(rig);
  const hello = await clientHello();
  socket.write(hello);
  // ServerHello and what follows it.
  await once(socket, 'data');
  socket.destroy();
  await rig.event('client_tls_failed');
  assert.equal(await isOpened(rig, HOST), false);
});

test('with on_untrusted: fail it fails again, each time with the hint', async (t) => {
  const rig = await rigWith(t, 'fail');
  for (let round = 1; round <= 2; round += 1) {
    await refuseLate(rig);
    while (failures(rig).length < round) await new Promise(setImmediate);
    assert.equal(await isOpened(rig, HOST), true);
  }
});

test('a handshake that is never finished says nothing about trust', async (t) => {
  const clock = new FakeClock();
  const rig = await rigWith(t, 'tunnel', clock);
  const socket = await tunnel(rig);
  socket.write(await clientHello());
  await once(socket, 'data');
  await clock.advance(10_000);
  const { detail } = await rig.event('client_tls_failed');
  assert.match(detail, /took too long/);
  assert.equal(await isOpened(rig, HOST), true);
});

test('a client that has asked for something, or idled first, trusts the certificate', async (t) => {
  const clock = new FakeClock();
  const rig = await rigWith(t, 'tunnel', clock);
  const client = await h2Client(rig);
  await got(client.request({ ':path': '/' }));
  client.destroy();
  const preface = await rawH2(rig);
  preface.socket.destroy();
  const warmed = await secure(rig, await tunnel(rig), { ALPNProtocols: ['http/1.1'] });
  while (rig.listener.openConnections() !== 1) await new Promise(setImmediate);
  // Answered, so both ends are through with the handshake.
  warmed.write('OPTIONS * HTTP/1.1\r\nHost: o.test\r\n\r\n');
  await once(warmed, 'data');
  warmed.destroy();
  while (rig.listener.openConnections() > 0) await new Promise(setImmediate);
  assert.deepEqual(failures(rig), []);
  assert.equal(await isOpened(rig, HOST), true);
});

/** The first flight of Node's client. */
async function clientHello(): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>();
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      resolve(chunk);
      done();
    },
  });
  tls.connect({ socket, servername: HOST }).on('error', () => {});
  return promise;
}
