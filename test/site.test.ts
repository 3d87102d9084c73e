import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chance } from './support/chance.ts';
import { type RulesOptions, type Ruling, SiteRules } from './support/site-rules.ts';

const LIMIT = { ratePerSecond: 10, burst: 2, retryAfterMs: 1000 };

/** The rulings' kinds for visits at these times, all from one address unless told. */
function rulings(rules: SiteRules, visits: readonly (readonly [at: number, from?: string])[]) {
  return visits.map(([at, from = 'a']) => rules.judge({ address: from, path: `/${at}` }, at));
}

function kinds(found: readonly Ruling[]): string[] {
  return found.map((ruling) => {
    return ruling.kind === 'throttle' && ruling.strike ? 'strike' : ruling.kind;
  });
}

/** Visits of addresses 1 to n, all at one time. */
function crowd(n: number, at: number): (readonly [number, string])[] {
  return Array.from({ length: n }, (_, k) => [at, `${k + 1}`]);
}

function newRules(options: Omit<RulesOptions, 'seed'>): SiteRules {
  return new SiteRules({ seed: 1, ...options });
}

test('a bucket lets its burst in, closes, and opens again after Retry-After', () => {
  const rules = newRules({ perAddress: LIMIT });
  const found = rulings(rules, [[0], [0], [0], [1000], [1000], [1000]]);
  assert.deepEqual(kinds(found), ['serve', 'serve', 'throttle', 'serve', 'serve', 'throttle']);
  assert.deepEqual(found[2], { kind: 'throttle', retryAfterMs: 1000, strike: false });
});

test('a bucket refills at its rate', () => {
  const rules = newRules({ perAddress: LIMIT });
  const paced = Array.from({ length: 50 }, (_, n) => [n * 101] as const);
  assert.ok(kinds(rulings(rules, paced)).every((kind) => kind === 'serve'));
});

test('each address has its own bucket', () => {
  const rules = newRules({ perAddress: { ...LIMIT, burst: 1 } });
  const found = rulings(rules, [[0], [0, 'b'], [0], [0, 'c']]);
  assert.deepEqual(kinds(found), ['serve', 'serve', 'throttle', 'serve']);
});

test('a request within the grace of a pause is no strike, a later one is', () => {
  const rules = newRules({ perAddress: { ...LIMIT, burst: 1 } });
  const found = rulings(rules, [[0], [0], [250], [251], [999], [1000]]);
  assert.deepEqual(kinds(found), ['serve', 'throttle', 'throttle', 'strike', 'strike', 'serve']);
  assert.deepEqual(found[4], { kind: 'throttle', retryAfterMs: 1, strike: true });
  assert.equal(rules.damage.strikes, 2);
  assert.equal(rules.damage.bans, 0);
});

test('three strikes ban the address for a minute, and nobody else', () => {
  const rules = newRules({ perAddress: { ...LIMIT, burst: 1 } });
  rulings(rules, [[0], [0], [300], [400], [500]]);
  assert.equal(rules.damage.bans, 1);
  const later = rulings(rules, [[600], [60_499], [600, 'b'], [60_500]]);
  assert.deepEqual(kinds(later), ['block', 'block', 'serve', 'serve']);
});

test('the second ban is twice as long', () => {
  const rules = newRules({ perAddress: { ...LIMIT, burst: 1 } });
  rulings(rules, [[0], [0], [300], [400], [500]]);
  rulings(rules, [[70_000], [70_000], [70_300], [70_400], [70_500]]);
  assert.equal(rules.damage.bans, 2);
  assert.deepEqual(kinds(rulings(rules, [[190_499], [190_500]])), ['block', 'serve']);
});

test('a ban shows as a 403 or as a challenge page, both about as often', () => {
  const rules = newRules({ burned: () => true });
  const found = rulings(
    rules,
    Array.from({ length: 400 }, (_, n) => [n] as const),
  );
  const challenges = found.filter((r) => r.kind === 'block' && r.how === 'challenge').length;
  assert.ok(found.every(({ kind }) => kind === 'block'));
  assert.ok(challenges > 150 && challenges < 250, `${challenges} of 400`);
});

