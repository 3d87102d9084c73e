import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type Baseline,
  documentOf,
  isDiverse,
  learn,
  newBaseline,
  urlOf,
  usualWords,
} from './baseline.ts';
import type { PageFacts } from './page-facts.ts';
import { SKETCH_CHARS } from './sketch.ts';

const page = (n: number, change: Partial<PageFacts> = {}): PageFacts => ({
  kind: 'page',
  url: `u${n}`,
  pattern: 'p',
  size: 5000,
  words: ['shop', `item${n}`],
  closed: true,
  sketch: String.fromCharCode(65 + (n % 26)).repeat(SKETCH_CHARS),
  items: undefined,
  to: undefined,
  ...change,
});

const after = (pages: readonly PageFacts[]): Baseline => pages.reduce(learn, newBaseline);
const many = (count: number, change: (n: number) => Partial<PageFacts> = () => ({})) =>
  Array.from({ length: count }, (_, n) => page(n, change(n)));

test('equal pages give their size without a spread, unequal ones with one', () => {
  const equal = after(many(20));
  assert.equal(equal.size, Math.round(Math.log(5001) * 1000) / 1000);
  assert.equal(equal.spread, 0);
  assert.ok(after(many(20, (n) => ({ size: n % 2 === 0 ? 100 : 9000 }))).spread > 1);
});

test('a closing tag is known only where the end of a page was seen', () => {
  assert.equal(after(many(5, () => ({ closed: undefined }))).closed, -1);
  assert.equal(after(many(5)).closed, 1);
  assert.equal(after(many(5, () => ({ closed: false }))).closed, 0);
});

test('words of all titles are usual, those of single ones are not', () => {
  assert.deepEqual(usualWords(after(many(30))), ['shop']);
});

test('items count where there are any, and their absence is counted apart', () => {
  const full = after(many(10, () => ({ items: 20 })));
  const emptied = learn(full, page(99, { items: 0 }));
  assert.equal(full.bare, 0);
  assert.equal(emptied.items, full.items);
  assert.ok(emptied.bare > 0);
});

test('a redirect changes the share of redirects and nothing else', () => {
  const base = after(many(10));
  const moved = learn(base, page(11, { kind: 'redirect', to: 't' }));
  assert.ok(moved.moved > base.moved);
  assert.deepEqual({ ...moved, moved: base.moved }, base);
});

test('the last documents are kept, one for each URL', () => {
  const { docs } = after([page(1), page(2), page(2), page(3), page(4)]);
  assert.deepEqual(docs.map(urlOf), ['u2', 'u3', 'u4']);
  assert.equal(docs.at(-1), documentOf(page(4)));
});

test('different documents at different URLs are a site, the same one everywhere is not', () => {
  const usual = after(many(40));
  assert.equal(isDiverse(after(many(40)), usual), true);
  assert.equal(isDiverse(after(many(40, () => ({ sketch: page(1).sketch }))), usual), false);
  assert.equal(isDiverse(after([page(1)]), usual), false);
});

test('what is learned stays small and survives storage', () => {
  const base = after(many(500, (n) => ({ words: [`a${n}`, `b${n}`, `c${n}`] })));
  assert.ok(JSON.stringify(base).length < 1000);
  assert.deepEqual(JSON.parse(JSON.stringify(base)), base);
});
