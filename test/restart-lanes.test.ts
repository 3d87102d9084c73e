import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flush } from './support/fake-clock.ts';
import { overloaded, Traffic, throttledFor, unauthorized } from './support/lane-traffic.ts';
import { type Life, Machine } from './support/lives.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const credentials = ['Cookie', 'a=b'];

async function trafficOf(life: Life): Promise<Traffic> {
  const { clock, saving } = life;
  const traffic = new Traffic({ clock, keep: (...row) => saving.keep(...row) });
  await life.restore([traffic.lanes.kept]);
  return traffic;
}

/** A process that is told to leave the site alone for an hour, and is killed at once. */
async function pausedFor(machine: Machine, ms: number): Promise<void> {
  const traffic = await trafficOf(machine.start());
  const one = traffic.ask();
  await flush();
  one.finish(throttledFor(ms));
  await flush();
}

/** How long the site is left alone still, by a new process. */
async function leftIn(machine: Machine): Promise<number> {
  const traffic = await trafficOf(machine.start());
  return Math.max(0, traffic.make().lane.pausedUntil - traffic.clock.now());
}

test('a pause of an hour outlives a kill, less the time that has passed', async () => {
  const machine = new Machine();
  await pausedFor(machine, HOUR);
  assert.equal(await leftIn(machine), HOUR);
  machine.pass(600_000);
  assert.equal(await leftIn(machine), HOUR - 600_000);
  machine.pass(HOUR);
  assert.equal(await leftIn(machine), 0);
});

test('a wall clock that is set a day on or back while the proxy is down changes no pause', async () => {
  for (const jump of [DAY, -DAY]) {
    const machine = new Machine();
    await pausedFor(machine, HOUR);
    machine.pass(60_000);
    machine.wall += jump;
    assert.equal(await leftIn(machine), HOUR - 60_000);
  }
});

test('a wall clock that is set while the proxy runs changes no pause, neither there nor after a restart', async () => {
  for (const jump of [DAY, -DAY]) {
    const machine = new Machine();
    const life = machine.start();
    const traffic = await trafficOf(life);
    const one = traffic.ask();
    await flush();
    machine.wall += jump;
    one.finish(throttledFor(HOUR));
    await life.advance(60_000);
    assert.equal(traffic.make().lane.pausedUntil - traffic.clock.now(), HOUR - 60_000);
    assert.equal(await leftIn(machine), HOUR - 60_000);
  }
});

test('after a restart of the machine a pause is as long as its clock says, and never longer than it was', async () => {
  const machine = new Machine();
  await pausedFor(machine, HOUR);
  machine.restart();
  machine.pass(600_000);
  assert.equal(await leftIn(machine), HOUR - 600_000);
  machine.wall -= DAY;
  assert.equal(await leftIn(machine), HOUR);
});

test('a pause that grows is written again, and the row that came last counts', async () => {
  const machine = new Machine();
  const traffic = await trafficOf(machine.start());
  // Both were under way when the first said no.
  await traffic.warmUp();
  const [one, other] = [traffic.ask(), traffic.ask()];
  await flush();
  one.finish(throttledFor(HOUR));
  other.finish(throttledFor(2 * HOUR));
  await flush();
  assert.equal(await leftIn(machine), 2 * HOUR);
});

test('an open breaker and a blown fuse outlive a kill', async () => {
  const machine = new Machine();
  const traffic = await trafficOf(machine.start());
  for (let n = 0; n < 5; n += 1) {
    const failing = traffic.ask({ host: 'broken.test', patienceMs: 1e6 });
    await flush();
    failing.finish(overloaded);
  }
  for (let n = 0; n < 3; n += 1) {
    const refused = traffic.ask({ host: 'login.test', headers: credentials });
    await flush();
    refused.finish(unauthorized);
  }
  await flush();
  machine.pass(1_000);
  const after = await trafficOf(machine.start());
  const broken = after.ask({ host: 'broken.test', patienceMs: 1_000 });
  const login = after.ask({ host: 'login.test', headers: credentials });
  await flush();
  assert.deepEqual([broken.state, login.state], ['breaker_open', 'auth_fuse']);
});

test('a learned rate and budget are saved within seconds, without a stop', async () => {
  const machine = new Machine();
  const life = machine.start();
  const traffic = await trafficOf(life);
  await traffic.warmUp();
  await life.advance(1_000);
  const one = traffic.ask();
  await flush();
  one.finish(throttledFor(2_000));
  one.lane.withdraw();
  await life.advance(5_000);
  const sight = (t: Traffic) => t.lanes.list().find(({ id }) => id === 'shop.test');
  traffic.make();
  const after = await trafficOf(machine.start());
  after.make();
  assert.notEqual(sight(traffic)?.rate, null);
  assert.equal(sight(after)?.rate, sight(traffic)?.rate);
  assert.equal(sight(after)?.budget, sight(traffic)?.budget);
});

test('a host that nobody asked for in a day is not taken back, one that is paused for longer is', async () => {
  const machine = new Machine();
  await pausedFor(machine, 3 * DAY);
  const life = machine.start();
  const traffic = await trafficOf(life);
  await traffic.warmUp({ host: 'idle.test' }, 2);
  await life.saving.saveAll();
  machine.pass(2 * DAY);
  const after = await trafficOf(machine.start());
  assert.deepEqual(
    after.lanes.snapshot().hosts.map(({ host }) => host),
    ['shop.test'],
  );
  await flush();
  const rows = await machine.state.rows('lanes').entries();
  assert.deepEqual(
    rows.map(([key]) => key),
    ['shop.test'],
  );
});

test('rows that are not whole are left out, and what they were of is learned anew', async () => {
  const machine = new Machine();
  const rows = machine.state.rows('lanes');
  const at = { now: 1, wall: 1, uptimeMs: 1, boot: null };
  await rows.put('a.test', 'nonsense');
  await rows.put('b.test', { at: null, value: {} });
  await rows.put('c.test', { at, value: { host: 'c.test' } });
  const traffic = await trafficOf(machine.start());
  assert.deepEqual(traffic.lanes.snapshot().hosts, []);
});
