import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { flush } from './support/fake-clock.ts';
import {
  type Asked,
  blocked,
  ok,
  overrun,
  routeOf,
  startedOnes,
  states,
  Traffic,
  throttledFor,
} from './support/lane-traffic.ts';

const gaps = (asked: readonly Asked[]): number[] => {
  const at = startedOnes(asked)
    .map((one) => one.place.startedAt)
    .sort((a, b) => a - b);
  return at.slice(1).map((t, i) => t - (at[i] ?? 0));
};

test('clients take turns, and within one client the oldest exchange goes first', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const running = traffic.ask({ client: 'crowd', policy });
  const crowd = traffic.askMany(50, { client: 'crowd', policy });
  await traffic.clock.advance(10);
  const quiet = traffic.askMany(3, { client: 'quiet', policy });
  const all = [...crowd, ...quiet];
  const order: string[] = [];
  let out: Asked | undefined = running;
  for (let n = 0; n < 7; n += 1) {
    await flush();
    out?.finish(ok);
    await flush();
    const known = new Set(order);
    out = startedOnes(all).find((one) => !known.has(one.exchange.id));
    if (out) order.push(out.exchange.id);
  }
  const names = order.map((id) => all.find((one) => one.exchange.id === id)?.exchange.client.name);
  assert.deepEqual(names, ['crowd', 'quiet', 'crowd', 'quiet', 'crowd', 'quiet', 'crowd']);
  assert.deepEqual(
    order.filter((id) => crowd.some((one) => one.exchange.id === id)),
    crowd.slice(0, 4).map((one) => one.exchange.id),
  );
});

test('a retry goes before what its client began later', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const old = traffic.ask({ policy });
  await traffic.clock.advance(10);
  const young = traffic.askMany(5, { policy });
  old.finish(throttledFor(1_000));
  void old.admit();
  await traffic.clock.advance(1_100);
  assert.equal(old.state, 'admitted');
  assert.deepEqual(startedOnes(young), []);
});

test('who began earlier goes first, also when it asks later', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const running = traffic.ask({ policy });
  const old = traffic.make({ policy });
  await traffic.clock.advance(10);
  const young = traffic.ask({ policy });
  void old.admit();
  running.finish(ok);
  await flush();
  assert.deepEqual(states([old, young]), ['admitted', 'waiting']);
});

test('a place leaves nothing on the signal of its exchange', async () => {
  const traffic = new Traffic();
  const [taken, waiting] = traffic.askMany(2, { policy: { pace: { concurrency: 1 } } });
  await flush();
  assert.ok(taken && waiting);
  assert.equal(getEventListeners(taken.exchange.signal, 'abort').length, 0);
  assert.equal(getEventListeners(waiting.exchange.signal, 'abort').length, 1);
});

test('never more under way than the lane allows, and a place let go is taken at once', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 3 } };
  await traffic.warmUp({ policy });
  const all = traffic.askMany(10, { policy });
  await flush();
  const [first] = startedOnes(all);
  assert.equal(startedOnes(all).length, 3);
  first?.finish(ok);
  first?.place.release();
  await flush();
  assert.equal(startedOnes(all).length, 4, 'letting go twice frees one place');
});

test('a place is held until it is let go, not until the verdict', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const [a, b] = traffic.askMany(2, { policy });
  await flush();
  assert.ok(a && b);
  const { exchange, place, lane } = a;
  lane.record({ exchange, admission: place, verdict: ok, route: routeOf('direct') });
  await flush();
  assert.equal(b.state, 'waiting');
  const letGo = place.release;
  letGo();
  await flush();
  assert.equal(b.state, 'admitted');
});

test('starts keep a distance drawn from the range of the lane', async () => {
  const traffic = new Traffic();
  const policy = { pace: { delay: { minMs: 10_000, maxMs: 20_000 }, concurrency: 5 } };
  const all = traffic.askMany(6, { policy, patienceMs: 600_000 });
  for (let n = 0; n < 10; n += 1) {
    for (const one of startedOnes(all)) one.finish(ok);
    await traffic.clock.advance(12_000);
  }
  const distances = gaps(all);
  assert.equal(distances.length, 5);
  assert.ok(
    distances.every((ms) => ms >= 10_000 && ms <= 20_000),
    `${distances}`,
  );
  assert.ok(new Set(distances).size > 1);
});

test('a fixed rate is a ceiling', async () => {
  const traffic = new Traffic();
  const policy = { pace: { ratePerSecond: 4 } };
  const all = traffic.askMany(20, { policy });
  for (let n = 0; n < 40; n += 1) {
    await traffic.clock.advance(100);
    for (const one of startedOnes(all)) one.finish(ok);
  }
  assert.equal(startedOnes(all).length, 17);
  assert.ok(gaps(all).every((ms) => ms >= 250));
  assert.equal(traffic.lanes.list()[0]?.rate, 4);
});

