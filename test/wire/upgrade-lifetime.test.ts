import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { rawServer, until } from '../support/raw-server.ts';
import { handshake, open, SWITCH, switchingSite, type Talker } from '../support/switching.ts';
import { get, startProxy, type WholeProxy } from '../support/whole-proxy.ts';

async function site(t: TestContext, steps: Parameters<typeof switchingSite>[0]) {
  const heads: string[] = [];
  const sockets: Socket[] = [];
  const server = await rawServer(switchingSite(steps, heads, sockets));
  t.after(() => server.close());
  const host = `127.0.0.1:${server.port}`;
  return { heads, sockets, server, host, url: `http://${host}/chat` };
}

async function switched({ port }: WholeProxy, { url, host }: { url: string; host: string }) {
  const client: Talker = await open(port, handshake(url, host));
  await client.hears('\r\n\r\n');
  return client;
}

const idle = { connections: 0, exchanges: 0, sockets: 0 };

test('a reset of either side after the switch ends both, and nothing is left behind', async (t) => {
  const origin = await site(t, [SWITCH]);
  const whole = await startProxy(t, []);
  for (let round = 0; round < 10; round += 1) {
    const mine = await switched(whole, origin);
    mine.socket.resetAndDestroy();
    await until(() => origin.server.open === 0);
    const theirs = await switched(whole, origin);
    origin.sockets.at(-1)?.resetAndDestroy();
    await theirs.closed;
    await Promise.all([whole.finished(), whole.finished()]);
  }
  await until(() => whole.proxy.activity().connections === 0);
  assert.deepEqual(whole.proxy.activity(), idle);
  assert.equal(whole.told('notice').length, 0);
  const outcomes = whole.told('exchange_finished').map(({ answered }) => answered);
  assert.deepEqual(new Set(outcomes), new Set([101]));
});

test('a client that leaves before the switch ends its handshake, and nobody is blamed', async (t) => {
  for (const how of ['resetAndDestroy', 'end'] as const) {
    const origin = await site(t, ['']);
    const whole = await startProxy(t, []);
    const client = await open(whole.port, handshake(origin.url, origin.host));
    await until(() => origin.heads.length === 1);
    client.socket[how]();
    assert.equal((await whole.finished()).answered, 'client_gone');
    await until(() => origin.server.open === 0);
    assert.equal(whole.told('attempt_finished').length, 0);
    await until(() => whole.proxy.activity().connections === 0);
    assert.deepEqual(whole.proxy.activity(), idle);
  }
});

test('open sockets hold no slot of their lane, and are counted as what is open', async (t) => {
  const origin = await site(t, [SWITCH]);
  const whole = await startProxy(t, ['policy:', '  pace: {concurrency: 1}']);
  const clients = [];
  for (let n = 0; n < 3; n += 1) clients.push(await switched(whole, origin));
  assert.deepEqual(whole.proxy.activity(), { connections: 3, exchanges: 3, sockets: 3 });
  for (const client of clients) client.socket.destroy();
  await until(() => whole.proxy.activity().sockets === 0);
});

test('a switch is the good answer that a half-open breaker waits for', async (t) => {
  const origin = await site(t, ['reset', 'reset', SWITCH]);
  const whole = await startProxy(t, [
    'policy:',
    '  backoff: {base: 1ms, cap: 2ms}',
    '  max_attempts: 2',
    '  breaker: {consecutive: 2, cooldown: 50ms, max_cooldown: 60ms, probes: 1, when_open: wait}',
  ]);
  const failed = await open(whole.port, handshake(origin.url, origin.host));
  assert.match(await failed.closed, /^HTTP\/1\.1 50\d /);
  const probe = await switched(whole, origin);
  const states = whole.told('breaker_changed').map(({ state }) => state);
  assert.deepEqual(states, ['open', 'half_open', 'closed']);
  const next = await switched(whole, origin);
  for (const client of [probe, next]) client.socket.destroy();
});

test('draining lets an open socket live on for its time, and stopping ends it', async (t) => {
  const origin = await site(t, [SWITCH]);
  const whole = await startProxy(t, ['drain: 300ms']);
  const client = await switched(whole, origin);
  const drained = whole.proxy.drain();
  client.socket.write('still here');
  await client.hears('>still here');
  await drained;
  assert.equal(client.socket.destroyed, false);
  await whole.proxy.stop();
  await client.closed;
  await until(() => origin.server.open === 0);
  assert.deepEqual(whole.proxy.activity(), idle);
});

test('draining is over as soon as the open sockets are closed', async (t) => {
  const origin = await site(t, [SWITCH]);
  const whole = await startProxy(t, ['drain: 1h']);
  const client = await switched(whole, origin);
  const drained = whole.proxy.drain();
  client.socket.end();
  await drained;
  assert.deepEqual(whole.proxy.activity(), idle);
});

test('an ordinary request to a site with open sockets is served as ever', async (t) => {
  const origin = await site(t, [SWITCH, 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok']);
  const whole = await startProxy(t, []);
  const client = await switched(whole, origin);
  assert.equal((await get(whole.port, origin.url)).body.toString(), 'ok');
  client.socket.destroy();
});
