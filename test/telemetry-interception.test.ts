import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { loadConfig } from '../src/config/load.ts';
import type { ProxyEvent } from '../src/telemetry/events.ts';
import { Interception } from '../src/telemetry/interception.ts';
import { good, root } from './support/certificates.ts';
import { type ClientWire, heard, startWire } from './support/client-wire.ts';

const TIMES = 40;

/** One request in TLS of its own; its status. */
async function ask(wire: ClientWire, authority: string, ca: string): Promise<string> {
  const socket = await wire.secure(authority, { ca });
  socket.write(`GET / HTTP/1.1\r\nHost: ${authority}\r\nConnection: close\r\n\r\n`);
  const reply = await heard(socket, (text) => text.includes('\r\n\r\n'));
  socket.destroy();
  return reply.slice(9, 12);
}

test('a site that refuses opened TLS and serves sealed tunnels is told apart, with what to do', {
  timeout: 60_000,
}, async (t) => {
  let status = 403;
  const site = createServer(good, (_, reply) => reply.writeHead(status).end('page'));
  site.listen(0, '127.0.0.1');
  await once(site, 'listening');
  t.after(() => {
    site.close();
    site.closeAllConnections();
  });
  const authority = `o.test:${(site.address() as AddressInfo).port}`;
  const wire = await startWire(t, [
    'policy: { max_attempts: 1, dead_letters: { enabled: false } }',
  ]);
  const watch = new Interception();
  wire.proxy.subscribe(watch.record);
  for (let n = 0; n < TIMES; n += 1) assert.equal(await ask(wire, authority, wire.caPem), '403');
  const [alone] = watch.view(Date.now());
  assert.equal(alone?.lane, authority);
  assert.equal(Math.round(alone?.intercepted.blocked ?? 0), TIMES);
  assert.equal(alone?.advice?.kind, 'compare');

  const sealed = loadConfig({
    ...{ file: undefined, env: {}, flags: {} },
    text: 'listen: 127.0.0.1:0\nintercept: { mode: none }',
  });
  assert.equal(sealed.kind, 'ok');
  if (sealed.kind === 'ok') wire.proxy.reload(sealed.config);
  status = 200;
  for (let n = 0; n < TIMES; n += 1) assert.equal(await ask(wire, authority, root), '200');
  const [both] = watch.view(Date.now());
  assert.equal(Math.round(both?.tunnelled.attempts ?? 0), TIMES);
  assert.equal(Math.round(both?.tunnelled.blocked ?? 9), 0);
  assert.equal(both?.advice?.kind, 'seal');
});

test('what is old fades, and only the lanes of late are kept', () => {
  const watch = new Interception();
  const failed = (host: string, at: number): ProxyEvent => ({
    ...{ type: 'client_tls_failed', host, at, detail: 'unknown ca' },
  });
  for (let n = 0; n < 8; n += 1) watch.record(failed('a.test', 0));
  assert.equal(watch.view(0)[0]?.untrusted, 8);
  assert.equal(watch.view(0)[0]?.advice?.kind, 'install_ca');
  assert.equal(watch.view(6 * 3_600_000)[0]?.untrusted, 4);
  assert.equal(watch.view(48 * 3_600_000)[0]?.advice, null);
  for (let n = 0; n < 3_000; n += 1) watch.record(failed(`${n}.test`, 1));
  assert.equal(watch.view(1).length, 2_000);
});
