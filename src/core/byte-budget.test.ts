import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesLeft, newByteBook, spendBytes, spentToday, untilNextDay } from './byte-budget.ts';

const NOON = Date.UTC(2026, 0, 2, 12);
const HOUR = 3_600_000;

const rows: readonly [spent: number, perDay: number | null, left: string][] = [
  [1e15, null, 'all'],
  [0, 1000, 'all'],
  [799, 1000, 'all'],
  [800, 1000, 'first_tries'],
  [999, 1000, 'first_tries'],
  [1000, 1000, 'none'],
  [5000, 1000, 'none'],
  [0, 0, 'none'],
];

for (const [spent, perDay, left] of rows) {
  test(`after ${spent} bytes of ${perDay} a day the budget allows ${left}`, () => {
    assert.equal(bytesLeft(spent, perDay), left);
  });
}

test('bytes of one day add up', () => {
  const book = spendBytes(spendBytes(newByteBook, 300, NOON), 200, NOON + HOUR);
  assert.equal(spentToday(book, NOON + 2 * HOUR), 500);
});

test('a new day begins with nothing spent, at midnight UTC', () => {
  const book = spendBytes(newByteBook, 300, NOON);
  assert.equal(spentToday(book, NOON + 12 * HOUR - 1), 300);
  assert.equal(spentToday(book, NOON + 12 * HOUR), 0);
  assert.equal(spentToday(spendBytes(book, 7, NOON + 13 * HOUR), NOON + 13 * HOUR), 7);
});

test('a book of another day, before or after, says nothing of today', () => {
  const tomorrow = spendBytes(newByteBook, 300, NOON + 24 * HOUR);
  assert.equal(spentToday(tomorrow, NOON), 0);
});

test('the next day is as far away as midnight', () => {
  assert.equal(untilNextDay(NOON), 12 * HOUR);
  assert.equal(untilNextDay(Date.UTC(2026, 0, 2)), 24 * HOUR);
  assert.equal(untilNextDay(NOON + 0.5), 12 * HOUR - 0.5);
});
