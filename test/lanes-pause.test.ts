import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flush } from './support/fake-clock.ts';
import {
  notFound,
  ok,
  overloaded,
  startedOnes,
  states,
  Traffic,
  throttledFor,
} from './support/lane-traffic.ts';

const DAY_MS = 24 * 3_600_000;

test('two hundred that wait are held by the first throttle and come back one, then two, then four', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  const all = traffic.askMany(200, { policy: { pace: { concurrency: 1_000 } } });
  await flush();
  assert.equal(startedOnes(all).length, 1, 'a lane never seen before opens slowly');

  const throttledAt = clock.now();
  startedOnes(all)[0]?.finish(throttledFor(10_000));
  await clock.advance(9_999);
  assert.equal(startedOnes(all).length, 1, 'nobody starts inside the pause');

  await clock.advance(300);
  const waves: number[] = [];
  let before = 1;
  let out = startedOnes(all).slice(1);
  for (let round = 0; round < 4; round += 1) {
    waves.push(out.length);
    before += out.length;
    for (const one of out) one.finish(ok);
    await flush();
    out = startedOnes(all).slice(before);
  }
  assert.deepEqual(waves, [1, 2, 4, 8]);
  const starts = startedOnes(all).map((one) => one.place.startedAt);
  assert.ok(starts.slice(1).every((at) => at >= throttledAt + 10_000));
  assert.equal(traffic.eventsOf('lane_paused').length, 1);
});

test('a pause of thirty days holds for thirty days', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  const first = traffic.ask();
  await flush();
  first.finish(throttledFor(30 * DAY_MS));
  const waiting = traffic.ask({ patienceMs: 31 * DAY_MS });
  await clock.advance(1_000);
  assert.equal(waiting.state, 'waiting');
  await clock.advance(29 * DAY_MS);
  assert.equal(waiting.state, 'waiting');
  assert.deepEqual(
    { kind: waiting.exchange.stage.kind, untilAt: waiting.exchange.stage.untilAt },
    { kind: 'paused', untilAt: first.lane.pausedUntil },
  );
  await clock.advance(DAY_MS);
  assert.equal(waiting.state, 'admitted');
});

test('a pause that does not fit the patience is answered at once with what is left of it', async () => {
  const traffic = new Traffic();
  const first = traffic.ask();
  await flush();
  first.finish(throttledFor(100_000));
  await traffic.clock.advance(10_000);
  const late = traffic.ask({ patienceMs: 60_000 });
  await flush();
  assert.equal(late.refusal.stop, 'lane_paused');
  assert.equal(late.refusal.retryAfterMs, 90_000);
});

test('those whom a new pause leaves without a chance are told when it begins', async () => {
  const traffic = new Traffic();
  const [first, hasty, patient] = [
    traffic.ask(),
    traffic.ask({ patienceMs: 5_000 }),
    traffic.ask({ patienceMs: 50_000 }),
  ];
  await flush();
  first.finish(throttledFor(10_000));
  await flush();
  assert.equal(hasty.refusal.stop, 'lane_paused');
  assert.equal(patient.state, 'waiting');
});

test('a longer word extends a running pause and a shorter one never shortens it', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  await traffic.warmUp();
  const [a, b, c] = traffic.askMany(3);
  await flush();
  const startAt = clock.now();
  a?.finish(throttledFor(10_000));
  await clock.advance(1_000);
  b?.finish(throttledFor(3_000));
  assert.equal(a?.lane.pausedUntil, startAt + 10_000);
  c?.finish(throttledFor(20_000));
  assert.equal(a?.lane.pausedUntil, startAt + 21_000);
  assert.deepEqual(
    traffic.eventsOf('lane_paused').map((e) => e.untilAt - startAt),
    [10_000, 21_000],
  );
});

test('replies already under way when the pause began do not lower the rate again', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  await traffic.warmUp({}, 20);
  await clock.advance(1_000);
  const all = traffic.askMany(10);
  await clock.advance(100);
  all[0]?.finish(throttledFor(5_000));
  const rate = traffic.lanes.list()[0]?.rate;
  assert.ok(typeof rate === 'number');
  for (const one of all.slice(1)) one.finish(throttledFor(5_000));
  const after = traffic.lanes.list()[0]?.rate;
  assert.ok(typeof after === 'number' && after >= rate * 0.9, `${after} against ${rate}`);
});

test('what still runs from before a pause does not hold up the opening after it', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  await traffic.warmUp();
  const running = traffic.askMany(5);
  await clock.advance(100);
  running[0]?.finish(throttledFor(1_000));
  const next = traffic.ask();
  await clock.advance(1_100);
  assert.deepEqual(states(running).length, startedOnes(running).length);
  assert.equal(next.state, 'admitted');
});

