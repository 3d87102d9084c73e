import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock, flush } from './support/fake-clock.ts';
import { ok, overloaded, startedOnes, Traffic, throttledFor } from './support/lane-traffic.ts';

async function learned(): Promise<Traffic> {
  const traffic = new Traffic();
  await traffic.warmUp({ host: 'rated.test' });
  await traffic.clock.advance(1_000);
  const one = traffic.ask({ host: 'rated.test' });
  await flush();
  one.finish(throttledFor(50_000));
  one.lane.withdraw();
  for (let n = 0; n < 5; n += 1) {
    const failing = traffic.ask({ host: 'broken.test', patienceMs: 1e6 });
    await flush();
    failing.finish(overloaded);
  }
  for (let n = 0; n < 3; n += 1) {
    const refused = traffic.ask({ host: 'login.test', headers: ['Cookie', 'a=b'] });
    await flush();
    refused.finish({
      fault: 'client',
      reason: 'unauthorized',
      evidence: { kind: 'status', status: 401 },
    });
  }
  return traffic;
}

test('pauses, rates, breakers, budgets and fuses survive a restart', async () => {
  const before = await learned();
  const saved: unknown = JSON.parse(JSON.stringify(before.lanes.snapshot()));
  const after = new Traffic({ clock: before.clock });
  after.lanes.restore(saved);
  assert.deepEqual(JSON.parse(JSON.stringify(after.lanes.snapshot())), saved);

  const [rated, broken, login] = [
    after.ask({ host: 'rated.test' }),
    after.ask({ host: 'broken.test', patienceMs: 1_000 }),
    after.ask({ host: 'login.test', headers: ['Cookie', 'a=b'] }),
  ];
  await flush();
  assert.equal(rated.state, 'waiting');
  assert.equal(broken.state, 'breaker_open');
  assert.equal(login.state, 'auth_fuse');
  const sight = (t: Traffic) =>
    t.lanes.list().find((lane) => lane.id === 'rated.test') ?? assert.fail();
  assert.equal(sight(after).budget, sight(before).budget);
  assert.equal(sight(after).rate, sight(before).rate);
});

test('a probe that was out when the process ended is not waited for', async () => {
  const before = await learned();
  await before.clock.advance(34_000);
  const probe = before.ask({ host: 'broken.test' });
  await flush();
  assert.equal(probe.state, 'admitted');
  const after = new Traffic({ clock: before.clock });
  after.lanes.restore(JSON.parse(JSON.stringify(before.lanes.snapshot())));
  const next = after.ask({ host: 'broken.test' });
  await flush();
  assert.equal(next.state, 'admitted');
});

test('saved state that is not whole is left out', async () => {
  const before = await learned();
  const { hosts } = before.lanes.snapshot();
  const [first, second] = hosts;
  assert.ok(first && second);
  const bad: readonly unknown[] = [
    undefined,
    null,
    'lanes',
    { version: 2, hosts },
    { version: 1, hosts: 'none' },
    { version: 1, hosts: [null, 7, {}, { ...first, pacing: {} }] },
    { version: 1, hosts: [{ ...first, breaker: { state: 'ajar' } }] },
    { version: 1, hosts: [{ ...first, fuse: { strikes: [{}] } }] },
    { version: 1, hosts: [{ ...first, budget: { balance: null } }] },
    { version: 1, hosts: [{ ...first, pacing: { ...first.pacing, pausedUntil: '5' } }] },
  ];
  for (const saved of bad) {
    const after = new Traffic();
    after.lanes.restore(saved);
    assert.deepEqual(after.lanes.snapshot().hosts, []);
  }
  const after = new Traffic();
  after.lanes.restore({ version: 1, hosts: [{ ...first, usedAt: null }, second] });
  assert.deepEqual(
    after.lanes.snapshot().hosts.map((host) => host.host),
    [second.host],
  );
});

test('no more hosts are remembered than allowed, and healthy idle ones go first', async () => {
  const traffic = new Traffic({ maxHosts: 50 });
  const busy = traffic.ask({ host: 'busy.test', patienceMs: 1e9 });
  const waiting = traffic.ask({ host: 'busy.test', patienceMs: 1e9 });
  const paused = traffic.ask({ host: 'paused.test' });
  await flush();
  paused.finish(throttledFor(1e8));
  for (let n = 0; n < 2_000; n += 1) traffic.make({ host: `h${n}.test` });
  const ids = traffic.lanes.list().map((lane) => lane.id);
  assert.equal(ids.length, 50);
  assert.ok(ids.includes('busy.test') && ids.includes('paused.test') && ids.includes('h1999.test'));
  assert.ok(traffic.make({ host: 'paused.test' }).lane.pausedUntil > traffic.clock.now());
  busy.finish(ok);
  await flush();
  assert.equal(waiting.state, 'admitted');
  assert.equal(traffic.clock.pending, 0, 'idle hosts have no timers');
});

test('when all are in trouble the cap still holds, but for hosts with live exchanges', async () => {
  const traffic = new Traffic({ maxHosts: 10 });
  for (let n = 0; n < 30; n += 1) {
    const one = traffic.ask({ host: `paused${n}.test` });
    await flush();
    one.finish(throttledFor(1e8));
  }
  assert.equal(traffic.lanes.list().length, 10);
  const live = Array.from({ length: 15 }, (_, n) => traffic.ask({ host: `live${n}.test` }));
  await flush();
  assert.equal(startedOnes(live).length, 15);
  const ids = traffic.lanes.list().map((lane) => lane.id);
  assert.ok(live.every((one) => ids.includes(one.lane.id)));
});

test('a host unused for a day is forgotten, one that is paused for longer is not', async () => {
  const traffic = new Traffic();
  await traffic.warmUp({ host: 'idle.test' }, 1);
  const paused = traffic.ask({ host: 'paused.test' });
  await flush();
  paused.finish(throttledFor(3 * 86_400_000));
  await traffic.clock.advance(2 * 86_400_000);
  for (let n = 0; n < 3; n += 1) traffic.make({ host: 'other.test' });
  assert.deepEqual(
    new Set(traffic.lanes.list().map((lane) => lane.id)),
    new Set(['paused.test', 'other.test']),
  );
  await traffic.clock.advance(2 * 86_400_000);
  for (let n = 0; n < 3; n += 1) traffic.make({ host: 'other.test' });
  assert.deepEqual(
    traffic.lanes.list().map((lane) => lane.id),
    ['other.test'],
  );
});

test('the list shows what each lane is doing', async () => {
  const traffic = new Traffic({ clock: new FakeClock(1_000_000) });
  await traffic.warmUp({}, 10);
  const policy = { pace: { concurrency: 1 } };
  const all = [traffic.ask({ laneKey: 'slow', policy }), traffic.ask({ laneKey: 'slow', policy })];
  await flush();
  const [main, slow] = ['shop.test', 'shop.test#slow'].map((id) =>
    traffic.lanes.list().find((lane) => lane.id === id),
  );
  assert.equal(main?.state, 'idle');
  assert.deepEqual(slow, {
    id: 'shop.test#slow',
    host: 'shop.test',
    state: 'active',
    pausedUntil: undefined,
    rate: null,
    budget: 7,
    breaker: 'closed',
    breakerUntil: undefined,
    waiting: 1,
    inFlight: 1,
    concurrency: 1,
    failuresInRow: 0,
  });
  all[0]?.finish(throttledFor(9_000));
  assert.deepEqual(
    traffic.lanes.list().map((lane) => lane.state),
    ['paused', 'paused'],
  );
});
