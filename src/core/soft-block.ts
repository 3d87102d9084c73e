import {
  ALIKE_BY_NATURE,
  alikeness,
  type Baseline,
  documentOf,
  SAME_DOCUMENT,
  urlOf,
  usualWords,
} from './baseline.ts';
import type { PageFacts } from './page-facts.ts';
import type { PageMemory } from './page-memory.ts';
import type { Enforcement } from './policy.ts';
import type { Evidence, Verdict } from './verdict.ts';

/** Something about a page that is, or is not, as pages of this pattern usually are. */
export interface LearnedSign {
  readonly name:
    | 'empty'
    | 'smaller'
    | 'emptied'
    | 'fewer_items'
    | 'title'
    | 'generic'
    | 'type'
    | 'unclosed'
    | 'sink'
    | 'usual_title';
  /** Below 0: speaks for the page. */
  readonly weight: number;
  readonly words: string;
}

/** How unlike the usual a reply is. */
export interface Suspicion {
  readonly signs: readonly LearnedSign[];
  /** This reply's own signs together. */
  readonly score: number;
  /** With what the replies just before it left behind. */
  readonly total: number;
  readonly suspicious: boolean;
}

/** From this total on a reply is taken for a soft block. */
const ENOUGH = 1;
const PAGES_NEEDED = 12;

/** Holds a reply against what its lane remembers. Pure; nothing is learned here. */
export function suspicionOf(memory: PageMemory, facts: PageFacts): Suspicion {
  const known = memory.patterns.find(({ key }) => key === facts.pattern);
  const signs = known === undefined ? [] : signsOf(known.usual, memory, facts);
  const sum = signs.reduce((all, { weight }) => all + weight, 0);
  const score = Math.max(0, Math.round(sum * 100) / 100);
  const total = score === 0 ? 0 : Math.round((score + (known?.carry ?? 0)) * 100) / 100;
  return { signs, score, total, suspicious: total >= ENOUGH };
}

/** The verdict that suspicion alone makes, where the user wants it to: only what is enforced is one. */
export function learnedVerdict(
  suspicion: Suspicion | undefined,
  enforcement: Enforcement,
): Verdict | undefined {
  if (enforcement !== 'enforce' || suspicion?.suspicious !== true) return undefined;
  const { signs, total } = suspicion;
  const evidence: Evidence = {
    kind: 'learned',
    signs: signs.filter(({ weight }) => weight > 0).map(({ words }) => words),
    score: total,
  };
  const reason = hostReason(signs);
  return reason === undefined
    ? { fault: 'route', reason: 'blocked', scope: 'lane', evidence }
    : { fault: 'host', kind: 'transient', reason, evidence };
}

const ANOTHER_PAGE: readonly LearnedSign['name'][] = ['title', 'generic', 'type', 'sink'];

/** The right page, but not whole or with nothing in it, is the site's trouble; another page is the address's. */
function hostReason(signs: readonly LearnedSign[]): 'truncated' | 'empty' | undefined {
  const names = signs.map(({ name }) => name);
  if (names.includes('empty')) return 'empty';
  if (ANOTHER_PAGE.some((name) => names.includes(name))) return undefined;
  if (names.includes('unclosed')) return 'truncated';
  return names.includes('emptied') || names.includes('fewer_items') ? 'empty' : undefined;
}

function signsOf(usual: Baseline, memory: PageMemory, facts: PageFacts): readonly LearnedSign[] {
  if (facts.kind === 'redirect') return sinkSigns(usual, memory, facts);
  if (facts.size === 0) return amountSigns(usual, facts);
  const type = typeSigns(usual, facts);
  // Of a body of another type the rest cannot be compared.
  if (type.length > 0) return type;
  return [
    // Pages with little in them are alike: that is one sign, not two.
    ...heaviest([...amountSigns(usual, facts), ...genericSigns(usual, memory, facts)]),
    ...titleSigns(usual, facts),
    ...closingSigns(usual, facts),
  ];
}

function heaviest(signs: readonly LearnedSign[]): readonly LearnedSign[] {
  return [...signs].sort((a, b) => b.weight - a.weight).slice(0, 1);
}

