import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWire } from '../support/client-wire.ts';
import {
  type Answer,
  begin,
  farOrigin,
  farUpstream,
  fetchOver,
  listOf,
  login,
  refuser,
  reply,
  reset,
  silence,
} from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const BREAKER =
  'policy: { max_attempts: 1, patience: 400ms, control_requests: false, auth_fuse: 0, breaker: { min_attempts: 5, consecutive: 7, when_open: refuse }, timeouts: { first_byte: 60ms } }';

const NEUTRAL: Readonly<Record<string, Answer>> = {
  404: reply(404),
  401: reply(401),
  403: reply(403),
  '429 with its pause': reply(429, '', 'Retry-After: 0.001'),
  'a redirect': reply(302, '', 'Location: /x'),
};
for (const [name, answer] of Object.entries(NEUTRAL)) {
  test(`B112 twenty times ${name} leaves the breaker closed`, async (t) => {
    const wire = await startWire(t, [BREAKER]);
    const origin = await farOrigin(t, [answer]);
    const count = name.startsWith('429') ? 8 : 20;
    for (let i = 0; i < count; i++) await fetchOver(wire, origin.url);
    assert.deepEqual(wire.told('breaker_changed'), []);
    assert.ok(origin.hits.length >= count);
  });
}

const COUNTED: Readonly<Record<string, Answer>> = {
  500: reply(500),
  503: reply(503),
  'a reset': reset,
  'a silence': silence,
};
for (const [name, answer] of Object.entries(COUNTED)) {
  test(`B112 ${name} opens it after min_attempts: then nothing is sent, and the answer is 503 with the time left`, async (t) => {
    const wire = await startWire(t, [BREAKER]);
    const origin = await farOrigin(t, [answer]);
    await fetchOver(wire, origin.url);
    assert.deepEqual(wire.told('breaker_changed'), [], 'one failure of one opens nothing');
    for (let i = 0; i < 6; i++) await fetchOver(wire, origin.url);
    assert.equal(origin.hits.length, 5);
    const got = await fetchOver(wire, origin.url);
    assert.deepEqual([got.status, got.field('Forbear-Stop')], [503, 'breaker_open']);
    const left = Number(got.field('Retry-After'));
    assert.ok(left > 20 && left <= 33, String(left));
    assert.match(got.field('Proxy-Status') ?? '', /error=destination_unavailable/);
    assert.equal(origin.hits.length, 5);
  });
}

test('B112 an upstream that refuses, or is away, leaves the host’s breaker closed', async (t) => {
  for (const status of [407, 502]) {
    const up = await refuser(t, reply(status));
    const wire = await startWire(t, [BREAKER, ...listOf([up])]);
    for (let i = 0; i < 12; i++) await fetchOver(wire, 'https://o.test/');
    assert.deepEqual(wire.told('breaker_changed'), []);
  }
});

test('B112 of many 404 and a few 503 only the 503 count; in half-open a 404 shows that the host lives', async (t) => {
  const wire = await startWire(t, [
    BREAKER.replace('when_open: refuse', 'when_open: wait, cooldown: 200ms, probes: 1'),
  ]);
  const origin = await farOrigin(t, (hit) => (hit.head.includes('/bad') ? reply(503) : reply(404)));
  for (let i = 0; i < 20; i++) await fetchOver(wire, origin.url);
  for (let i = 0; i < 5; i++) await fetchOver(wire, `${origin.url}bad`);
  const states = () => wire.told('breaker_changed').map(({ state }) => state);
  assert.deepEqual(states(), ['open']);
  assert.equal((await fetchOver(wire, origin.url)).status, 404);
  assert.equal(states().at(-1), 'closed');
});

test('B113 in a total outage the retries of all clients together stay within the budget, and another host has its own', async (t) => {
  const wire = await startWire(t, [
    'policy: { max_attempts: 4, backoff: { base: 1ms, cap: 2ms }, budget: { ratio: 0.2, floor_per_minute: 6 }, breaker: { consecutive: 9999, min_attempts: 9999 } }',
  ]);
  const broken = await farOrigin(t, [reply(503)]);
  const all = [];
  for (let i = 0; i < 60; i++) {
    all.push(fetchOver(wire, broken.url, { fields: [login(`client${i % 3}`)] }));
  }
  const got = await Promise.all(all);
  assert.equal(broken.hits.length, 66);
  const spent = got.filter((one) => one.field('Forbear-Stop') === 'retry_budget_spent');
  assert.ok(spent.length >= 58, String(spent.length));
  const other = await farOrigin(t, [reply(503), OK], { name: 'p.test' });
  assert.equal((await fetchOver(wire, other.url)).status, 200);
});

test('B118 a host in its pause holds nothing: another is served at once, and nobody who waits has a socket', async (t) => {
  const wire = await startWire(t, ['policy: { pace: { queue: 50 } }']);
  const slow = await farOrigin(t, [reply(429, '', 'Retry-After: 30')]);
  const quick = await farOrigin(t, [OK], { name: 'p.test' });
  const waiting = Array.from({ length: 60 }, (_, n) =>
    begin(
      wire.port,
      `GET ${slow.url}${n} HTTP/1.1\r\nHost: ${new URL(slow.url).host}\r\nConnection: close\r\n\r\n`,
    ),
  );
  await until(() => wire.told('exchange_started').length === 60);
  await until(() => wire.told('exchange_finished').length >= 9);
  const begunAt = performance.now();
  assert.equal((await fetchOver(wire, quick.url)).status, 200);
  assert.ok(performance.now() - begunAt < 300);
  const turnedAway = wire
    .told('exchange_finished')
    .filter(({ delivery }) => delivery.stop === 'queue_full');
  assert.ok(turnedAway.length >= 9 && turnedAway.every(({ answered }) => answered === 503));
  assert.equal(slow.hits.length, 1);
  assert.ok(wire.proxy.activity().sockets <= 2, 'kept-alive ones only');
  for (const { socket } of waiting) socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
});

test('B118 one tunnel and one connection are not held up by another', async (t) => {
  const slow = await farOrigin(t, [silence]);
  const quick = await farOrigin(t, [OK]);
  const up = await farUpstream(t, { names: { 'slow.test': slow.port, 'quick.test': quick.port } });
  const wire = await startWire(t, listOf([up]));
  const inSlow = await wire.tunnel('slow.test:80');
  inSlow.write('GET / HTTP/1.1\r\nHost: slow.test\r\n\r\n');
  await until(() => slow.hits.length === 1);
  assert.equal((await fetchOver(wire, 'http://quick.test/')).status, 200);
});
