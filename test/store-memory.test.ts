import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore } from '../src/store/memory.ts';
import { isCoded, storeContract } from './store.contract.ts';
import { NOW, sampleBody, sampleLetter } from './store-sample.ts';

const ROOMY = { maxLetters: 10_000, maxBytes: 100_000_000 };

storeContract('memory', async () => ({ store: createMemoryStore(ROOMY), kept: 'memory' }));

test('a store in memory takes no more letters than its bounds allow, until some are gone', async () => {
  const { letters } = createMemoryStore({ ...ROOMY, maxLetters: 2 });
  const [one, two, three] = [sampleLetter(), sampleLetter(), sampleLetter()];
  await letters.park(one, undefined);
  await letters.park(two, undefined);
  await assert.rejects(letters.park(three, undefined), isCoded('no_room'));
  assert.equal((await letters.park(sampleLetter({ key: one.key }), undefined)).count, 2);
  await letters.drop([two.id]);
  assert.equal((await letters.park(three, undefined)).id, three.id);
});

test('a store in memory takes no more bytes than its bounds allow, and counts them back', async () => {
  const { letters } = createMemoryStore({ ...ROOMY, maxBytes: 100_000 });
  const big = () => sampleLetter({ bodyBytes: 90_000 });
  for (let round = 0; round < 5; round += 1) {
    const letter = big();
    await letters.park(letter, sampleBody(90_000));
    await assert.rejects(letters.park(big(), sampleBody(90_000)), isCoded('no_room'));
    assert.equal(await letters.claim(letter.id, NOW), true, 'a claim takes no room');
    await letters.drop([letter.id]);
  }
});
