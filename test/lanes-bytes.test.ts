import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Wire } from '../src/exchange/ports.ts';
import { flush } from './support/fake-clock.ts';
import { ok, Traffic } from './support/lane-traffic.ts';

const policy = { byteBudget: { perDay: 1_000 } };

/** A connection whose bytes are counted by hand. */
function wireOf(sentBytes: number) {
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const wire = { closed, close, sentBytes, receivedBytes: 0 };
  return wire satisfies Wire;
}

async function asked(traffic: Traffic, o: { readonly redrive?: boolean } = {}) {
  const one = traffic.make({ host: 'dear.test', policy });
  if (o.redrive) Object.assign(one.exchange, { priority: 'redrive' });
  void one.admit();
  await flush();
  return one;
}

test('bytes count while they pass, and once when the wire is let go', async () => {
  const traffic = new Traffic();
  const { lane } = await asked(traffic);
  const wire = wireOf(100);
  lane.spend(wire);
  assert.equal(lane.bytesLeft, 'all');
  wire.receivedBytes = 700;
  assert.equal(lane.bytesLeft, 'first_tries', 'the body is still under way');
  wire.close();
  await flush();
  assert.equal(lane.bytesLeft, 'first_tries');
  lane.spend(wireOf(200));
  assert.equal(lane.bytesLeft, 'none');
});

test('retries stop first, then everything, until midnight UTC', async () => {
  const traffic = new Traffic();
  const first = await asked(traffic);
  first.lane.spend(wireOf(800));
  first.finish(ok);
  const retried = await asked(traffic, { redrive: true });
  assert.equal(retried.state, 'byte_budget_spent', 'a redrive is a retry');
  const second = await asked(traffic);
  assert.equal(second.state, 'admitted');
  second.finish(ok);

  first.lane.spend(wireOf(200));
  const late = await asked(traffic);
  assert.equal(late.state, 'byte_budget_spent');
  const day = 24 * 3_600_000;
  assert.equal(late.refusal.retryAfterMs, Math.ceil(day - (traffic.clock.now() % day)));
  assert.equal(traffic.ask({ host: 'cheap.test' }).lane.bytesLeft, 'all', 'other hosts go on');
});

test('who waits while others spend the rest is not sent any more, and blocks nobody', async () => {
  const traffic = new Traffic();
  const one = { concurrency: 1 };
  const first = traffic.ask({ host: 'dear.test', policy: { ...policy, pace: one } });
  const second = traffic.ask({ host: 'dear.test', policy: { ...policy, pace: one } });
  const free = traffic.ask({ host: 'dear.test', policy: { pace: one } });
  await flush();
  assert.deepEqual([first.state, second.state], ['admitted', 'waiting']);
  first.lane.spend(wireOf(1_000));
  first.finish(ok);
  await flush();
  assert.equal(second.state, 'byte_budget_spent');
  assert.equal(free.state, 'admitted', 'its place went to the next');
});

test('what a day has cost survives a restart', async () => {
  const traffic = new Traffic();
  const { lane } = await asked(traffic);
  const wire = wireOf(1_000);
  lane.spend(wire);
  wire.close();
  await flush();
  const after = new Traffic({ clock: traffic.clock });
  after.lanes.restore(JSON.parse(JSON.stringify(traffic.lanes.snapshot())));
  assert.equal((await asked(after)).state, 'byte_budget_spent');
});
