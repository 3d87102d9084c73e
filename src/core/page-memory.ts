import { type Baseline, documentOf, isDiverse, learn, newBaseline } from './baseline.ts';
import type { PageFacts } from './page-facts.ts';
import type { Suspicion } from './soft-block.ts';

/** What one lane remembers of its pages. JSON; bounded whatever the site sends. */
export interface PageMemory {
  readonly version: 1;
  /** The one used last stands last. */
  readonly patterns: readonly PatternMemory[];
  /** The last replies of any pattern: URL and sketch in one text. */
  readonly recent: readonly string[];
  /** Replies since the site was seen to change; null: it never was. */
  readonly sinceChange: number | null;
}

export interface PatternMemory {
  /** A short name of the path pattern. */
  readonly key: string;
  readonly usual: Baseline;
  /** What suspicious replies in a row have in common: a new look of the site, maybe. */
  readonly next: Baseline | null;
  /** What the last replies leave to the next one's suspicion, from 0 to 1. */
  readonly carry: number;
  /** Short names of the routes that the suspicious replies in a row came over. */
  readonly via: readonly string[];
}

export interface Remembered {
  readonly memory: PageMemory;
  /** Whether this reply settled it that the site has changed. Said once per change. */
  readonly changed: boolean;
}

/** Nothing is remembered. */
export const newPageMemory: PageMemory = {
  version: 1,
  patterns: [],
  recent: [],
  sinceChange: null,
};

const MAX_PATTERNS = 80;
const MAX_RECENT = 8;
const MAX_ROUTES = 3;
/** Less than this left over: the reply before was as usual. */
const ALONE = 0.3;
/** Unlike replies in a row, on every way there is, that make a new look; fewer where the site just changed elsewhere. */
const NEW_LOOK = 10;
const NEW_LOOK_ELSEWHERE = 5;
const SAME_CHANGE = 200;

/** The memory with one more reply in it. Only for replies that no other evidence spoke against. */
export function remember(
  memory: PageMemory,
  facts: PageFacts,
  suspicion: Suspicion,
  route: string,
): Remembered {
  const sinceChange = memory.sinceChange === null ? null : memory.sinceChange + 1;
  const inChange = sinceChange !== null && sinceChange < SAME_CHANGE;
  const old = memory.patterns.find(({ key }) => key === facts.pattern) ?? fresh(facts.pattern);
  const pattern = updated(old, facts, suspicion, route);
  const isNewLook = adopts(pattern, inChange);
  const settled = isNewLook ? settledIn(pattern) : pattern;
  const others = memory.patterns.filter(({ key }) => key !== facts.pattern);
  return {
    changed: isNewLook && !inChange,
    memory: {
      version: 1,
      patterns: [...others, settled].slice(-MAX_PATTERNS),
      recent: [...memory.recent, documentOf(facts)].slice(-MAX_RECENT),
      sinceChange: isNewLook ? 0 : sinceChange,
    },
  };
}

/** Reads a saved memory back; what is not one is as if there were none. */
export function readPageMemory(saved: unknown): PageMemory {
  return isMemory(saved) ? saved : newPageMemory;
}

const fresh = (key: string): PatternMemory => ({
  key,
  usual: newBaseline,
  next: null,
  carry: 0,
  via: [],
});

function updated(
  old: PatternMemory,
  facts: PageFacts,
  { score, total, suspicious }: Suspicion,
  route: string,
): PatternMemory {
  if (suspicious) {
    return {
      ...old,
      // One alone may be how the site is at times; more in a row teach nothing.
      usual:
        old.carry < ALONE ? { ...old.usual, closed: learn(old.usual, facts).closed } : old.usual,
      next: learn(old.next ?? newBaseline, facts),
      carry: 1,
      via: [...new Set([...old.via, route])].slice(-MAX_ROUTES),
    };
  }
  const usual = learn(old.usual, facts);
  if (score > 0) return { ...old, usual, carry: rounded(Math.min(1, total)) };
  // A redirect alone says neither that all is well nor that it is not.
  if (facts.kind === 'redirect') return { ...old, usual };
  return { ...old, usual, next: null, carry: rounded(old.carry / 2), via: [] };
}

/** One reply as before would have ended the row, so what is left came over all routes and sessions. */
function adopts({ next, usual, via }: PatternMemory, inChange: boolean): boolean {
  if (next === null || next.n < (inChange ? NEW_LOOK_ELSEWHERE : NEW_LOOK)) return false;
  const oneUrl = next.docs.length === 1 && usual.docs.length === 1;
  return isDiverse(next, usual) || (oneUrl && next.bare < 0.5 && via.length >= MAX_ROUTES);
}

const settledIn = (pattern: PatternMemory): PatternMemory => ({
  ...pattern,
  usual: pattern.next ?? pattern.usual,
  next: null,
  carry: 0,
  via: [],
});

const rounded = (value: number): number => Math.floor(value * 100) / 100;

function isMemory(saved: unknown): saved is PageMemory {
  if (typeof saved !== 'object' || saved === null) return false;
  const { version, patterns, recent, sinceChange } = saved as Record<string, unknown>;
  return (
    version === 1 &&
    Array.isArray(patterns) &&
    patterns.length <= MAX_PATTERNS &&
    patterns.every(isPattern) &&
    isTexts(recent) &&
    (sinceChange === null || typeof sinceChange === 'number')
  );
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { key, usual, next, carry, via } = value as Record<string, unknown>;
  const named = typeof key === 'string' && typeof carry === 'number' && isTexts(via);
  return named && isBaseline(usual) && (next === null || isBaseline(next));
}

function isBaseline(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const part = value as Record<string, unknown>;
  const numbers = Object.entries(newBaseline).filter(([, one]) => typeof one === 'number');
  const words = part.words;
  return (
    numbers.every(([key]) => Number.isFinite(part[key])) &&
    isTexts(part.docs) &&
    Array.isArray(words) &&
    words.every((pair) => Array.isArray(pair) && typeof pair[1] === 'number')
  );
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
