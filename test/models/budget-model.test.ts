import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { budgetLeft, deposit, giveBack, newBudget, withdraw } from '../../src/core/budget.ts';
import type { BudgetPolicy } from '../../src/core/policy.ts';
import { ok, Traffic } from '../support/lane-traffic.ts';
import { runs, schedule } from './runs.ts';

const SLOTS = 10;
const T0 = 1_767_225_600_000;

type Step =
  | { readonly kind: 'deposit' | 'withdraw' }
  | { readonly kind: 'cancel'; readonly which: number }
  | { readonly kind: 'pass'; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom('deposit' as const, 'withdraw' as const) }),
  fc.record({ kind: fc.constant('cancel' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.nat(15_000) }),
);
const policy: fc.Arbitrary<BudgetPolicy> = fc.record({
  ratio: fc.constantFrom(0, 0.1, 0.3, 1),
  floorPerMinute: fc.constantFrom(0, 6, 30),
  windowMs: fc.constantFrom(10_000, 60_000),
});

/** Every entry of the ledger, in thousandths of a retry, with its time: nothing is summed up, nothing forgotten. */
class Book {
  readonly #entries: { readonly at: number; readonly amount: number }[] = [];
  readonly #policy: BudgetPolicy;

  constructor(policy: BudgetPolicy) {
    this.#policy = policy;
  }

  enter(at: number, amount: number): void {
    this.#entries.push({ at, amount });
  }

  /** The window goes on slot by slot: ten of them, the running one included. */
  left(now: number): number {
    const { windowMs, floorPerMinute } = this.#policy;
    const slotMs = windowMs / SLOTS;
    const oldest = Math.floor(now / slotMs) - SLOTS + 1;
    const counted = this.#entries.filter(({ at }) => Math.floor(at / slotMs) >= oldest);
    const sum = counted.reduce((total, { amount }) => total + amount, 0);
    return Math.max(0, Math.floor((sum + (floorPerMinute * 1000 * windowMs) / 60_000) / 1000));
  }
}

test('the budget is a book of deposits, withdrawals and cancellations of the last window', () => {
  fc.assert(
    fc.property(policy, schedule(step, 120), (terms, steps) => {
      const book = new Book(terms);
      const taken: number[] = [];
      let budget = newBudget();
      let now = T0;
      for (const one of steps) {
        if (one.kind === 'pass') now += one.ms;
        if (one.kind === 'deposit') {
          budget = deposit(budget, now, terms);
          book.enter(now, terms.ratio * 1000);
        }
        if (one.kind === 'withdraw' && budgetLeft(budget, now, terms) > 0) {
          budget = withdraw(budget, now, terms);
          book.enter(now, -1000);
          taken.push(now);
        }
        const [takenAt] =
          one.kind === 'cancel' ? taken.splice(one.which % (taken.length || 1), 1) : [];
        if (takenAt !== undefined) {
          budget = giveBack(budget, takenAt, now, terms);
          book.enter(takenAt, 1000);
        }
        assert.equal(budgetLeft(budget, now, terms), book.left(now));
        assert.deepEqual(JSON.parse(JSON.stringify(budget)), budget);
      }
    }),
    runs(300),
  );
});

test('lanes keep the same book, one for each host, whatever lane of it is asked', async () => {
  await fc.assert(
    fc.asyncProperty(policy, schedule(step, 60), async (terms, steps) => {
      const traffic = new Traffic();
      const book = new Book(terms);
      const backs: { readonly at: number; readonly undo: () => void }[] = [];
      const ask = { policy: { budget: terms, pace: { concurrency: 1000 } }, patienceMs: 1e9 };
      const other = traffic.make({ ...ask, laneKey: 'slow' });
      for (const one of steps) {
        const now = traffic.clock.now();
        if (one.kind === 'pass') await traffic.clock.advance(one.ms);
        if (one.kind === 'deposit') {
          const asked = traffic.ask(ask);
          await traffic.clock.advance(0);
          asked.finish(ok);
          book.enter(now, terms.ratio * 1000);
        }
        if (one.kind === 'withdraw' && other.lane.budgetLeft) {
          backs.push({ at: now, undo: traffic.make(ask).lane.withdraw() });
          book.enter(now, -1000);
        }
        const [back] =
          one.kind === 'cancel' ? backs.splice(one.which % (backs.length || 1), 1) : [];
        if (back) {
          back.undo();
          back.undo(); // The second time does nothing.
          book.enter(back.at, 1000);
        }
        assert.equal(other.lane.budgetLeft, book.left(traffic.clock.now()) > 0);
      }
    }),
    runs(40),
  );
});
