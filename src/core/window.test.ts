import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { newWindow, windowAdd, windowMoved, windowSum } from './window.ts';

const steps = fc.array(
  fc.record({ wait: fc.nat(3000), back: fc.nat(12_000), amount: fc.integer({ min: -9, max: 9 }) }),
);

test('at any time the sum is that of all changes whose slot is one of the last ten', () => {
  fc.assert(
    fc.property(steps, (changes) => {
      let window = newWindow();
      let now = 1_000_000;
      const slots: { slot: number; amount: number }[] = [];
      for (const { wait, back, amount } of changes) {
        now += wait;
        const slot = Math.floor((now - back) / 1000);
        if (slot > Math.floor(now / 1000) - 10) slots.push({ slot, amount });
        window = windowAdd(window, { at: now - back, amount }, now, 10_000);
        for (let later = now; later < now + 11_000; later += 1000) {
          const live = slots.filter((s) => s.slot > Math.floor(later / 1000) - 10);
          const expected = live.reduce((sum, s) => sum + s.amount, 0);
          assert.equal(windowSum(window, later, 10_000), expected);
        }
      }
    }),
  );
});

test('a clock that stands still or steps back changes nothing', () => {
  const window = windowAdd(newWindow(), { at: 5000, amount: 3 }, 5000, 1000);
  assert.equal(windowSum(window, 5000, 1000), 3);
  assert.equal(windowSum(window, 4000, 1000), 3);
  assert.equal(windowSum(windowAdd(window, { at: 9000, amount: 1 }, 4000, 1000), 5000, 1000), 4);
});

test('another window length keeps what is in it, for one more window', () => {
  const window = windowAdd(newWindow(), { at: 5000, amount: 3 }, 5000, 10_000);
  const other = windowAdd(window, { at: 6000, amount: 1 }, 6000, 60_000);
  assert.equal(windowSum(other, 6000, 60_000), 4);
  assert.equal(windowSum(other, 72_000, 60_000), 0);
});

test('a window survives storage unchanged', () => {
  const window = windowAdd(newWindow(), { at: 5000, amount: 3 }, 5000, 10_000);
  assert.deepEqual(JSON.parse(JSON.stringify(window)), window);
});

test('a window that is moved holds the same sums at other times', () => {
  const window = windowAdd(newWindow(), { at: 5000, amount: 3 }, 5000, 10_000);
  const later = windowMoved(window, 86_400_000);
  assert.equal(windowSum(later, 86_405_000, 10_000), 3);
  assert.equal(windowSum(later, 86_416_000, 10_000), 0);
  assert.deepEqual(windowMoved(later, -86_400_000), window);
});
