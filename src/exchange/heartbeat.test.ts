import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { policyWith } from '../../test/support/policy.ts';
import type { ProxyEvent } from '../telemetry/events.ts';
import { createHeartbeats } from './heartbeat.ts';
import type { Exchange } from './ports.ts';

test('thousands that are due together are each told once in every span, a few at a time', async () => {
  const clock = new FakeClock(0);
  const told: { readonly at: number; readonly exchange: Exchange }[] = [];
  const heartbeats = createHeartbeats({ clock, emit: (event) => told.push(beat(event)) });
  const waiting = Array.from({ length: 2000 }, () => waitingSince(clock.now()));
  const unwatch = waiting.map((exchange) => heartbeats.watch(exchange));
  await clock.advance(14_000);
  assert.equal(told.length, 0);
  await clock.advance(4000);
  assert.equal(told.length, 2000);
  assert.equal(new Set(told.map(({ exchange }) => exchange)).size, 2000);
  const atOnce = Map.groupBy(told, ({ at }) => at);
  assert.ok(Math.max(...[...atOnce.values()].map(({ length }) => length)) <= 20);
  await clock.advance(15_000);
  assert.equal(told.length, 4000);
  for (const stop of unwatch) stop();
  assert.equal(clock.pending, 0);
});

test('a wait is told after a whole span in one stage, and its end stops the timer', async () => {
  const clock = new FakeClock(0);
  const told: number[] = [];
  const heartbeats = createHeartbeats({ clock, emit: (event) => told.push(event.at) });
  const exchange = waitingSince(0);
  const stop = heartbeats.watch(exchange);
  await clock.advance(10_000);
  exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
  await clock.advance(40_500);
  assert.deepEqual(told, [25_000, 40_000]);
  stop();
  assert.equal(clock.pending, 0);
});

const policy = policyWith();

function waitingSince(startedAt: number): Exchange {
  const stage = { kind: 'queued', sinceAt: startedAt, untilAt: undefined };
  return { startedAt, stage, policy } as unknown as Exchange;
}

function beat(event: ProxyEvent) {
  assert.ok(event.type === 'heartbeat');
  return { at: event.at, exchange: event.exchange };
}
