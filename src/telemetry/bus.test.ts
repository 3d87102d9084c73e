import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBus } from './bus.ts';
import type { ProxyEvent } from './events.ts';

const paused: ProxyEvent = { type: 'lane_paused', at: 1, lane: 'shop.test', untilAt: 2 };

test('every subscriber gets every event, until it leaves', () => {
  const bus = createBus();
  const first: ProxyEvent[] = [];
  const second: ProxyEvent[] = [];
  const leave = bus.subscribe((event) => first.push(event));
  bus.subscribe((event) => second.push(event));
  bus.emit(paused);
  leave();
  bus.emit(paused);
  assert.deepEqual([first.length, second.length], [1, 2]);
});

test('a failing subscriber reaches neither the pipeline nor the other subscribers', () => {
  const bus = createBus();
  const seen: ProxyEvent[] = [];
  bus.subscribe(() => {
    throw new Error('disk full');
  });
  bus.subscribe((event) => seen.push(event));
  assert.doesNotThrow(() => bus.emit(paused));
  assert.deepEqual(
    seen.filter((event) => event.type === 'lane_paused'),
    [paused],
  );
});

test('a failing subscriber is told about once, to the others', () => {
  const bus = createBus();
  const seen: ProxyEvent[] = [];
  bus.subscribe(() => {
    throw new Error('disk full');
  });
  bus.subscribe((event) => seen.push(event));
  bus.emit(paused);
  bus.emit(paused);
  const notices = seen.filter((event) => event.type === 'notice');
  assert.equal(notices.length, 1);
  assert.match(notices[0]?.message ?? '', /disk full/);
});

test('only failing subscribers: the emitter still sees nothing of it', () => {
  const bus = createBus();
  const fail = () => {
    throw new Error('broken');
  };
  bus.subscribe(fail);
  bus.subscribe(fail);
  assert.doesNotThrow(() => bus.emit(paused));
});

test('the same function may subscribe twice and leave once', () => {
  const bus = createBus();
  let calls = 0;
  const count = () => {
    calls += 1;
  };
  const leave = bus.subscribe(count);
  bus.subscribe(count);
  leave();
  bus.emit(paused);
  assert.equal(calls, 1);
});

test('every event that a subscriber failed at is counted', () => {
  const bus = createBus();
  bus.subscribe(() => {
    throw new Error('disk full');
  });
  bus.subscribe(() => {});
  bus.emit(paused);
  bus.emit(paused);
  assert.equal(bus.failures, 2);
});
