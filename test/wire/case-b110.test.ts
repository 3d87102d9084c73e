import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type ClientWire, startWire } from '../support/client-wire.ts';
import { type Answer, begin, farOrigin, fetchOver, reply, reset } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const OK = reply(200, 'ok');
const COOLDOWN_MS = 150;
const policy = (more = '') =>
  `policy: { max_attempts: 1, patience: 5s, breaker: { min_attempts: 2, consecutive: 2, cooldown: ${COOLDOWN_MS}ms, max_cooldown: ${COOLDOWN_MS}ms, probes: 1, when_open: wait }, timeouts: { first_byte: 300ms, idle: 300ms }${more} }`;

const states = (wire: ClientWire) => wire.told('breaker_changed').map(({ state }) => state);
const asking = (url: string, ...fields: string[]) =>
  [`GET ${url} HTTP/1.1`, `Host: ${new URL(url).host}`, ...fields, '', ''].join('\r\n');

/** A site whose breaker is open, and whose third answer, to the probe, is the given one. */
async function broken(t: TestContext, probe: Answer, more = '') {
  const trouble = reply(503, 'busy', 'Connection: close');
  const origin = await farOrigin(t, [trouble, trouble, probe, OK]);
  const wire = await startWire(t, [policy(more)]);
  for (let i = 0; i < 2; i++) await fetchOver(wire, origin.url);
  assert.deepEqual(states(wire), ['open']);
  return { origin, wire };
}

/** The next healthy request gets through, and closes the breaker. */
async function heals(wire: ClientWire, url: string): Promise<void> {
  const got = await fetchOver(wire, url);
  assert.equal(got.status, 200);
  assert.equal(states(wire).at(-1), 'closed');
}

const silent = (): { answer: Answer; isAsked: () => boolean } => {
  let asked = false;
  const answer = (_: Socket) => {
    asked = true;
  };
  return { answer, isAsked: () => asked };
};

for (const how of ['destroy', 'resetAndDestroy'] as const) {
  test(`B110 (a) a probe whose client leaves by ${how} gives its place back`, async (t) => {
    const { answer, isAsked } = silent();
    const { origin, wire } = await broken(t, answer);
    const { socket } = begin(wire.port, asking(origin.url));
    await until(isAsked);
    socket[how]();
    await until(() => wire.proxy.activity().exchanges === 0);
    await heals(wire, origin.url);
  });
}

for (const status of [404, 401, 302]) {
  test(`B110 (b) a probe that is answered ${status} shows that the host lives`, async (t) => {
    const { origin, wire } = await broken(t, reply(status));
    assert.equal((await fetchOver(wire, origin.url)).status, status);
    assert.equal(states(wire).at(-1), 'closed');
    await heals(wire, origin.url);
  });
}

test('B110 (b) a probe that could not be sent says nothing, and gives its place back', async (t) => {
  let isKnown = true;
  const trouble = reply(503, 'busy', 'Connection: close');
  const origin = await farOrigin(t, [trouble, trouble, OK]);
  const wire = await startWire(t, [policy()], () => {
    if (!isKnown) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return [{ address: '127.0.0.1', family: 4 }];
  });
  for (let i = 0; i < 2; i++) await fetchOver(wire, origin.url);
  isKnown = false;
  assert.notEqual((await fetchOver(wire, origin.url)).status, 200);
  assert.equal(origin.hits.length, 2);
  isKnown = true;
  await heals(wire, origin.url);
});

test('B110 (c) a probe that hangs is released at its deadline, opens the breaker again, and the next one closes it', async (t) => {
  const { answer } = silent();
  const { origin, wire } = await broken(t, answer);
  assert.equal((await fetchOver(wire, origin.url)).status, 504);
  assert.equal(states(wire).at(-1), 'open');
  await heals(wire, origin.url);
});

test('B110 (c) a probe that is reset opens the breaker again, and the next one closes it', async (t) => {
  const { origin, wire } = await broken(t, reset);
  assert.equal((await fetchOver(wire, origin.url)).status, 502);
  await heals(wire, origin.url);
});

test('B110 (d) a probe that is throttled shows that the host lives: it closes, and the pause holds by itself', async (t) => {
  const { origin, wire } = await broken(
    t,
    reply(429, 'slow', 'Retry-After: 1'),
    ', max_rate_waits: 0',
  );
  assert.equal((await fetchOver(wire, origin.url)).status, 429);
  assert.equal(states(wire).at(-1), 'closed');
  await heals(wire, origin.url);
  const [probe = 0, next = 0] = origin.hits.slice(2).map(({ at }) => at);
  assert.ok(next - probe >= 990, String(next - probe));
});

test('B110 (d) a probe whose wait is too long for anybody gives its place back too', async (t) => {
  const { origin, wire } = await broken(t, reply(429, '', 'Retry-After: 7200'));
  assert.equal((await fetchOver(wire, origin.url)).field('Retry-After'), '7200');
  assert.equal(states(wire).at(-1), 'closed');
  assert.equal((await fetchOver(wire, origin.url)).field('Forbear-Stop'), 'lane_paused');
});

test('B110 (e) a probe whose client breaks off its upload gives its place back', async (t) => {
  const { origin, wire } = await broken(t, OK);
  const { socket } = begin(
    wire.port,
    `POST ${origin.url} HTTP/1.1\r\nHost: o.test\r\nContent-Length: 9\r\n\r\nhalf`,
  );
  await until(() => wire.told('exchange_started').length === 3);
  socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
  await heals(wire, origin.url);
});

test('B110 (g) a probe that fails without budget for another try gives its place back', async (t) => {
  const { origin, wire } = await broken(
    t,
    reply(503),
    ', budget: { ratio: 0, floor_per_minute: 0 }',
  );
  assert.equal((await fetchOver(wire, origin.url)).status, 503);
  await heals(wire, origin.url);
});

test('B110 of many who wait for a broken host one goes first, and all are served when it is answered', async (t) => {
  let answer = () => {};
  const { origin, wire } = await broken(t, (socket) => {
    answer = () => socket.write(OK);
  });
  const all = Array.from({ length: 20 }, () => fetchOver(wire, origin.url));
  await until(() => origin.hits.length === 3);
  const begunAt = performance.now();
  await until(() => performance.now() - begunAt > 100);
  assert.equal(origin.hits.length, 3, 'one probe at a time');
  answer();
  for (const got of await Promise.all(all)) assert.equal(got.status, 200);
});
