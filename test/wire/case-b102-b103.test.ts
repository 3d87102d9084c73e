import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { startWire } from '../support/client-wire.ts';
import { farOrigin, farUpstream, fetchOver, listOf, refuser, reply } from '../support/far-side.ts';
import { rawServer, until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const QUICK =
  'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms }, budget: { floor_per_minute: 1000 }, timeouts: { connect: 300ms } }';

test('B102 with upstreams configured nothing goes direct: not by plain HTTP, tunnel, upgrade or address, nor when all are dead', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const secure = await farOrigin(t, [OK], { tls: true });
  const dead = await rawServer((socket) => socket.destroy());
  t.after(() => dead.close());
  const wire = await startWire(t, [QUICK, ...listOf([dead, dead])]);
  for (const url of [
    origin.url,
    secure.url,
    `http://127.0.0.1:${origin.port}/`,
    `https://127.0.0.1:${secure.port}/`,
  ]) {
    assert.equal((await fetchOver(wire, url)).status, 502, url);
  }
  const upgrade = await fetchOver(wire, origin.url, {
    fields: [
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ],
  });
  assert.ok(upgrade.status >= 400);
  const tunnel = await wire.dial();
  tunnel.write(
    `CONNECT o.test:${origin.port} HTTP/1.1\r\nHost: o.test:${origin.port}\r\n\r\nSSH-2.0-x\r\n`,
  );
  await until(() => wire.proxy.activity().exchanges === 0 && dead.accepted > 8);
  assert.equal(origin.accepted, 0);
  assert.equal(secure.accepted, 0);
  assert.ok(dead.accepted > 0);
  assert.deepEqual(wire.lookups, [], 'no name of a target is looked up here');
});

test('B102 what goes over an upstream leaves from its address only, names unresolved, whatever the environment says', async (t) => {
  const origin = await farOrigin(t, [OK]);
  const up = await farUpstream(t, { exit: '127.0.0.2', names: { 'o.test': origin.port } });
  const before = { ...process.env };
  Object.assign(process.env, { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '*', no_proxy: '*' });
  t.after(() => {
    for (const name of ['HTTP_PROXY', 'NO_PROXY', 'no_proxy']) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  });
  const wire = await startWire(t, [QUICK, ...listOf([up])]);
  assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
  assert.equal((await fetchOver(wire, `http://127.0.0.1:${origin.port}/`)).status, 200);
  const tunnel = await wire.tunnel('o.test:80');
  tunnel.write('GET /inside HTTP/1.1\r\nHost: o.test\r\n\r\n');
  await until(() => origin.hits.length === 3);
  assert.deepEqual(new Set(origin.hits.map(({ from }) => from)), new Set(['127.0.0.2']));
  assert.deepEqual(wire.lookups, []);
});

test('B102 an upstream that dies between two tries is not replaced by the own address', async (t) => {
  const origin = await farOrigin(t, [reply(503, 'busy')]);
  const up = await farUpstream(t, { exit: '127.0.0.2', names: { 'o.test': origin.port } });
  const wire = await startWire(t, [
    QUICK.replace('base: 1ms, cap: 2ms', 'base: 200ms, jitter: 0'),
    ...listOf([up]),
  ]);
  const asked = fetchOver(wire, 'http://o.test/');
  await until(() => origin.hits.length === 1);
  await up.close();
  const got = await asked;
  assert.ok([502, 503].includes(got.status), String(got.status));
  assert.deepEqual(
    origin.hits.map(({ from }) => from),
    ['127.0.0.2'],
  );
});

test('B102 a list that is empty is an error of the configuration, not a way around it', () => {
  const text = 'upstreams: [{ name: dc, routes: [] }]';
  assert.equal(loadConfig({ file: undefined, text, env: {}, flags: {} }).kind, 'faults');
});

test('B103 a page refused to every address is the page’s doing: other hosts still use all of them', async (t) => {
  const banned = await farOrigin(t, [reply(403, 'no')]);
  const open = await farOrigin(t, [OK]);
  const names = { 'banned.test': banned.port, 'open.test': open.port };
  const ups = await Promise.all(
    Array.from({ length: 10 }, (_, n) => farUpstream(t, { exit: `127.0.0.${n + 2}`, names })),
  );
  const wire = await startWire(t, [
    'policy: { budget: { floor_per_minute: 1000 }, breaker: { consecutive: 99 } }',
    'targets: [{ match: open.test, routes: { rotation: fresh } }]',
    ...listOf(ups),
  ]);
  for (let i = 0; i < 3; i++) {
    assert.equal((await fetchOver(wire, 'http://banned.test/page')).status, 403);
  }
  const exits = new Set(banned.hits.map(({ from }) => from));
  assert.ok(exits.size <= 3, `${exits.size} addresses were shown`);
  assert.equal(wire.told('exchange_finished').at(-1)?.delivery.verdict?.reason, 'persistent_block');
  for (let i = 0; i < 12; i++) await fetchOver(wire, 'http://open.test/');
  assert.equal(new Set(open.hits.map(({ from }) => from)).size, 10);
});

test('B103 when no address can be dialled it is refused, and the first try after they are back is served', async (t) => {
  const origin = await farOrigin(t, [OK]);
  let isBack = false;
  const ups = await Promise.all(
    [2, 3, 4, 5].map(async (n) => {
      const real = await farUpstream(t, { exit: `127.0.0.${n}`, names: { 'o.test': origin.port } });
      return refuser(t, (socket) => {
        if (!isBack) return void socket.destroy();
        import('node:net').then(({ connect }) => {
          const far = connect(real.port, '127.0.0.1');
          far.on('error', () => {});
          socket.pipe(far).pipe(socket);
        });
      });
    }),
  );
  const wire = await startWire(t, [QUICK, ...listOf(ups)]);
  for (let i = 0; i < 5; i++) {
    const got = await fetchOver(wire, 'https://o.test/');
    assert.ok([502, 503].includes(got.status), String(got.status));
  }
  isBack = true;
  assert.equal((await fetchOver(wire, 'http://o.test/')).status, 200);
});

test('B103 a pool of one comes back after any number of failures', async (t) => {
  const origin = await farOrigin(t, [OK]);
  let failures = 0;
  const real = await farUpstream(t, { names: { 'o.test': origin.port } });
  const { connect } = await import('node:net');
  const up = await refuser(t, (socket) => {
    if (++failures <= 3) return void socket.destroy();
    const far = connect(real.port, '127.0.0.1');
    far.on('error', () => {});
    socket.pipe(far).pipe(socket);
  });
  const wire = await startWire(t, [
    QUICK.replace('max_attempts: 3', 'max_attempts: 5'),
    ...listOf([up]),
  ]);
  const got = await fetchOver(wire, 'http://o.test/');
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '4']);
});
