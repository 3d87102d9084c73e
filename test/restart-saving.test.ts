import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setTimeout as realTimeout } from 'node:timers';
import { systemClock } from '../src/clock.ts';
import type { Delivery, Exchange } from '../src/exchange/ports.ts';
import type { Json, State } from '../src/store/store.ts';
import { flush } from './support/fake-clock.ts';
import { ok, overloaded, Traffic, throttledFor } from './support/lane-traffic.ts';
import { type Life, Machine } from './support/lives.ts';

/** A disk that writes when it is told to. */
class SlowDisk {
  writes = 0;
  readonly #waiting: (() => void)[] = [];
  readonly state: State = {
    save: () => this.#write(),
    load: async () => undefined,
    rows: () => ({
      put: (_: string, __: Json) => this.#write(),
      delete: () => this.#write(),
      entries: async () => [],
    }),
  };

  finish(): void {
    for (const done of this.#waiting.splice(0)) done();
  }

  #write(): Promise<void> {
    this.writes += 1;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}

async function onSlowDisk() {
  const machine = new Machine();
  const disk = new SlowDisk();
  machine.state = disk.state;
  const life = machine.start();
  const traffic = new Traffic({
    clock: life.clock,
    keep: (...row) => life.saving.keep(...row),
  });
  await life.restore([traffic.lanes.kept]);
  return { disk, life, traffic };
}

const answer = {} as Delivery;

/** Whether the answer has gone out. */
function answered(life: Life, exchange: Exchange): { out: boolean } {
  const seen = { out: false };
  void life.saving
    .durably(async () => answer)(exchange)
    .then(() => {
      seen.out = true;
    });
  return seen;
}

test('the answer that tells of a pause waits for the disk, that of another host does not', async () => {
  const { disk, life, traffic } = await onSlowDisk();
  const one = traffic.ask();
  await flush();
  one.finish(throttledFor(60_000));
  const told = answered(life, one.exchange);
  const learned = answered(life, traffic.make().exchange);
  const other = answered(life, traffic.make({ host: 'other.test' }).exchange);
  await flush();
  assert.deepEqual([told.out, learned.out, other.out], [false, false, true]);
  disk.finish();
  await flush();
  assert.deepEqual([told.out, learned.out], [true, true]);
});

test('a disk that is slow delays an answer by a quarter of a second, and that is told once a minute', async () => {
  const { life, traffic } = await onSlowDisk();
  const one = traffic.ask();
  await flush();
  one.finish(throttledFor(60_000));
  const told = answered(life, one.exchange);
  await life.clock.advance(249);
  assert.equal(told.out, false);
  await life.clock.advance(1);
  assert.equal(told.out, true);
  answered(life, one.exchange);
  await life.clock.advance(250);
  const troubles = () => life.events.filter(({ type }) => type === 'store_trouble').length;
  assert.equal(troubles(), 1);
  await life.clock.advance(60_000);
  answered(life, one.exchange);
  await life.clock.advance(250);
  assert.equal(troubles(), 2);
});

test('a thousand good replies and single failures write nothing, and wait for nothing', async () => {
  const { disk, life, traffic } = await onSlowDisk();
  for (let n = 0; n < 1_000; n += 1) {
    const one = traffic.ask({ host: `h${n % 10}.test` });
    await flush();
    one.finish(n % 23 === 0 ? overloaded : ok);
    const seen = answered(life, one.exchange);
    await flush();
    assert.equal(seen.out, true);
  }
  assert.equal(disk.writes, 0);
  // What was learned goes to the disk together, and a good reply does not wait for that either.
  await life.clock.advance(5_000);
  assert.equal(disk.writes, 10);
  const seen = answered(life, traffic.make({ host: 'h1.test' }).exchange);
  await flush();
  assert.equal(seen.out, true);
});

test('nothing is sent before what was known is known again', async () => {
  const life = new Machine().start();
  let ran = false;
  const run = life.saving.durably(async () => {
    ran = true;
    return answer;
  });
  const running = run(new Traffic().make().exchange);
  await flush();
  assert.equal(ran, false);
  await life.restore([]);
  await running;
  assert.equal(ran, true);
});

test('a table that cannot be read is told, and the proxy starts without it', async () => {
  const machine = new Machine();
  const inner = machine.state;
  machine.state = {
    save: (name, value) => inner.save(name, value),
    load: (name) => inner.load(name),
    rows: (name) => ({
      ...inner.rows(name),
      entries: () => Promise.reject(new Error('torn')),
    }),
  };
  const life = machine.start();
  await life.restore([new Traffic().lanes.kept]);
  const [trouble] = life.events;
  assert.ok(trouble?.type === 'store_trouble' && trouble.message.includes('torn'));
});

test('the clock of a running process takes no notice of a wall clock that is set', async (t) => {
  const before = systemClock.now();
  t.after(() => mock.timers.reset());
  mock.timers.enable({ apis: ['Date'], now: before + 86_400_000 });
  assert.ok(Math.abs(systemClock.now() - before) < 60_000);
  const { promise, resolve } = Promise.withResolvers<string>();
  systemClock.after(5, () => resolve('in time'));
  const bound = realTimeout(() => resolve('late'), 30_000);
  mock.timers.setTime(before - 86_400_000);
  assert.equal(await promise, 'in time');
  clearTimeout(bound);
  assert.ok(systemClock.now() >= before);
});
