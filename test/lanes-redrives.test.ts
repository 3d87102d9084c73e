import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flush } from './support/fake-clock.ts';
import { type Ask, type Asked, ok, Traffic, throttledFor } from './support/lane-traffic.ts';

const policy = { pace: { concurrency: 1, queue: 2 } };

function redrive(traffic: Traffic, ask: Ask = {}): Asked {
  const made = traffic.make({ policy, client: 'late', ...ask });
  Object.assign(made.exchange, { priority: 'redrive' });
  void made.admit();
  return made;
}

test('a redrive goes only when nobody waits, however long it has waited itself', async () => {
  const traffic = new Traffic();
  const running = traffic.ask({ policy });
  const waiting = redrive(traffic);
  await traffic.clock.advance(1_000);
  const [first, second] = [traffic.ask({ policy }), traffic.ask({ policy, client: 'b' })];
  running.finish(ok);
  await flush();
  assert.deepEqual([first.state, second.state, waiting.state], ['admitted', 'waiting', 'waiting']);
  first.finish(ok);
  await flush();
  assert.deepEqual([second.state, waiting.state], ['admitted', 'waiting']);
  second.finish(ok);
  await flush();
  assert.equal(waiting.state, 'admitted');
});

test('a redrive in one lane waits for the live traffic in another lane of its host', async () => {
  const traffic = new Traffic();
  const first = traffic.ask({ policy, laneKey: 'a' });
  await flush();
  first.finish(throttledFor(1_000));
  const late = redrive(traffic, { laneKey: 'a' });
  const live = traffic.ask({ policy, laneKey: 'b' });
  // The host opens with one after its pause.
  await traffic.clock.advance(1_500);
  assert.deepEqual([live.state, late.state], ['admitted', 'waiting']);
  live.finish(ok);
  await traffic.clock.advance(5_000);
  assert.equal(late.state, 'admitted');
});

test('redrives that wait take no room in the queue from live traffic', async () => {
  const traffic = new Traffic();
  const running = traffic.ask({ policy });
  const late = [redrive(traffic), redrive(traffic)];
  const live = [traffic.ask({ policy }), traffic.ask({ policy })];
  const more = traffic.ask({ policy });
  await flush();
  assert.equal(running.state, 'admitted');
  assert.deepEqual(
    late.map(({ state }) => state),
    ['waiting', 'waiting'],
  );
  assert.deepEqual(
    live.map(({ state }) => state),
    ['waiting', 'waiting'],
  );
  assert.equal(more.state, 'queue_full');
});

test('a redrive leaves twice the usual distance to the start before it, and room for whoever comes meanwhile', async () => {
  const paced = { pace: { concurrency: 10, queue: 9, ratePerSecond: 10 } };
  const traffic = new Traffic();
  const first = traffic.ask({ policy: paced });
  await flush();
  first.finish(ok);
  const late = redrive(traffic, { policy: paced });
  await traffic.clock.advance(150);
  assert.equal(late.state, 'waiting');
  const live = traffic.ask({ policy: paced });
  await flush();
  assert.equal(live.state, 'admitted');
  live.finish(ok);
  await traffic.clock.advance(199);
  assert.equal(late.state, 'waiting');
  await traffic.clock.advance(1);
  assert.equal(late.state, 'admitted');
});
