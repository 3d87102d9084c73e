import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Budget, budgetLeft, deposit, giveBack, newBudget, withdraw } from './budget.ts';
import type { BudgetPolicy } from './policy.ts';

const policy: BudgetPolicy = { ratio: 0.1, floorPerMinute: 6, windowMs: 60_000 };
const T0 = 1_767_225_600_000;

function deposits(budget: Budget, times: number, now = T0, by = policy): Budget {
  return Array.from({ length: times }).reduce<Budget>((b) => deposit(b, now, by), budget);
}

/** Retries whatever may be retried, asking before each. */
function spend(
  budget: Budget,
  times: number,
  now = T0,
  by = policy,
): { budget: Budget; spent: number } {
  let spent = 0;
  for (let i = 0; i < times && budgetLeft(budget, now, by) > 0; i++) {
    budget = withdraw(budget, now, by);
    spent++;
  }
  return { budget, spent };
}

test('a lane without history has the floor of one window', () => {
  assert.equal(budgetLeft(newBudget(), T0, policy), 6);
  assert.equal(budgetLeft(newBudget(), T0, { ...policy, windowMs: 10_000 }), 1);
  assert.equal(budgetLeft(newBudget(), T0, { ...policy, windowMs: 5000 }), 0);
  assert.equal(budgetLeft(newBudget(), T0, { ...policy, floorPerMinute: 0 }), 0);
});

test('ten deposits of 0.1 are exactly one retry, three of 0.3333333 are none', () => {
  const none = { ...policy, floorPerMinute: 0 };
  assert.equal(budgetLeft(deposits(newBudget(), 9, T0, none), T0, none), 0);
  assert.equal(budgetLeft(deposits(newBudget(), 10, T0, none), T0, none), 1);
  const third = { ...none, ratio: 0.3333333 };
  assert.equal(budgetLeft(deposits(newBudget(), 3, T0, third), T0, third), 0);
  assert.equal(budgetLeft(deposits(newBudget(), 1_000_000, T0, none), T0, none), 100_000);
});

test('in a total outage 1000 exchanges with 3 retries each get the floor and no more', () => {
  const { spent } = spend(newBudget(), 3000);
  assert.equal(spent, 6);
});

test('at 20 % and a floor of 3, 1000 exchanges that end well earn 203 retries, sleeping ones included', () => {
  const by: BudgetPolicy = { ratio: 0.2, floorPerMinute: 18, windowMs: 10_000 };
  const earned = deposits(newBudget(), 1000, T0, by);
  assert.equal(spend(earned, 3000, T0, by).spent, 203);
});

test('what was spent comes back when it has left the window', () => {
  const { budget } = spend(newBudget(), 6);
  assert.equal(budgetLeft(budget, T0 + 53_999, policy), 0);
  assert.equal(budgetLeft(budget, T0 + 60_000, policy), 6);
  assert.equal(budgetLeft(budget, T0 + 3_600_000, policy), 6);
});

test('a hundred cancelled retries are given back', () => {
  const earned = deposits(newBudget(), 1000);
  const before = budgetLeft(earned, T0, policy);
  let { budget } = spend(earned, 100);
  assert.equal(budgetLeft(budget, T0 + 7000, policy), before - 100);
  for (let i = 0; i < 100; i++) budget = giveBack(budget, T0, T0 + 7000, policy);
  assert.equal(budgetLeft(budget, T0 + 7000, policy), before);
});

test('a retry given back after its slot has left the window earns nothing', () => {
  const { budget } = spend(newBudget(), 6);
  const late = giveBack(budget, T0, T0 + 60_000, policy);
  assert.equal(budgetLeft(late, T0 + 60_000, policy), 6);
});

test('a retry given back late in the window leaves the window together with its withdrawal', () => {
  const { budget } = spend(newBudget(), 6);
  const back = giveBack(budget, T0, T0 + 50_000, policy);
  assert.equal(budgetLeft(back, T0 + 50_000, policy), 1);
  assert.equal(budgetLeft(back, T0 + 61_000, policy), 6);
});

test('one lane never spends what another has', () => {
  const spent = spend(newBudget(), 6).budget;
  assert.equal(budgetLeft(spent, T0, policy), 0);
  assert.equal(budgetLeft(newBudget(), T0, policy), 6);
});

const step = fc.record({
  waitMs: fc.nat(9000),
  act: fc.constantFrom('deposit', 'withdraw', 'give_back', 'ask'),
});
const policies = fc.record({
  ratio: fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000),
  floorPerMinute: fc.nat(20),
  windowMs: fc.constantFrom(10_000, 60_000),
});

test('any history gives what exact sums over the slots of the window give, and never less than 0', () => {
  fc.assert(
    fc.property(policies, fc.array(step, { maxLength: 80 }), (by, steps) => {
      // In thousandths of a retry, as exact integers, by time; the budget under test sees slots of its own.
      const slot = (at: number) => Math.floor((at * 10) / by.windowMs);
      const changes: { at: number; milli: number }[] = [];
      const taken: number[] = [];
      let budget = newBudget();
      let now = T0;
      for (const { waitMs, act } of steps) {
        now += waitMs;
        const floor = by.floorPerMinute * (by.windowMs / 60_000) * 1000;
        const live = changes.filter((c) => slot(c.at) > slot(now) - 10);
        const exact = Math.round(floor + live.reduce((sum, c) => sum + c.milli, 0));
        const left = budgetLeft(budget, now, by);
        assert.equal(left, Math.max(0, Math.floor(exact / 1000)));
        if (act === 'deposit') {
          budget = deposit(budget, now, by);
          changes.push({ at: now, milli: Math.round(by.ratio * 1000) });
        } else if (act === 'withdraw' && left > 0) {
          budget = withdraw(budget, now, by);
          changes.push({ at: now, milli: -1000 });
          taken.push(now);
        } else if (act === 'give_back' && taken.length > 0) {
          const at = taken.pop() ?? now;
          budget = giveBack(budget, at, now, by);
          changes.push({ at, milli: 1000 });
        }
        assert.deepEqual(JSON.parse(JSON.stringify(budget)), budget);
      }
    }),
  );
});
