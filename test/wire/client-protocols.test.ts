import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { HOST, rigFor, secure, tunnel } from './h2-client-rig.ts';
import { dial, replyWith, untilClosed } from './listener-rig.ts';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const CONTENT = 'as it is';

test('a client that begins with HTTP/2 is told in frames that HTTP/1.1 is required', async (t) => {
  const rig = await rigFor(t);
  const socket = await dial(rig.port);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.end(Buffer.concat([Buffer.from(PREFACE), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]));
  await once(socket, 'close');
  const told = Buffer.concat(chunks);
  assert.deepEqual([...told.subarray(0, 9)], [0, 0, 0, 4, 0, 0, 0, 0, 0], 'no SETTINGS first');
  const goAway = told.subarray(9);
  assert.equal(goAway.readUIntBE(0, 3), goAway.length - 9);
  assert.deepEqual([...goAway.subarray(3, 9)], [7, 0, 0, 0, 0, 0]);
  assert.deepEqual([goAway.readUInt32BE(9), goAway.readUInt32BE(13)], [0, 13]);
  assert.match(goAway.toString('latin1', 17), /asked by HTTP\/1\.1/);
  assert.equal(rig.seen.length, 0);
});

test('a client that offers http/1.0 alone inside TLS is served', async (t) => {
  const rig = await rigFor(t, { run: async () => replyWith({ body: CONTENT }) });
  const inner = await secure(rig, await tunnel(rig), { ALPNProtocols: ['http/1.0'] });
  assert.equal(inner.alpnProtocol, 'http/1.0');
  inner.write(`GET / HTTP/1.0\r\nHost: ${HOST}\r\n\r\n`);
  assert.match(await untilClosed(inner), new RegExp(`^HTTP/1\\.1 200 [^]*\r\n\r\n${CONTENT}$`));
});

test('what is better than http/1.0 is taken where it is offered', async (t) => {
  const rig = await rigFor(t);
  for (const [offered, taken] of [
    [['http/1.0', 'http/1.1'], 'http/1.1'],
    [['http/1.0', 'http/1.1', 'h2'], 'h2'],
  ] as const) {
    const inner = await secure(rig, await tunnel(rig), { ALPNProtocols: [...offered] });
    assert.equal(inner.alpnProtocol, taken);
    inner.destroy();
  }
});

test('the CA is sent behind the leaf, where clients look for the key they were told to trust', async (t) => {
  const rig = await rigFor(t);
  const inner = await secure(rig, await tunnel(rig), { ca: [], rejectUnauthorized: false });
  // Nothing but what was sent can be in this chain: no authority is known here.
  const { issuerCertificate } = inner.getPeerCertificate(true);
  const pem = issuerCertificate.raw
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n');
  assert.ok(rig.authority.caPem.includes(pem ?? 'none'));
});
