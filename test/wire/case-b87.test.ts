import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { heard, startWire } from '../support/client-wire.ts';
import { begin, farOrigin, fetchOver, reply } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const QUICK =
  'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms }, breaker: { min_attempts: 2, consecutive: 2 } }';

const asking = (url: string, method = 'GET', ...fields: string[]) =>
  [`${method} ${url} HTTP/1.1`, `Host: ${new URL(url).host}`, ...fields, '', ''].join('\r\n');

const WAYS = ['end', 'destroy', 'resetAndDestroy'] as const;

for (const how of WAYS) {
  test(`B87 a client that leaves by ${how} in the body of the second try closes the far side, and nothing is sent again`, async (t) => {
    const wire = await startWire(t, [QUICK]);
    const origin = await farOrigin(t, [
      reply(503),
      'HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 99999\r\n\r\nbeginning',
      OK,
    ]);
    const { socket } = begin(wire.port, asking(origin.url));
    await heard(socket, (text) => text.includes('beginning'));
    const leftAt = performance.now();
    socket[how]();
    await until(() => wire.proxy.activity().exchanges === 0 && origin.open === 0);
    assert.ok(performance.now() - leftAt < 1000);
    assert.equal(wire.told('exchange_finished')[0]?.answered, 'client_gone');
    assert.equal(origin.hits.length, 2);
    assert.equal((await fetchOver(wire, origin.url)).field('Forbear-Attempts'), '1');
    assert.deepEqual(wire.told('breaker_changed'), []);
  });

  test(`B87 a client that leaves by ${how} while its name is looked up is never dialled for`, async (t) => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    let isAsked = false;
    const slow = () => {
      isAsked = true;
      return gate.then(() => [{ address: '127.0.0.1', family: 4 as const }]);
    };
    // The lookup of the proxy awaits whatever it is given.
    const wire = await startWire(t, [QUICK], slow as never);
    const origin = await farOrigin(t, [OK]);
    const { socket } = begin(wire.port, asking(origin.url));
    await until(() => isAsked);
    socket[how]();
    await until(() => wire.proxy.activity().exchanges === 0);
    open();
    assert.equal((await fetchOver(wire, origin.url)).status, 200);
    assert.equal(origin.accepted, 1);
    assert.equal(wire.told('exchange_finished')[0]?.answered, 'client_gone');
  });
}

test('B87 a client that leaves right behind its upload is not replayed, and costs the host nothing', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const sockets: Socket[] = [];
  const origin = await farOrigin(t, (_, n) => (n > 3 ? OK : (socket) => void sockets.push(socket)));
  for (let n = 1; n <= 3; n++) {
    const { socket } = begin(wire.port, `${asking(origin.url, 'PUT', 'Content-Length: 5')}hello`);
    await until(() => origin.hits.length === n);
    socket.destroy();
    await until(() => wire.proxy.activity().exchanges === 0);
  }
  await until(() => origin.open === 0);
  assert.equal(origin.hits.length, 3);
  assert.deepEqual(wire.told('breaker_changed'), []);
  assert.equal((await fetchOver(wire, origin.url)).status, 200);
});

test('B87 of a hundred who leave during one pause none is sent when it ends', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [reply(429, '', 'Retry-After: 1'), OK]);
  const all = Array.from({ length: 100 }, () => begin(wire.port, asking(origin.url)));
  await until(
    () =>
      wire.told('attempt_finished').length === 1 && wire.told('exchange_started').length === 100,
  );
  for (const [n, { socket }] of all.entries()) socket[WAYS[n % WAYS.length] ?? 'end']();
  await until(() => wire.proxy.activity().exchanges === 0);
  assert.ok(wire.told('exchange_finished').every(({ answered }) => answered === 'client_gone'));
  assert.equal((await fetchOver(wire, `${origin.url}next`)).status, 200);
  assert.deepEqual(
    origin.hits.map(({ head }) => head.split(' ')[1]),
    ['/', '/next'],
  );
});
