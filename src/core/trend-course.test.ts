import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { adopted, type Course, calm, learned, moved, newCourse } from './trend-course.ts';

const slice = (bad: number, startsAt = 0) => ({
  startsAt,
  attempts: 10,
  bad,
  routes: ['a', 'b'],
  badRoutes: bad > 0 ? ['a'] : [],
  weight: 5000,
});

function after(bads: readonly number[], course: Course = newCourse(0)): Course {
  return bads.reduce((now, bad, i) => moved(now, slice(bad, i * 10_000)), course);
}

describe('the course of one signal', () => {
  it('rises with failures beyond what is usual, and sinks without', () => {
    const up = after([5, 5]);
    assert.ok(up.cusum > 0);
    assert.ok(after([0], up).cusum < up.cusum);
    assert.deepEqual(up.rise.badRoutes, ['a']);
    assert.equal(up.rise.attempts, 20);
  });

  it('begins a rise anew once it was down to nothing, and counts it as usual then', () => {
    const down = after([2, ...new Array<number>(100).fill(0)]);
    assert.equal(down.cusum, 0);
    assert.equal(down.rise.attempts, 0);
    assert.ok(down.slow > 1.5 && down.slow <= 2, String(down.slow));
  });

  it('makes failures that come in bursts count less, once they are known to', () => {
    const burst = { ...after([9, 9, 9]), raisedAt: 0 };
    const wiser = calm(burst, 700_000);
    assert.ok(after([5], wiser).cusum < after([5]).cusum);
    const long = calm(burst, 3_600_000);
    assert.equal(long.surprise, burst.surprise, 'a long rise was no burst');
  });

  it('takes the recent share over when it is adopted', () => {
    const course = adopted(after(new Array<number>(200).fill(3)), 0, 5000);
    assert.ok(Math.abs(course.slow / 5000 - 0.3) < 0.01);
    assert.equal(course.cusum, 0);
  });

  it('stays finite and not negative, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 10 }), { maxLength: 200 }), (bads) => {
        const course = after(bads);
        for (const figure of [course.cusum, course.slow, course.surprise, course.variance]) {
          assert.ok(Number.isFinite(figure) && figure >= 0);
        }
      }),
    );
  });

  it('forgets half of what was usual within 20 000 attempts', () => {
    const { slow } = learned({ ...newCourse(0), slow: 100 }, { attempts: 20_000, bad: 0 });
    assert.equal(slow, 50);
  });
});
