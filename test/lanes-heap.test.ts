import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heap } from '../src/lanes/heap.ts';
import { seededRandom } from './support/fake-clock.ts';

test('ten thousand that wait cost a few comparisons each, wherever they are taken out', () => {
  let comparisons = 0;
  const heap = new Heap<number>((a, b) => {
    comparisons += 1;
    return a < b;
  });
  const roll = seededRandom(3);
  const places = Array.from({ length: 10_000 }, () => heap.add(roll()));
  for (const place of places.filter((_, i) => i % 2 === 0)) heap.remove(place);
  const left = places.filter((_, i) => i % 2 === 1);
  const sorted = left.map((place) => place.value).sort((a, b) => a - b);
  const taken: number[] = [];
  for (let least = heap.peek(); least; least = heap.peek()) {
    taken.push(least.value);
    heap.remove(least);
    heap.remove(least);
  }
  assert.deepEqual(taken, sorted);
  assert.ok(comparisons < 10_000 * 3 * Math.log2(10_000), `${comparisons}`);
});
