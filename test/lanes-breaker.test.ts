import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Verdict } from '../src/core/verdict.ts';
import { FakeClock, flush } from './support/fake-clock.ts';
import {
  type Ask,
  type Asked,
  blocked,
  notFound,
  ok,
  overloaded,
  startedOnes,
  states,
  Traffic,
  throttledFor,
  unreachableRoute,
} from './support/lane-traffic.ts';

const COOLDOWN_MS = 33_001;

/** Fails so often that the breaker opens. */
async function trip(traffic: Traffic, ask: Ask = {}): Promise<void> {
  for (let n = 0; n < 10; n += 1) {
    const one = traffic.ask({ patienceMs: 1e6, ...ask });
    await flush();
    if (one.state !== 'admitted') {
      one.abort();
      return;
    }
    one.finish(overloaded);
  }
  assert.fail('did not trip');
}

/** Trips, then lets the first probe fail too. */
async function tripTwice(traffic: Traffic): Promise<void> {
  await trip(traffic);
  await traffic.clock.advance(COOLDOWN_MS);
  const probe = traffic.ask();
  await flush();
  probe.finish(overloaded);
}

const breakerOf = (traffic: Traffic): string | undefined => traffic.lanes.list()[0]?.breaker;

test('during the first cool-down exchanges wait and are then let through one at a time', async () => {
  const traffic = new Traffic();
  await trip(traffic);
  const all = traffic.askMany(5);
  await traffic.clock.advance(20_000);
  assert.deepEqual([...new Set(states(all))], ['waiting']);
  assert.equal(all[0]?.exchange.stage.kind, 'breaker');
  await traffic.clock.advance(13_001);
  for (let probe = 1; probe <= 3; probe += 1) {
    assert.equal(startedOnes(all).length, probe);
    startedOnes(all).at(-1)?.finish(ok);
    await flush();
  }
  assert.equal(breakerOf(traffic), 'closed');
  assert.equal(startedOnes(all).length, 5);
  assert.deepEqual(
    traffic.eventsOf('breaker_changed').map((e) => e.state),
    ['open', 'half_open', 'closed'],
  );
});

test('who has not the patience for the cool-down is refused at once', async () => {
  const traffic = new Traffic();
  await trip(traffic);
  const hasty = traffic.ask({ patienceMs: 10_000 });
  await flush();
  assert.equal(hasty.state, 'breaker_open');
  assert.ok((hasty.refusal.retryAfterMs ?? 0) >= 26_000);
});

test('from the second trip in a row all are refused at once, those who wait too', async () => {
  const traffic = new Traffic();
  await trip(traffic);
  const waiting = traffic.askMany(4);
  await traffic.clock.advance(COOLDOWN_MS);
  const [probe] = startedOnes(waiting);
  probe?.finish(overloaded);
  await flush();
  assert.deepEqual(states(waiting), ['admitted', 'breaker_open', 'breaker_open', 'breaker_open']);
  const late = traffic.ask({ patienceMs: 1e9 });
  await flush();
  assert.equal(late.state, 'breaker_open');
  assert.equal(traffic.clock.pending, 0);
});

test('the policy can force the waiting and the refusing', async () => {
  const traffic = new Traffic();
  await tripTwice(traffic);
  const waits = traffic.ask({ policy: { breaker: { whenOpen: 'wait' } }, patienceMs: 1e6 });
  await traffic.clock.advance(66_001);
  assert.equal(waits.state, 'admitted');

  const other = new Traffic();
  await trip(other);
  const refuses = other.ask({ policy: { breaker: { whenOpen: 'refuse' } }, patienceMs: 1e6 });
  await flush();
  assert.equal(refuses.state, 'breaker_open');
});

const endings: readonly (readonly [
  string,
  (probe: Asked, clock: FakeClock) => void | Promise<void>,
])[] = [
  ['its client leaves', (probe) => probe.place.release()],
  ['meets a 404', (probe) => probe.finish(notFound)],
  ['is blamed on its route', (probe) => probe.finish(unreachableRoute)],
  ['never reports', (_, clock) => clock.advance(90_001)],
  ['is throttled', (probe) => probe.finish(throttledFor(1_000))],
  ['is dropped before it is sent', (probe) => probe.place.release()],
];

for (const [ending, end] of endings) {
  test(`a probe that ${ending} does not wedge the breaker`, async () => {
    const traffic = new Traffic();
    await trip(traffic);
    await traffic.clock.advance(COOLDOWN_MS);
    const probe = traffic.ask({ patienceMs: 1e6 });
    await flush();
    assert.equal(typeof probe.place.lease, 'number');
    await end(probe, traffic.clock);
    await traffic.clock.advance(1_100);
    for (let n = 0; n < 3; n += 1) {
      const next = traffic.ask({ patienceMs: 1e6 });
      await flush();
      next.finish(ok);
    }
    assert.equal(breakerOf(traffic), 'closed');
  });
}

