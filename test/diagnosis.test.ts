import assert from 'node:assert/strict';
import { test } from 'node:test';
import { worlds } from './support/diagnosis-worlds.ts';
import { live, type Story } from './support/simulated-network.ts';

const LEAST_SHARE = 0.95;

function shareOfRight(judged: Story['judged']): number {
  return judged.filter(({ causes, named }) => causes.includes(named)).length / judged.length;
}

test('in networks with known causes the right one is named, and no healthy route is ejected', async (t) => {
  const all: Story['judged'][number][] = [];
  for (const { name, world, least = LEAST_SHARE } of worlds) {
    await t.test(name, async () => {
      const story = await live(world, 1);
      all.push(...story.judged);
      assert.equal(story.wronged, 0, 'a route that was never sick was ejected');
      assert.ok(story.judged.length >= 5, `only ${story.judged.length} timeouts`);
      assert.ok(shareOfRight(story.judged) >= least, `${shareOfRight(story.judged)}`);
    });
  }
  assert.ok(shareOfRight(all) >= LEAST_SHARE, `${shareOfRight(all)} of ${all.length} named right`);
});
