import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldOf, startWire } from '../support/client-wire.ts';
import { begin, farOrigin, fetchOver, reply, reset } from '../support/far-side.ts';
import { until } from '../support/raw-server.ts';

const QUICK = 'policy: { max_attempts: 3, backoff: { base: 1ms, cap: 2ms } }';
const OK = reply(200, 'ok');

test('B85 a GET on a socket that the far side had closed succeeds at the first attempt, and blames nobody', async (t) => {
  for (const end of ['reset', 'fin'] as const) {
    const wire = await startWire(t, [QUICK]);
    const origin = await farOrigin(t, (_, n) => {
      if (n !== 2) return OK;
      return end === 'reset' ? reset : (socket) => socket.end();
    });
    await fetchOver(wire, origin.url);
    const got = await fetchOver(wire, origin.url);
    assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '1'], end);
    assert.deepEqual(
      origin.hits.map(({ connection }) => connection),
      [1, 1, 2],
    );
    assert.ok(wire.told('attempt_finished').every(({ verdict }) => verdict.fault === 'none'));
  }
});

test('B85 ten stale sockets cost one fresh connection each at most, and not one failure', async (t) => {
  const wire = await startWire(t, [QUICK]);
  let restarted = false;
  const answers: (() => void)[] = [];
  const origin = await farOrigin(t, (hit) => {
    if (restarted) return hit.connection <= 10 ? reset : OK;
    return (socket) => {
      answers.push(() => socket.write(OK));
      // A new lane opens with one, then two, four, eight.
      if ([1, 3, 7, 15, 25].includes(origin.hits.length)) release();
    };
  });
  const release = () => {
    for (const answer of answers.splice(0)) answer();
  };
  for (const size of [1, 2, 4, 8, 10]) {
    await Promise.all(Array.from({ length: size }, () => fetchOver(wire, origin.url)));
  }
  restarted = true;
  const before = origin.accepted;
  assert.equal(before, 10);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '1']);
  assert.equal(origin.accepted, before + 1);
  assert.ok(wire.told('attempt_finished').every(({ verdict }) => verdict.fault === 'none'));
});

test('B85 a reset before a reply on a fresh socket is a transient failure, and counts', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [reset, OK]);
  const got = await fetchOver(wire, origin.url);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '2']);
  const [first] = wire.told('attempt_finished');
  assert.deepEqual([first?.verdict.fault, first?.verdict.reason], ['host', 'reset']);
});

const asking = (url: string, ...fields: string[]) =>
  [`GET ${url} HTTP/1.1`, `Host: ${new URL(url).host}`, ...fields, '', ''].join('\r\n');

test('B87 a client that leaves during a rate wait ends its exchange: no further hit, nothing waits, nobody is blamed for it', async (t) => {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    const wire = await startWire(t, [QUICK]);
    const origin = await farOrigin(t, [reply(429, '', 'Retry-After: 1'), OK]);
    const { socket } = begin(wire.port, asking(origin.url));
    await until(() => wire.told('attempt_finished').length === 1);
    socket[how]();
    await until(() => wire.proxy.activity().exchanges === 0);
    const [finished] = wire.told('exchange_finished');
    assert.equal(finished?.answered, 'client_gone');
    const next = await fetchOver(wire, origin.url);
    assert.equal(next.field('Forbear-Attempts'), '1');
    assert.equal(origin.hits.length, 2, 'only the second client was sent');
  }
});

test('B87 a client that leaves in the middle of an attempt closes the far side at once, and costs neither host nor route', async (t) => {
  const wire = await startWire(t, ['policy: { breaker: { min_attempts: 2, consecutive: 2 } }']);
  let closed = 0;
  const origin = await farOrigin(t, (_, n) =>
    n > 5 ? OK : (socket) => void socket.on('close', () => closed++),
  );
  for (let n = 1; n <= 5; n++) {
    const { socket } = begin(wire.port, asking(origin.url));
    await until(() => origin.hits.length === n);
    const leftAt = performance.now();
    socket.destroy();
    await until(() => closed === n);
    assert.ok(performance.now() - leftAt < 500);
  }
  assert.equal(
    wire.told('attempt_finished').filter(({ verdict }) => verdict.fault !== 'none').length,
    0,
  );
  assert.deepEqual(wire.told('breaker_changed'), []);
  assert.equal((await fetchOver(wire, origin.url)).status, 200);
});

test('B87 a client that leaves while it is queued is never sent, and frees its place', async (t) => {
  const wire = await startWire(t, ['policy: { pace: { concurrency: 1, queue: 1 } }']);
  let finish = () => {};
  const origin = await farOrigin(t, (_, n) =>
    n > 1
      ? OK
      : (socket) => {
          finish = () => socket.write(OK);
        },
  );
  const first = begin(wire.port, asking(origin.url, 'Connection: close'));
  await until(() => origin.hits.length === 1);
  const queued = begin(wire.port, asking(`${origin.url}queued`));
  await until(() => wire.told('exchange_started').length === 2);
  queued.socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 1);
  const third = begin(wire.port, asking(`${origin.url}third`, 'Connection: close'));
  await until(() => wire.told('exchange_started').length === 3);
  finish();
  assert.match(await first.all, /^HTTP\/1\.1 200 /);
  assert.match(await third.all, /^HTTP\/1\.1 200 /);
  assert.deepEqual(
    origin.hits.map(({ head }) => head.split(' ')[1]),
    ['/', '/third'],
  );
});

test('B87 a client that leaves gives a retry in its backoff back to the budget', async (t) => {
  const wire = await startWire(t, [
    'policy: { max_attempts: 2, backoff: { base: 30s, jitter: 0 }, budget: { ratio: 0, floor_per_minute: 1 } }',
    'targets: [{ match: o.test/quick, backoff: { base: 1ms } }]',
  ]);
  const origin = await farOrigin(t, (hit) =>
    hit.head.includes('/quick') && origin.hits.length > 2 ? OK : reply(503),
  );
  const { socket } = begin(wire.port, asking(origin.url));
  await until(() => wire.told('attempt_finished').length === 1);
  assert.equal(wire.told('attempt_finished')[0]?.action.kind, 'wait');
  socket.destroy();
  await until(() => wire.proxy.activity().exchanges === 0);
  const got = await fetchOver(wire, `${origin.url}quick`);
  assert.deepEqual([got.status, got.field('Forbear-Attempts')], [200, '2']);
});

test('B87 a normal end is no abort, with keep-alive and without', async (t) => {
  const wire = await startWire(t, [QUICK]);
  const origin = await farOrigin(t, [OK]);
  const { socket, all } = begin(wire.port, asking(origin.url));
  await until(() => wire.told('exchange_finished').length === 1);
  socket.end();
  assert.equal(fieldOf(await all, 'Forbear-Attempts'), '1');
  await fetchOver(wire, origin.url);
  assert.deepEqual(
    wire.told('exchange_finished').map(({ answered }) => answered),
    [200, 200],
  );
});
