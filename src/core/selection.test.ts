import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { best, experienced, type Health, least, newHealth, score, warmSize } from './selection.ts';

const T = 1_000_000_000;
const HOUR = 3_600_000;

function lived(story: string, headMs?: number, at = T): Health {
  return [...story].reduce<Health>(
    (health, letter) =>
      experienced(health, { outcome: letter === '+' ? 'good' : 'bad', headMs }, at),
    newHealth,
  );
}

const scoreOf = (story: string, headMs?: number) => score(lived(story, headMs), T);

test('successes raise the score, failures lower it, and one failure costs more than one success earns', () => {
  const unknown = score(newHealth, T);
  assert.ok(scoreOf('+') > unknown);
  assert.ok(scoreOf('-') < unknown);
  assert.ok(unknown - scoreOf('-') > scoreOf('+') - unknown);
  assert.ok(scoreOf('++++++++++-') > scoreOf('+-'));
  assert.ok(scoreOf('+-') < unknown);
});

test('a slow route is worth less than a fast one, but more than one that fails', () => {
  assert.ok(scoreOf('+++', 200) > scoreOf('+++', 8000));
  assert.ok(scoreOf('+++', 8000) > scoreOf('---', 200));
});

test('old experience fades, so that a bad route gets its chance again', () => {
  const bad = lived('-----');
  const unknown = score(newHealth, T);
  assert.ok(score(bad, T + HOUR) > score(bad, T));
  assert.ok(unknown - score(bad, T + 24 * HOUR) < 0.01);
});

test('a failure without a reply says nothing about the time to the head', () => {
  const fast = lived('+', 100);
  assert.equal(experienced(fast, { outcome: 'bad', headMs: undefined }, T).headMs, 100);
});

test('scores lie between 0 and 1 for any story, and the state survives JSON', () => {
  const outcome = fc.constantFrom('good' as const, 'bad' as const);
  const step = fc.record({
    outcome,
    headMs: fc.option(fc.nat(100_000), { nil: undefined }),
    dt: fc.nat(HOUR),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      let now = T;
      let health = newHealth;
      for (const { dt, ...what } of steps) {
        now += dt;
        health = experienced(health, what, now);
        assert.ok(score(health, now) > 0 && score(health, now) <= 1);
      }
      assert.deepEqual(JSON.parse(JSON.stringify(health)), health);
    }),
    { numRuns: 50 },
  );
});

test('the best is taken, and the dice choose among near-equals only', () => {
  const scores: Record<string, number> = { a: 0.9, b: 0.5, c: 0.88 };
  const pick = (roll: number) => best(Object.keys(scores), (name) => scores[name] ?? 0, roll);
  assert.equal(pick(0), 'a');
  assert.equal(pick(0.49), 'a');
  assert.equal(pick(0.5), 'c');
  assert.equal(pick(0.999), 'c');
  assert.equal(
    best([], () => 1, 0.5),
    undefined,
  );
});

test('the least used are all those with the lowest count', () => {
  assert.deepEqual(
    least(['aa', 'b', 'c'], (text) => text.length),
    ['b', 'c'],
  );
  assert.deepEqual(
    least([], () => 0),
    [],
  );
});

test('a lane keeps one route warm, and more only as more is in flight', () => {
  for (const [inFlight, size] of [
    [0, 1],
    [1, 1],
    [8, 1],
    [9, 2],
    [64, 8],
    [5000, 8],
  ] as const) {
    assert.equal(warmSize('auto', inFlight), size);
  }
  assert.equal(warmSize(3, 1), 3);
  assert.equal(warmSize(3, 500), 3);
  assert.equal(warmSize(0, 500), 1);
});
