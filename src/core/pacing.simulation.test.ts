import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bracket } from '../../bench/pacing-laws.ts';
import { measure, scenarios } from '../../bench/pacing-scenarios.ts';

describe('against simulated sites', () => {
  const bounds: Record<string, { median: number; worst: number; events: number }> = {
    'bucket, Retry-After 1 s': { median: 1.1, worst: 1.1, events: 12 },
    'bucket, Retry-After 2 s': { median: 1.1, worst: 1.1, events: 10 },
    'bucket, no Retry-After': { median: 1.1, worst: 1.1, events: 12 },
    'window of 10 s': { median: 1.1, worst: 1.1, events: 14 },
    'demand at half the limit, then backlog': { median: 1.1, worst: 1.1, events: 12 },
    'limit halves after 10 min': { median: 1.1, worst: 1.15, events: 22 },
    'limit doubles after 10 min': { median: 1.15, worst: 1.25, events: 18 },
    '5 per s and 1200 per 10 min': { median: 1.1, worst: 1.1, events: 14 },
  };
  const all = scenarios();
  for (const [name, bound] of Object.entries(bounds)) {
    test(`${name}: near the limit, with few throttles and no strikes`, () => {
      const scenario = all.find((one) => one.name === name);
      assert.ok(scenario);
      const row = measure(bracket, scenario);
      assert.equal(row.strikes, 0);
      assert.ok(row.median <= bound.median && row.worst <= bound.worst, JSON.stringify(row));
      assert.ok(row.events <= bound.events, JSON.stringify(row));
    });
  }
});