test('only the host’s own failures open its breaker', async () => {
  const expected: readonly (readonly [Verdict, string])[] = [
    [notFound, 'closed'],
    [blocked, 'closed'],
    [unreachableRoute, 'closed'],
    [throttledFor(1), 'closed'],
    [{ ...overloaded, reason: 'unexpected' } as Verdict, 'closed'],
    [{ ...overloaded, reason: 'reset' } as Verdict, 'open'],
    [{ ...overloaded, reason: 'slow' } as Verdict, 'open'],
  ];
  for (const [verdict, state] of expected) {
    const traffic = new Traffic();
    for (let n = 0; n < 20; n += 1) {
      const one = traffic.ask({ path: `/${n}`, policy: { breaker: { whenOpen: 'refuse' } } });
      await traffic.clock.advance(500);
      if (one.state === 'admitted') one.finish(verdict);
    }
    assert.equal(breakerOf(traffic), state, verdict.reason);
  }
});

test('what the upstream may have said itself counts once a second route agrees', async () => {
  const ambiguous = { ...overloaded, ambiguous: true } as Verdict;
  for (const [routes, state] of [
    [['r1'], 'closed'],
    [['r1', 'r2'], 'open'],
    [['r2', 'r1', 'r1', 'r1', 'r1', 'r1', 'r1', 'r1', 'r1', 'r1'], 'open'],
  ] as const) {
    const traffic = new Traffic();
    for (let n = 0; n < 10; n += 1) {
      const one = traffic.ask({ policy: { breaker: { whenOpen: 'refuse' } } });
      await flush();
      if (one.state === 'admitted') one.finish(ambiguous, routes[n % routes.length]);
    }
    assert.equal(breakerOf(traffic), state, routes.join());
  }
});

test('a route that fails beside one that is answered fails alone', async () => {
  const ambiguous = { ...overloaded, ambiguous: true } as Verdict;
  const traffic = new Traffic();
  for (const [verdict, route] of [
    [ambiguous, 'r2'],
    [ok, 'r2'],
    ...Array.from({ length: 10 }, () => [ambiguous, 'r1'] as const),
  ] as const) {
    const one = traffic.ask({ policy: { breaker: { whenOpen: 'refuse' } } });
    await flush();
    if (one.state === 'admitted') one.finish(verdict, route);
  }
  assert.equal(breakerOf(traffic), 'closed');
});

test('a thousand failures get their first tries and no more retries than the budget allows', async () => {
  const traffic = new Traffic();
  const policy = {
    breaker: { consecutive: 1e6, minAttempts: 1e6 },
    budget: { ratio: 0.2, floorPerMinute: 18, windowMs: 10_000 },
    pace: { queue: 2_000, concurrency: 200 },
  };
  await traffic.warmUp({ policy }, 200);
  await traffic.clock.advance(60_000);
  let sent = 0;
  const all = traffic.askMany(1_000, { policy });
  for (let round = 0; round < 20; round += 1) {
    await flush();
    for (const one of startedOnes(all)) {
      sent += 1;
      one.finish(overloaded);
      one.answer = undefined;
      if (!one.lane.budgetLeft) continue;
      one.lane.withdraw();
      void one.admit();
    }
  }
  assert.equal(sent, 1_003);
  const other = traffic.make({ host: 'b.test', policy });
  assert.equal(other.lane.budgetLeft, true, 'another host has a budget of its own');
});

test('retries that are cancelled give back what they took, once', () => {
  const traffic = new Traffic();
  const one = traffic.make();
  const refunds = Array.from({ length: 6 }, () => one.lane.withdraw());
  assert.equal(one.lane.budgetLeft, false);
  for (const refund of refunds) {
    refund();
    refund();
  }
  assert.equal(traffic.lanes.list()[0]?.budget, 6);
});

test('each exchange that ends well earns its share of a retry', async () => {
  const traffic = new Traffic();
  await traffic.warmUp({}, 30);
  assert.equal(traffic.lanes.list()[0]?.budget, 6 + 3);
});

test('failures in a row are counted by event and end with a good reply', async () => {
  const traffic = new Traffic();
  await traffic.warmUp();
  const together = traffic.askMany(4);
  await traffic.clock.advance(10);
  for (const one of together) one.finish(overloaded);
  const next = traffic.ask();
  await flush();
  assert.equal(next.lane.failuresInRow, 1, 'those under way together failed together');
  next.finish(overloaded);
  assert.equal(next.lane.failuresInRow, 2);
  const good = traffic.ask();
  await flush();
  good.finish(ok);
  assert.equal(good.lane.failuresInRow, 0);
});

test('one broken host does not slow another', async () => {
  const traffic = new Traffic({ clock: new FakeClock() });
  await trip(traffic, { host: 'broken.test' });
  const other = traffic.ask({ host: 'fine.test' });
  await flush();
  assert.equal(other.state, 'admitted');
});
