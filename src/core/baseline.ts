import type { PageFacts } from './page-facts.ts';
import { likeness, SKETCH_CHARS } from './sketch.ts';

/** What pages of one path pattern usually look like. JSON; a few hundred bytes at most. */
export interface Baseline {
  /** Pages it was learned from. */
  readonly n: number;
  /** Mean and variance of ln(1 + size). */
  readonly size: number;
  readonly spread: number;
  /** Share that ends as HTML does; -1: never seen. */
  readonly closed: number;
  /** Words of titles, each with the share of pages that have it. */
  readonly words: readonly (readonly [word: string, share: number])[];
  /** Mean of ln(1 + items) where there were any; -1: never counted. */
  readonly items: number;
  /** Share without any item, of those counted. */
  readonly bare: number;
  /** Share that is data. */
  readonly data: number;
  /** Share of redirects. */
  readonly moved: number;
  /** URL and sketch of the last few documents, in one text each. */
  readonly docs: readonly string[];
  /** How alike documents of different URLs are; -1: there was only one. */
  readonly alike: number;
}

/** Nothing is known. */
export const newBaseline: Baseline = {
  n: 0,
  size: 0,
  spread: 0,
  closed: -1,
  words: [],
  items: -1,
  bare: 0,
  data: 0,
  moved: 0,
  docs: [],
  alike: -1,
};

/** Pages of one pattern that are this alike by nature say nothing when they repeat. */
export const ALIKE_BY_NATURE = 0.75;
/** Documents of one frame, each with something of its own in it, are less alike than this. */
const ONE_FRAME = 0.9;
/** Two documents this alike are one. */
export const SAME_DOCUMENT = 0.95;
/** After this many pages older ones fade, so that slow change is followed. */
const MEMORY = 40;
const MAX_WORDS = 5;
const MAX_DOCS = 3;

/** The same with one more page. */
export function learn(base: Baseline, facts: PageFacts): Baseline {
  const weight = 1 / Math.min(base.n + 1, MEMORY);
  if (facts.kind === 'redirect') return { ...base, moved: towards(base.moved, 1, 1 / MEMORY) };
  const size = Math.log(1 + facts.size);
  return {
    n: Math.min(base.n + 1, MEMORY),
    size: towards(base.size, size, weight),
    spread: base.n === 0 ? 0 : towards(base.spread, (size - base.size) ** 2, weight),
    closed:
      facts.closed === undefined ? base.closed : known(base.closed, facts.closed ? 1 : 0, weight),
    words: facts.kind === 'data' ? base.words : learnWords(base, facts.words, weight),
    ...learnItems(base, facts.items, weight),
    data: towards(base.data, facts.kind === 'data' ? 1 : 0, weight),
    moved: towards(base.moved, 0, 1 / MEMORY),
    ...learnDocument(base, facts, weight),
  };
}

/** Words that nearly all titles have: the site's name, most of all. */
export function usualWords({ words }: Baseline): readonly string[] {
  return words.filter(([, share]) => share >= 0.95).map(([word]) => word);
}

/** URL and sketch in one text, as `docs` holds them; of a redirect, where it led stands in place of the sketch. */
export const documentOf = ({ url, sketch, to }: PageFacts): string =>
  url + (to === undefined ? sketch : to.padEnd(SKETCH_CHARS, '.'));
/** The URL of such a text. */
export const urlOf = (document: string): string => document.slice(0, -SKETCH_CHARS);
/** How alike two such texts are. */
export const alikeness = (a: string, b: string): number =>
  likeness(a.slice(-SKETCH_CHARS), b.slice(-SKETCH_CHARS));

/** What a new look of a site is and a block is not: a document for each URL, whole and with something in it. */
export function isDiverse(next: Baseline, usual: Baseline): boolean {
  if (next.bare > 0.5 || next.alike < 0) return false;
  if (next.closed >= 0 && next.closed < 0.5 && usual.closed >= 0.95) {
    // Minifiers may leave the closing tag out for good, but then that is not all that has changed.
    if (next.n < MEMORY || hasWordsOf(next, usual)) return false;
  }
  return next.alike < ONE_FRAME;
}

function hasWordsOf(next: Baseline, usual: Baseline): boolean {
  const before = usualWords(usual);
  return before.length === 0 || usualWords(next).some((word) => before.includes(word));
}

function learnItems(base: Baseline, items: number | undefined, weight: number) {
  if (items === undefined) return { items: base.items, bare: base.bare };
  return {
    items: items > 0 ? known(base.items, Math.log(1 + items), weight) : base.items,
    bare: towards(base.bare, items > 0 ? 0 : 1, weight),
  };
}

function learnDocument(base: Baseline, facts: PageFacts, weight: number) {
  const one = documentOf(facts);
  const others = base.docs.filter((each) => urlOf(each) !== facts.url);
  const docs = [...others, one].slice(-MAX_DOCS);
  if (others.length === 0) return { docs, alike: base.alike };
  const most = Math.max(...others.map((each) => alikeness(each, one)));
  return { docs, alike: known(base.alike, most, Math.max(weight, 1 / MEMORY)) };
}

function learnWords(base: Baseline, words: readonly string[], weight: number) {
  const kept = base.words.map(
    ([word, share]) => [word, towards(share, words.includes(word) ? 1 : 0, weight)] as const,
  );
  const fresh = words
    .filter((word) => !kept.some(([old]) => old === word))
    .map((word) => [word, towards(0, 1, weight)] as const);
  return [...kept, ...fresh].sort((a, b) => b[1] - a[1]).slice(0, MAX_WORDS);
}

const known = (old: number, value: number, weight: number): number =>
  old === -1 ? towards(0, value, 1) : towards(old, value, weight);

/** Three digits are enough, and keep what is saved small. */
const towards = (old: number, value: number, weight: number): number =>
  Math.round((old + (value - old) * weight) * 1000) / 1000;