test('a limit of the whole site holds whatever the address', () => {
  const rules = newRules({ wholeSite: { ...LIMIT, burnAbove: 3 } });
  assert.deepEqual(kinds(rulings(rules, crowd(4, 0))), ['serve', 'serve', 'throttle', 'throttle']);
  assert.equal(rules.damage.strikes, 0);
});

test('as many pressing addresses as are suffered only get strikes', () => {
  const rules = newRules({ wholeSite: { ...LIMIT, burnAbove: 3 } });
  rulings(rules, [...crowd(3, 0), ...crowd(3, 500)]);
  assert.equal(rules.damage.poolBurns, 0);
  assert.equal(rules.damage.bans, 0);
});

test('one more burns the pool: all that pressed on in this pause are banned', () => {
  const rules = newRules({ wholeSite: { ...LIMIT, burnAbove: 3 } });
  rulings(rules, [...crowd(3, 0), ...crowd(5, 500)]);
  assert.equal(rules.damage.poolBurns, 1);
  assert.equal(rules.damage.bans, 5);
  const later = kinds(rulings(rules, crowd(6, 2000)));
  assert.deepEqual(later, ['block', 'block', 'block', 'block', 'block', 'serve']);
});

test('addresses that press on in different pauses do not burn the pool', () => {
  const rules = newRules({ wholeSite: { ...LIMIT, burnAbove: 3 } });
  const pauses = [0, 2000, 4000, 6000].flatMap((at, n) => [
    ...crowd(3, at),
    [at + 500, `x${n}`] as const,
  ]);
  rulings(rules, pauses);
  assert.equal(rules.damage.strikes, 4);
  assert.equal(rules.damage.poolBurns, 0);
});

test('an outage begins after so many replies, takes every request, ends by time and stays away', () => {
  const rules = newRules({ outage: { afterServed: 2, lastsMs: 1000 } });
  const found = rulings(rules, [[0], [10], [20], [500], [1019], [1020], [9000]]);
  const expected = ['serve', 'serve', 'outage', 'outage', 'outage', 'serve', 'serve'];
  assert.deepEqual(kinds(found), expected);
  assert.equal(rules.damage.requestsIntoOutage, 3);
});

test('isolated faults have their share, and each kind comes', () => {
  const rules = newRules({ faultRatio: 0.04 });
  const found = rulings(
    rules,
    Array.from({ length: 3000 }, (_, n) => [n] as const),
  );
  const faults = found.filter((ruling) => ruling.kind === 'fault');
  assert.ok(faults.length > 80 && faults.length < 160, `${faults.length} of 3000`);
  for (const how of ['reset', 'status', 'cut_short']) {
    assert.ok(faults.filter((ruling) => ruling.how === how).length > 15, how);
  }
});

test('the same visits meet the same site, in whatever order they come', () => {
  const paths = Array.from({ length: 300 }, (_, n) => `/items/${n}`);
  const meet = (order: readonly string[]) => {
    const rules = newRules({ faultRatio: 0.2 });
    return new Map(order.map((path) => [path, rules.judge({ address: 'a', path }, 0)]));
  };
  const forwards = meet(paths);
  const backwards = meet(paths.toReversed());
  for (const path of paths) assert.deepEqual(forwards.get(path), backwards.get(path));
});

test('chance is even, and neighbours are strangers', () => {
  const rolls = Array.from({ length: 10_000 }, (_, n) => chance('even', n));
  const tenths = Array.from({ length: 10 }, (_, n) => {
    return rolls.filter((roll) => roll >= n / 10 && roll < (n + 1) / 10).length;
  });
  assert.ok(Math.min(...tenths) > 850 && Math.max(...tenths) < 1150, tenths.join(' '));
  const rises = rolls.filter((roll, n) => roll > (rolls[n - 1] ?? 1)).length;
  assert.ok(rises > 4700 && rises < 5300, `${rises}`);
});
