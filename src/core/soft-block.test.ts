import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PageFacts } from './page-facts.ts';
import { newPageMemory, type PageMemory, remember } from './page-memory.ts';
import { shortHash, sketch } from './sketch.ts';
import { learnedVerdict, type Suspicion, suspicionOf } from './soft-block.ts';

const facts = (n: number, change: Partial<PageFacts> = {}): PageFacts => ({
  kind: 'page',
  url: shortHash(`/p/${n}`),
  pattern: 'pattern',
  size: 20_000 + (n % 7) * 300,
  words: ['shop', `title${n}`],
  closed: true,
  sketch: sketch(
    `document ${'abcdefghij'[n % 10]} ${'klmnopqrst'[Math.floor(n / 10) % 10]} of its own`,
  ),
  items: undefined,
  to: undefined,
  ...change,
});

/** A lane that has seen so many good replies. */
function knowing(count: number, change: Partial<PageFacts> = {}): PageMemory {
  let memory = newPageMemory;
  for (let n = 0; n < count; n++) memory = after(memory, facts(n, change));
  return memory;
}

const after = (memory: PageMemory, seen: PageFacts): PageMemory =>
  remember(memory, seen, suspicionOf(memory, seen), 'r1').memory;
const weights = (memory: PageMemory, seen: PageFacts) =>
  Object.fromEntries(suspicionOf(memory, seen).signs.map(({ name, weight }) => [name, weight]));

describe('one reply held against forty good ones', () => {
  const known = knowing(40);
  const rows: readonly [what: string, seen: PageFacts, signs: Record<string, number>][] = [
    ['another of them', facts(41), { usual_title: -0.25 }],
    ['a small one', facts(41, { size: 2000 }), { smaller: 0.6, usual_title: -0.25 }],
    ['a somewhat smaller one', facts(41, { size: 12_000 }), { usual_title: -0.25 }],
    ['another title', facts(41, { words: ['hello'] }), { title: 0.5 }],
    [
      'nothing at all',
      facts(41, { size: 0, words: [], closed: false, kind: 'data' }),
      { empty: 1 },
    ],
    ['no title', facts(41, { words: [] }), { title: 0.5 }],
    ['no closing tag', facts(41, { closed: false }), { usual_title: -0.25, unclosed: 1.25 }],
    ['an end that nobody saw', facts(41, { closed: undefined }), { usual_title: -0.25 }],
    ['data', facts(41, { kind: 'data' }), { type: 0.75 }],
    ['the page before, again', facts(39), { usual_title: -0.25 }],
    [
      'the page before, at another address',
      facts(39, { url: 'other00' }),
      { generic: 0.25, usual_title: -0.25 },
    ],
    ['a first redirect', facts(41, { kind: 'redirect', to: 'login' }), {}],
    ['another pattern', facts(41, { pattern: 'new', size: 1 }), {}],
  ];
  for (const [what, seen, signs] of rows) {
    test(what, () => assert.deepEqual(weights(known, seen), signs));
  }
});

test('what is hardly known is not suspected', () => {
  for (const count of [0, 1, 4, 11]) {
    const seen = facts(50, { size: 10, words: [], closed: false, kind: 'data' });
    assert.equal(suspicionOf(knowing(count), seen).suspicious, false);
  }
});

describe('lists of data', () => {
  const known = knowing(40, { kind: 'data', words: [], closed: undefined, items: 100 });
  const list = (items: number | undefined, size: number) =>
    facts(41, { kind: 'data', words: [], closed: undefined, items, size });

  test('an empty one is a sign, and a small page is not another', () => {
    assert.deepEqual(weights(known, list(0, 12)), { emptied: 0.5 });
  });
  test('a short one is none', () => assert.deepEqual(weights(known, list(3, 200)), {}));
  test('a small document without a list is one', () => {
    assert.deepEqual(weights(known, list(undefined, 20)), { smaller: 0.6 });
  });
  test('two empty ones in a row are enough, one is not', () => {
    const first = list(0, 12);
    assert.equal(suspicionOf(known, first).suspicious, false);
    const second = { ...list(0, 12), url: 'another' };
    assert.equal(suspicionOf(after(known, first), second).suspicious, true);
  });
  test('two empty ones with good ones between are not', () => {
    let memory = after(known, list(0, 12));
    for (let n = 60; n < 63; n++)
      memory = after(memory, facts(n, { kind: 'data', words: [], closed: undefined, items: 100 }));
    assert.equal(suspicionOf(memory, list(0, 12)).suspicious, false);
  });
});

test('the third of different addresses that end at one place is suspicious', () => {
  let memory = knowing(40);
  const steps = [50, 51, 52].map((n) => {
    const seen = facts(n, { kind: 'redirect', sketch: '', to: 'welcome' });
    const { suspicious } = suspicionOf(memory, seen);
    memory = after(memory, seen);
    return suspicious;
  });
  assert.deepEqual(steps, [false, false, true]);
});

test('the same address redirected again and again is not suspicious', () => {
  let memory = knowing(40);
  for (let i = 0; i < 10; i++) {
    const seen = facts(50, { kind: 'redirect', sketch: '', to: 'welcome' });
    assert.equal(suspicionOf(memory, seen).suspicious, false);
    memory = after(memory, seen);
  }
});

describe('a verdict', () => {
  const suspicion = (...names: Suspicion['signs'][number]['name'][]): Suspicion => ({
    signs: names.map((name) => ({ name, weight: name === 'usual_title' ? -0.25 : 1, words: name })),
    score: 1,
    total: 1.25,
    suspicious: true,
  });
  const told = (given: Suspicion) => {
    const verdict = learnedVerdict(given, 'enforce');
    return verdict && `${verdict.fault}/${verdict.reason}`;
  };

  test('is made only where it is asked for, and only of what is suspicious', () => {
    assert.equal(learnedVerdict(suspicion('title'), 'report'), undefined);
    assert.equal(learnedVerdict(suspicion('title'), 'off'), undefined);
    assert.equal(learnedVerdict(undefined, 'enforce'), undefined);
    assert.equal(told({ ...suspicion('title'), suspicious: false }), undefined);
  });

  test('blames the address for another page, the site for one that is not whole or empty', () => {
    assert.equal(told(suspicion('title', 'unclosed')), 'route/blocked');
    assert.equal(told(suspicion('generic')), 'route/blocked');
    assert.equal(told(suspicion('type')), 'route/blocked');
    assert.equal(told(suspicion('sink')), 'route/blocked');
    assert.equal(told(suspicion('smaller', 'usual_title')), 'route/blocked');
    assert.equal(told(suspicion('unclosed', 'usual_title')), 'host/truncated');
    assert.equal(told(suspicion('smaller', 'unclosed')), 'host/truncated');
    assert.equal(told(suspicion('empty')), 'host/empty');
    assert.equal(told(suspicion('emptied')), 'host/empty');
    assert.equal(told(suspicion('fewer_items', 'usual_title')), 'host/empty');
  });

  test('rests on what speaks for it', () => {
    assert.deepEqual(learnedVerdict(suspicion('smaller', 'usual_title'), 'enforce')?.evidence, {
      kind: 'learned',
      signs: ['smaller'],
      score: 1.25,
    });
  });
});
