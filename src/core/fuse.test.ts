import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Fuse, fuseState, newFuse, recordAuth } from './fuse.ts';

const policy = { limit: 3, cooldownMs: 60_000 };

function refuse(fuse: Fuse, times: number, now = 0, credential = 'a', status = 401): Fuse {
  for (let i = 0; i < times; i++) fuse = recordAuth(fuse, { credential, status }, now, policy).fuse;
  return fuse;
}

test('it blows at the third refusal in a row, once, with the last status', () => {
  const two = refuse(newFuse(), 2, 1000);
  assert.deepEqual(fuseState(two, 'a', 1000), { kind: 'whole' });
  const third = recordAuth(two, { credential: 'a', status: 403 }, 1000, policy);
  assert.equal(third.blown, true);
  assert.deepEqual(fuseState(third.fuse, 'a', 1000), {
    kind: 'blown',
    status: 403,
    untilAt: 61_000,
  });
});

test('a success between mends it', () => {
  const mended = recordAuth(
    refuse(newFuse(), 2),
    { credential: 'a', status: undefined },
    0,
    policy,
  ).fuse;
  assert.deepEqual(mended, newFuse());
  assert.deepEqual(fuseState(refuse(mended, 2), 'a', 0), { kind: 'whole' });
});

test('a success mends a blown fuse too', () => {
  const blown = refuse(newFuse(), 3);
  const { fuse } = recordAuth(blown, { credential: 'a', status: undefined }, 1, policy);
  assert.deepEqual(fuseState(fuse, 'a', 1), { kind: 'whole' });
});

test('other credentials are not concerned', () => {
  const blown = refuse(newFuse(), 3);
  assert.deepEqual(fuseState(blown, 'b', 0), { kind: 'whole' });
});

test('refusals still in flight when it blew neither prolong it nor blow it again', () => {
  const blown = refuse(newFuse(), 3, 1000);
  const late = recordAuth(blown, { credential: 'a', status: 401 }, 30_000, policy);
  assert.equal(late.blown, false);
  assert.deepEqual(fuseState(late.fuse, 'a', 60_999), {
    kind: 'blown',
    status: 401,
    untilAt: 61_000,
  });
  assert.deepEqual(fuseState(late.fuse, 'a', 61_000), { kind: 'whole' });
});

test('after the cool-down one more refusal blows it again', () => {
  const again = recordAuth(refuse(newFuse(), 3), { credential: 'a', status: 401 }, 60_000, policy);
  assert.equal(again.blown, true);
  assert.deepEqual(fuseState(again.fuse, 'a', 60_000), {
    kind: 'blown',
    status: 401,
    untilAt: 120_000,
  });
});

test('a limit of 0 turns it off', () => {
  let fuse = newFuse();
  for (let i = 0; i < 50; i++) {
    const next = recordAuth(fuse, { credential: 'a', status: 401 }, 0, { ...policy, limit: 0 });
    assert.equal(next.blown, false);
    fuse = next.fuse;
  }
  assert.deepEqual(fuseState(fuse, 'a', 0), { kind: 'whole' });
});

test('a limit of 1 blows at the first refusal', () => {
  const first = recordAuth(newFuse(), { credential: 'a', status: 401 }, 0, { ...policy, limit: 1 });
  assert.equal(first.blown, true);
});

test('64 credentials are kept: the oldest count is forgotten before a blown fuse', () => {
  let fuse = refuse(newFuse(), 3, 0, 'blown');
  fuse = refuse(fuse, 2, 0, 'oldest');
  for (let i = 0; i < 63; i++) fuse = refuse(fuse, 1, 0, `c${i}`);
  assert.equal(fuse.strikes.length, 64);
  assert.equal(fuseState(fuse, 'blown', 0).kind, 'blown');
  assert.equal(fuseState(refuse(fuse, 1, 0, 'oldest'), 'oldest', 0).kind, 'whole');
});

test('a refusal makes its credential the youngest', () => {
  let fuse = refuse(newFuse(), 2, 0, 'a');
  for (let i = 0; i < 63; i++) fuse = refuse(fuse, 1, 0, `c${i}`);
  fuse = refuse(fuse, 0, 0, 'a');
  fuse = refuse(fuse, 1, 0, 'c0');
  fuse = refuse(fuse, 1, 0, 'new');
  assert.equal(
    fuse.strikes.some((s) => s.credential === 'a'),
    false,
  );
  assert.equal(fuse.strikes.find((s) => s.credential === 'c0')?.refusals, 2);
});

test('with all 64 blown the oldest goes', () => {
  let fuse = newFuse();
  for (let i = 0; i < 65; i++) fuse = refuse(fuse, 3, i, `c${i}`);
  assert.equal(fuse.strikes.length, 64);
  assert.equal(fuseState(fuse, 'c1', 100).kind, 'blown');
  assert.equal(fuseState(fuse, 'c64', 100).kind, 'blown');
});

test('whatever happens: bounded, stored unchanged, and no refusal within a cool-down blows it anew', () => {
  const step = fc.record({
    waitMs: fc.nat(40_000),
    credential: fc.nat(70).map(String),
    status: fc.constantFrom(401, 403, undefined),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let fuse = newFuse();
      let now = 0;
      for (const { waitMs, credential, status } of steps) {
        now += waitMs;
        const before = fuseState(fuse, credential, now);
        const next = recordAuth(fuse, { credential, status }, now, policy);
        if (before.kind === 'blown') assert.equal(next.blown, false);
        fuse = next.fuse;
        if (next.blown) assert.equal(fuseState(fuse, credential, now).kind, 'blown');
        assert.ok(fuse.strikes.length <= 64);
        assert.deepEqual(JSON.parse(JSON.stringify(fuse)), fuse);
      }
    }),
  );
});
