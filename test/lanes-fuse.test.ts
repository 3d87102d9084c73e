import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../src/lanes/auth-fuse.ts';
import { flush } from './support/fake-clock.ts';
import { blocked, ok, states, Traffic, unauthorized } from './support/lane-traffic.ts';

const headers = ['Cookie', 'sid=dead'];

async function refuse(traffic: Traffic, times: number, ask = {}): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const one = traffic.ask({ headers, ...ask });
    await flush();
    one.finish(unauthorized);
  }
}

test('credentials refused three times in a row are refused locally, with the status the host gave', async () => {
  const traffic = new Traffic();
  await refuse(traffic, 3);
  const [same, other, none] = [
    traffic.ask({ headers }),
    traffic.ask({ headers: ['Cookie', 'sid=fresh'] }),
    traffic.ask(),
  ];
  await flush();
  assert.deepEqual(same.answer, {
    kind: 'refused',
    stop: 'auth_fuse',
    retryAfterMs: 600_000,
    status: 401,
  });
  assert.ok(other.state !== 'auth_fuse' && none.state !== 'auth_fuse');
  assert.deepEqual(
    traffic.eventsOf('fuse_changed').map((e) => e.state),
    ['blown'],
  );
});

test('the fuse is whole again after its cool-down', async () => {
  const traffic = new Traffic();
  await refuse(traffic, 3);
  await traffic.clock.advance(600_000);
  const one = traffic.ask({ headers });
  await flush();
  assert.equal(one.state, 'admitted');
  one.finish(ok);
  assert.deepEqual(
    traffic.eventsOf('fuse_changed').map((e) => e.state),
    ['blown', 'mended'],
  );
});

test('a good reply between begins the count anew', async () => {
  const traffic = new Traffic();
  await refuse(traffic, 2);
  const good = traffic.ask({ headers });
  await flush();
  good.finish(ok);
  await refuse(traffic, 2);
  const one = traffic.ask({ headers });
  await flush();
  assert.equal(one.state, 'admitted');
});

test('one exchange counts once, over however many addresses it was refused', async () => {
  const traffic = new Traffic();
  const rotating = traffic.ask({ headers });
  for (let n = 0; n < 5; n += 1) {
    await flush();
    rotating.finish(blocked, `route-${n}`);
    void rotating.admit();
  }
  await flush();
  assert.equal(rotating.state, 'admitted');
});

test('those who wait with the same credentials are refused when the fuse blows', async () => {
  const traffic = new Traffic();
  const policy = { pace: { concurrency: 1 } };
  await refuse(traffic, 2, { policy });
  const last = traffic.ask({ headers, policy });
  const [same, other] = [traffic.ask({ headers, policy }), traffic.ask({ policy })];
  await flush();
  last.finish(unauthorized);
  await flush();
  assert.deepEqual(states([same, other]), ['auth_fuse', 'admitted']);
});

test('without credentials, or with the fuse turned off, nothing is refused', async () => {
  const traffic = new Traffic();
  await refuse(traffic, 10, { headers: [] });
  await refuse(traffic, 10, { policy: { authFuse: 0 } });
  const all = [traffic.ask(), traffic.ask({ headers, policy: { authFuse: 0 } })];
  await flush();
  assert.ok(!states(all).includes('auth_fuse'));
});

const probe = { url: 'https://shop.test/me', expect: 'Hello' };

for (const [finding, expected, after] of [
  ['credentials', ['blown undefined', 'blown credentials'], 'auth_fuse'],
  ['all_well', ['blown undefined', 'mended all_well'], 'admitted'],
  ['unreachable', ['blown undefined', 'mended unreachable'], 'admitted'],
] as const) {
  test(`a probe is asked once and its finding ${finding} is told`, async () => {
    let asked = 0;
    const answer = Promise.withResolvers<Finding>();
    const traffic = new Traffic({
      probe: (policy) => {
        assert.deepEqual(policy, probe);
        asked += 1;
        return answer.promise;
      },
    });
    await refuse(traffic, 3, { policy: { probe } });
    await refuse(traffic, 3, { policy: { probe }, headers: ['Authorization', 'Basic eA=='] });
    assert.equal(asked, 1, 'a second fuse blows while the question is out');
    answer.resolve(finding);
    await flush();
    const tellings = traffic.eventsOf('fuse_changed').map((e) => `${e.state} ${e.finding}`);
    assert.deepEqual(tellings.toSpliced(1, 1), expected);
    const one = traffic.ask({ headers, policy: { probe } });
    await flush();
    assert.equal(one.state, after);
  });
}

test('a probe that fails says unreachable', async () => {
  const traffic = new Traffic({ probe: () => Promise.reject(new Error('refused')) });
  await refuse(traffic, 3, { policy: { probe } });
  await flush();
  assert.equal(traffic.eventsOf('fuse_changed').at(-1)?.finding, 'unreachable');
});

test('addresses that met a 403 are remembered by kind of path until a good reply there', async () => {
  const traffic = new Traffic();
  for (const [path, route] of [
    ['/items/1', 'r1'],
    ['/items/22', 'r2'],
    ['/items/22', 'r2'],
    ['/search', 'r3'],
  ] as const) {
    const one = traffic.ask({ path });
    await flush();
    one.finish(blocked, route);
  }
  const { lane } = traffic.make();
  assert.deepEqual(lane.blockedAddresses('/items/333'), ['r1', 'r2']);
  assert.deepEqual(lane.blockedAddresses('/search'), ['r3']);

  const good = traffic.ask({ path: '/items/4' });
  await flush();
  good.finish(ok);
  assert.deepEqual(lane.blockedAddresses('/items/333'), []);
  await traffic.clock.advance(600_000);
  assert.deepEqual(lane.blockedAddresses('/search'), []);
});

test('what is remembered of blocked paths is bounded', async () => {
  const traffic = new Traffic();
  for (let n = 0; n < 20; n += 1) {
    const one = traffic.ask({ path: '/same' });
    await flush();
    one.finish(blocked, `r${n}`);
  }
  const { lane } = traffic.make();
  assert.equal(lane.blockedAddresses('/same').length, 16);
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  for (const path of letters.flatMap((a) => letters.map((b) => `/${a}/${b}`)).slice(0, 256)) {
    const one = traffic.ask({ path });
    await flush();
    one.finish(blocked, 'r1');
  }
  assert.deepEqual(lane.blockedAddresses('/same'), []);
});