/** Redirects of different URLs that end at one place, where there used to be pages. */
function sinkSigns(usual: Baseline, memory: PageMemory, facts: PageFacts): readonly LearnedSign[] {
  if (usual.n < 5 || usual.moved > 0.3) return [];
  const urls = sameElsewhere(memory, facts);
  if (urls === 0) return [];
  const words = `${urls + 1} different URLs are redirected to one place`;
  return [{ name: 'sink', weight: urls === 1 ? 0.35 : 0.7, words }];
}

function typeSigns({ n, data }: Baseline, { kind }: PageFacts): readonly LearnedSign[] {
  if (n < PAGES_NEEDED) return [];
  if (kind === 'page' && data >= 0.98) {
    return [{ name: 'type', weight: 0.75, words: 'a page where there was data before' }];
  }
  if (kind === 'data' && data <= 0.02) {
    return [{ name: 'type', weight: 0.75, words: 'data where there were pages before' }];
  }
  return [];
}

/** Too little: one sign, however it shows, for an empty list makes a small page. */
function amountSigns(usual: Baseline, facts: PageFacts): readonly LearnedSign[] {
  if (usual.n < PAGES_NEEDED) return [];
  const used = Math.round(Math.exp(usual.items) - 1);
  if (facts.items === 0 && usual.items >= 0 && usual.bare < 0.05 && used >= 3) {
    const data = facts.kind === 'data';
    const words = `${data ? 'an empty list' : 'no items'} where there were about ${used}`;
    return [{ name: data ? 'emptied' : 'fewer_items', weight: 0.5, words }];
  }
  // A list that has as many entries as ever is not too small, however short they are.
  if (facts.kind === 'data' && (facts.items ?? 0) > 0) return [];
  const below = usual.size - Math.log(1 + facts.size);
  const deviation = Math.sqrt(usual.spread);
  if (below < Math.max(4 * deviation, Math.log(3))) return [];
  if (facts.size === 0) return [{ name: 'empty', weight: 1, words: 'nothing at all' }];
  const words = `${facts.size} characters where there were about ${Math.round(Math.exp(usual.size))}`;
  const far = below > Math.max(6 * deviation, Math.log(8));
  return [{ name: 'smaller', weight: far ? 0.6 : 0.5, words }];
}

function titleSigns(usual: Baseline, facts: PageFacts): readonly LearnedSign[] {
  const words = usualWords(usual);
  if (usual.n < PAGES_NEEDED || words.length === 0) return [];
  if (words.some((word) => facts.words.includes(word))) {
    return [{ name: 'usual_title', weight: -0.25, words: 'its title is of the usual kind' }];
  }
  return [{ name: 'title', weight: 0.5, words: 'its title has none of the words they all have' }];
}

/** One document for different URLs, where they used to have a document each. */
function genericSigns(
  usual: Baseline,
  memory: PageMemory,
  facts: PageFacts,
): readonly LearnedSign[] {
  if (usual.n < 6 || usual.alike < 0 || usual.alike > ALIKE_BY_NATURE) return [];
  const urls = sameElsewhere(memory, facts);
  if (urls === 0) return [];
  const words = `the same document as for ${urls} other URL${urls === 1 ? '' : 's'}`;
  return [{ name: 'generic', weight: Math.min(urls, 3) * 0.25, words }];
}

/** How many other URLs of late had the same document, or led to the same place. */
function sameElsewhere({ recent }: PageMemory, facts: PageFacts): number {
  const one = documentOf(facts);
  const same = recent.filter(
    (each) => urlOf(each) !== facts.url && alikeness(each, one) >= SAME_DOCUMENT,
  );
  return new Set(same.map(urlOf)).size;
}

function closingSigns({ n, closed }: Baseline, facts: PageFacts): readonly LearnedSign[] {
  if (facts.closed !== false || n < PAGES_NEEDED || closed < 0.95) return [];
  const always = closed === 1 && n >= 20;
  const words = 'it does not end with </html>, as the others do';
  return [{ name: 'unclosed', weight: always ? 1.25 : 0.75, words }];
}