test('an exchange that rotates over ten addresses comes at the pace of the host each time', async () => {
  const traffic = new Traffic();
  const policy = { pace: { ratePerSecond: 1 } };
  const rotating = traffic.ask({ policy });
  await flush();
  const first = traffic.ask({ policy, client: 'other' });
  const startedAt: number[] = [];
  for (let n = 0; n < 6; n += 1) {
    while (rotating.state === 'waiting') await traffic.clock.advance(100);
    startedAt.push(rotating.place.startedAt);
    rotating.finish(blocked, `route-${n}`);
    void rotating.admit();
    if (n === 0) {
      await traffic.clock.advance(1_000);
      assert.equal(first.state, 'admitted', 'a first try is not starved by rotations');
      first.finish(ok);
    }
  }
  const between = startedAt.slice(1).map((at, i) => at - (startedAt[i] ?? 0));
  assert.ok(
    between.every((ms) => ms >= 1_000),
    `${between}`,
  );
});

test('what cannot have its turn in time is told so at once', async () => {
  const traffic = new Traffic();
  const policy = { pace: { delay: { minMs: 10_000, maxMs: 10_000 } } };
  const all = traffic.askMany(10, { policy, patienceMs: 60_000 });
  await flush();
  assert.deepEqual(states(all), [
    'admitted',
    ...Array.from({ length: 5 }, () => 'waiting'),
    ...Array.from({ length: 4 }, () => 'patience_exceeded'),
  ]);
  assert.equal(all[9]?.refusal.retryAfterMs, 60_000);
});

test('patience that ends in the queue is answered at that moment', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const running = traffic.ask({ policy });
  const waiting = traffic.ask({ policy, patienceMs: 5_000 });
  await traffic.clock.advance(4_999);
  assert.equal(waiting.state, 'waiting');
  await traffic.clock.advance(1);
  assert.equal(waiting.state, 'patience_exceeded');
  assert.ok((waiting.refusal.retryAfterMs ?? 0) > 0);
  running.finish(ok);
  assert.equal(traffic.clock.pending, 0);
});

test('a client that leaves frees its place in the queue within the tick and leaves no timer', async () => {
  const traffic = new Traffic();
  const first = traffic.ask();
  await flush();
  first.finish(throttledFor(30_000));
  const all = traffic.askMany(100);
  await flush();
  assert.equal(traffic.lanes.list()[0]?.waiting, 100);
  for (const one of all) one.abort();
  assert.equal(traffic.lanes.list()[0]?.waiting, 0);
  assert.equal(traffic.clock.pending, 0);
  await flush();
  assert.deepEqual([...new Set(states(all))], ['client_gone']);
  await traffic.clock.advance(60_000);
  assert.deepEqual(startedOnes(all), []);
  const gone = traffic.make();
  gone.abort();
  await gone.admit();
  assert.equal(gone.state, 'client_gone');
});

test('a lane within a host has its own pace and shares the pause, the breaker and the budget', async () => {
  const traffic = new Traffic();
  await traffic.warmUp();
  const slow = { laneKey: '/rest/**', policy: { pace: { concurrency: 1 } } };
  const [a, b] = [traffic.ask(slow), traffic.ask(slow)];
  const main = traffic.ask();
  await flush();
  assert.deepEqual(states([a, b, main]), ['admitted', 'waiting', 'admitted']);
  assert.equal(a.lane.id, 'shop.test#/rest/**');
  assert.equal(main.lane.id, 'shop.test');

  for (let n = 0; n < 6 + 4; n += 1) a.lane.withdraw();
  assert.equal(main.lane.budgetLeft, false);

  a.finish(throttledFor(20_000));
  assert.equal(main.lane.pausedUntil, a.lane.pausedUntil);
  const next = traffic.ask();
  await traffic.clock.advance(19_999);
  assert.deepEqual(states([b, next]), ['waiting', 'waiting']);
});

test('lanes of one host take turns at its pace', async () => {
  const traffic = new Traffic();
  const one = traffic.ask();
  await flush();
  one.finish(throttledFor(1_000));
  const main = traffic.askMany(10, { patienceMs: 1e6 });
  const side = traffic.askMany(10, { laneKey: 'side', patienceMs: 1e6 });
  const order: string[] = [];
  await traffic.clock.advance(1_100);
  for (let n = 0; n < 6; n += 1) {
    await flush();
    const known = new Set(order);
    const next = startedOnes([...main, ...side]).find((o) => !known.has(o.exchange.id));
    if (next) order.push(next.exchange.id);
    next?.finish({ fault: 'route', reason: 'refused', scope: 'lane', evidence: noEvidence });
  }
  const inSide = order.map((id) => side.some((o) => o.exchange.id === id));
  assert.deepEqual(inSide, [false, true, false, true, false, true]);
});

test('an overrun of our own halves the lane’s places, and good replies give them back one by one', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 8 } };
  await traffic.warmUp({ policy });
  const all = traffic.askMany(8, { policy });
  await traffic.clock.advance(1);
  for (const one of all) one.finish(overrun);
  const places = () => traffic.lanes.list()[0]?.concurrency;
  assert.equal(places(), 4, 'what was under way together is one event');
  await traffic.warmUp({ policy }, 4);
  assert.equal(places(), 5);
  await traffic.warmUp({ policy }, 5 + 6 + 7);
  assert.equal(places(), 8);
});

test('closing refuses all who wait and whoever comes after', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  const all = traffic.askMany(3, { policy });
  await flush();
  traffic.lanes.close();
  await flush();
  assert.deepEqual(states(all), ['admitted', 'draining', 'draining']);
  assert.equal(traffic.clock.pending, 0);
  const late = traffic.ask();
  await flush();
  assert.equal(late.state, 'draining');
});

const noEvidence = { kind: 'status', status: 403 } as const;
