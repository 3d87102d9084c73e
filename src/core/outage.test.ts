import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  answered,
  cutOff,
  failedToConnect,
  type Network,
  networkTurn,
  newNetwork,
  type Sign,
  startedUnder,
  wasCutOff,
} from './outage.ts';

const T = Date.UTC(2026, 0, 1);

function after(
  signs: readonly Partial<Sign>[],
  o: { upstreams?: number; everyMs?: number } = {},
): Network {
  return signs.reduce<Network>((network, sign, i) => {
    const at = T + i * (o.everyMs ?? 100);
    const host = sign.host ?? `h${i}`;
    const whole = { at, host, door: host, upstream: 'direct', kind: 'sure', ...sign } as const;
    return failedToConnect(network, whole, o.upstreams ?? 1, at);
  }, newNetwork);
}

test('three hosts in a row that cannot be connected to are an outage; two, or one three times, are not', () => {
  assert.equal(after([{}, {}, {}]).state, 'out');
  assert.equal(after([{}, {}]).state, 'up');
  assert.equal(after([{ host: 'a' }, { host: 'a' }, { host: 'a' }]).state, 'up');
});

test('failures long apart are no outage', () => {
  assert.equal(after([{}, {}, {}], { everyMs: 10_000 }).state, 'up');
});

test('an answer between is the end of the row', () => {
  const two = answered(after([{}, {}]), T + 150);
  const sign = { at: T + 200, host: 'h9', door: 'h9', upstream: 'direct', kind: 'sure' } as const;
  assert.equal(failedToConnect(two, sign, 1, T + 200).state, 'up');
});

test("one upstream's shut door is that upstream's trouble", () => {
  const door = { door: 'gate.test', upstream: 'gate' };
  assert.equal(after([door, door, door, door]).state, 'up');
});

test('where there is a second upstream, hanging dials of the first are not enough', () => {
  const hanging = { kind: 'unsure', upstream: 'list' } as const;
  assert.equal(after([hanging, hanging, hanging], { upstreams: 2 }).state, 'up');
  assert.equal(after([hanging, hanging, hanging], { upstreams: 1 }).state, 'out');
  const both = [hanging, hanging, { ...hanging, upstream: 'other' }];
  assert.equal(after(both, { upstreams: 2 }).state, 'out');
});

test('in an outage one probe a second goes out, and no host twice while another waits', () => {
  let network = cutOff(newNetwork, T);
  assert.deepEqual(networkTurn(network, 'a', T), { kind: 'at', at: T + 1000 });
  assert.deepEqual(networkTurn(network, 'a', T + 1000), { kind: 'go' });
  network = startedUnder(network, 'a', T + 1000);
  assert.deepEqual(networkTurn(network, 'b', T + 1000), { kind: 'at', at: T + 2000 });
  assert.deepEqual(networkTurn(network, 'a', T + 2000), { kind: 'at', at: T + 2020 });
});

test('after the first answer twice as many start with every step, and all within two seconds', () => {
  let network = answered(cutOff(newNetwork, T), T + 5000);
  const started: number[] = [];
  for (let now = T + 5000; now <= T + 7000; now += 10) {
    while (started.length < 3000 && networkTurn(network, 'a', now).kind === 'go') {
      network = startedUnder(network, 'a', now);
      started.push(now - T - 5000);
    }
  }
  const within = (ms: number) => started.filter((at) => at < ms).length;
  assert.deepEqual([200, 400, 600, 1000].map(within), [1, 2, 4, 16]);
  assert.equal(started.length, 3000);
  assert.equal(network.state, 'up');
});

test('what began before the end of an outage may have failed by it', () => {
  const back = answered(cutOff(newNetwork, T), T + 5000);
  assert.ok(wasCutOff(cutOff(newNetwork, T), T + 1));
  assert.ok(wasCutOff(back, T + 4999));
  assert.ok(!wasCutOff(back, T + 5000));
  assert.ok(!wasCutOff(newNetwork, T));
});

test('an outage that is on begins no second time, and its state survives JSON', () => {
  const out = cutOff(newNetwork, T);
  assert.equal(cutOff(out, T + 9), out);
  for (const state of [newNetwork, out, answered(out, T), after([{}])]) {
    assert.deepEqual(JSON.parse(JSON.stringify(state)), state);
  }
});
