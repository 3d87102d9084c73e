import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tally } from '../src/listener/tally.ts';

test('a tally counts per owner, and never below nothing', () => {
  const tally = new Tally();
  for (const owner of ['a', 'b', 'a']) tally.add(owner);
  assert.deepEqual([tally.of('a'), tally.of('b'), tally.of('c')], [2, 1, 0]);
  for (const owner of ['a', 'b', 'b', 'c']) tally.remove(owner);
  assert.deepEqual([tally.of('a'), tally.of('b'), tally.of('c')], [1, 0, 0]);
});