test('a throttle that names no time is waited out with a growing pause that is never near zero', async () => {
  const traffic = new Traffic({ random: () => 0 });
  const { clock } = traffic;
  const pauses: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    const one = traffic.ask();
    await clock.advance(0);
    one.finish(throttledFor());
    pauses.push(one.lane.pausedUntil - clock.now());
    await clock.advanceTo(one.lane.pausedUntil);
  }
  assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 8_000]);
  const good = traffic.ask();
  await clock.advance(60_000);
  good.finish(ok);
  const again = traffic.ask();
  await clock.advance(60_000);
  again.finish(throttledFor());
  assert.equal(again.lane.pausedUntil - clock.now(), 500, 'a good reply ends the row');
});

test('a backoff of zero does not become a busy loop', async () => {
  const traffic = new Traffic();
  const policy = { backoff: { baseMs: 0 } };
  const one = traffic.ask({ policy });
  await flush();
  one.finish(throttledFor());
  assert.ok(one.lane.pausedUntil >= traffic.clock.now() + 100);
});

test('a good reply that says nothing is left quiets the lane before it is throttled', async () => {
  const traffic = new Traffic();
  await traffic.warmUp();
  const rate = traffic.lanes.list()[0]?.rate;
  const one = traffic.ask();
  await flush();
  one.finish({
    fault: 'none',
    reason: 'ok',
    evidence: { kind: 'status', status: 200 },
    paceMs: 8_000,
  });
  const next = traffic.ask();
  await traffic.clock.advance(7_999);
  assert.equal(next.state, 'waiting');
  await traffic.clock.advance(1);
  assert.equal(next.state, 'admitted');
  assert.equal(traffic.lanes.list()[0]?.rate, rate);
});

test('a site that always throttles gets one request per pause', async () => {
  const traffic = new Traffic();
  const { clock } = traffic;
  const all = traffic.askMany(1_000, { patienceMs: 3_600_000 });
  let sent = 0;
  for (let pause = 0; pause < 20; pause += 1) {
    await flush();
    const out = startedOnes(all);
    assert.equal(out.length, 1);
    for (const one of out) {
      sent += 1;
      one.finish(throttledFor(5_000));
      void one.admit();
    }
    await clock.advance(5_200);
  }
  assert.equal(sent, 20);
  assert.equal(traffic.lanes.list()[0]?.waiting, 999);
});

test('pauses of one host leave every other host alone', async () => {
  const traffic = new Traffic();
  const first = traffic.ask({ host: 'a.test' });
  await flush();
  first.finish(throttledFor(60_000));
  const held = traffic.askMany(300, { host: 'a.test', patienceMs: 120_000 });
  const other = traffic.ask({ host: 'b.test' });
  await flush();
  assert.equal(other.state, 'admitted');
  assert.deepEqual(startedOnes(held), []);
  assert.equal(traffic.clock.pending, 1, 'one timer, however many wait');
});

test('a queue takes no more than it may and refuses the rest at once', async () => {
  const traffic = new Traffic();
  const first = traffic.ask({ host: 'a.test' });
  await flush();
  first.finish(throttledFor(30_000));
  const all = traffic.askMany(10_000, { host: 'a.test' });
  await flush();
  const refused = all.filter((one) => one.state !== 'waiting');
  assert.equal(refused.length, 9_000);
  assert.deepEqual([...new Set(states(refused))], ['queue_full']);
  assert.ok(refused.every((one) => (one.refusal.retryAfterMs ?? 0) >= 30_000));
  assert.equal(traffic.lanes.list()[0]?.waiting, 1_000);
});

test('an exchange that was sent before finds its place again in a full queue', async () => {
  const traffic = new Traffic();
  const policy = { pace: { queue: 2 } };
  const first = traffic.ask({ policy });
  const others = traffic.askMany(3, { policy });
  await flush();
  assert.deepEqual(states(others), ['waiting', 'waiting', 'queue_full']);
  first.finish(throttledFor(2_000));
  void first.admit();
  await flush();
  assert.equal(first.state, 'waiting');
  await traffic.clock.advance(2_100);
  assert.equal(first.state, 'admitted', 'and goes before those that came after it');
});

test('one page that hangs does not keep the rest of a new host waiting for ever', async () => {
  const traffic = new Traffic();
  const hanging = traffic.ask();
  const next = traffic.ask();
  await traffic.clock.advance(4_999);
  assert.equal(hanging.state, 'admitted');
  assert.equal(next.state, 'waiting');
  await traffic.clock.advance(1);
  assert.equal(next.state, 'admitted');
});

test('replies that are the client’s to bear open the lane too, failures do not', async () => {
  const traffic = new Traffic();
  const policy = { breaker: { consecutive: 1_000, minAttempts: 1_000 } };
  for (const [host, verdict, width] of [
    ['a.test', notFound, 4],
    ['b.test', overloaded, 1],
  ] as const) {
    for (let n = 0; n < 3; n += 1) {
      const one = traffic.ask({ host, policy });
      await flush();
      one.finish(verdict);
    }
    const all = traffic.askMany(20, { host, policy });
    await flush();
    assert.equal(startedOnes(all).length, width, host);
  }
});
