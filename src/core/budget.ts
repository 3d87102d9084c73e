import type { BudgetPolicy } from './policy.ts';
import { newWindow, type Window, windowAdd, windowSum } from './window.ts';

// Integers of a millionth of a retry: ten deposits of 0.1 are exactly one retry.
const RETRY = 1_000_000;

/** The share of a lane's traffic that retries may be: deposits less withdrawals of the last window. */
export interface Budget {
  readonly balance: Window;
}

/** A budget without history: only the floor is there to be spent. */
export const newBudget = (): Budget => ({ balance: newWindow() });

/** An exchange ended well: it earns `ratio` of a retry. */
export function deposit(budget: Budget, now: number, policy: BudgetPolicy): Budget {
  return change(budget, { at: now, amount: Math.round(policy.ratio * RETRY) }, now, policy);
}

/** Whole retries that may be scheduled now; never negative. */
export function budgetLeft(budget: Budget, now: number, policy: BudgetPolicy): number {
  const floor = Math.round((policy.floorPerMinute * RETRY * policy.windowMs) / 60_000);
  const left = floor + windowSum(budget.balance, now, policy.windowMs);
  return Math.max(0, Math.floor(left / RETRY));
}

/** Takes one retry. The caller has asked `budgetLeft` just before, without an await between. */
export function withdraw(budget: Budget, now: number, policy: BudgetPolicy): Budget {
  return change(budget, { at: now, amount: -RETRY }, now, policy);
}

/** Puts a cancelled retry back where it was taken from; once that has left the window there is nothing to put back. */
export function giveBack(
  budget: Budget,
  takenAt: number,
  now: number,
  policy: BudgetPolicy,
): Budget {
  return change(budget, { at: takenAt, amount: RETRY }, now, policy);
}

function change(
  budget: Budget,
  by: { at: number; amount: number },
  now: number,
  policy: BudgetPolicy,
): Budget {
  return { balance: windowAdd(budget.balance, by, now, policy.windowMs) };
}
