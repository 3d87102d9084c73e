import { compile, selectAll } from 'css-select';
import { parseDocument } from 'htmlparser2';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import type { Judge } from './core/classify.ts';

// A page is judged against several rules in a row, so the last few trees are worth keeping.
const KEPT_PATTERNS = 256;
const KEPT_SELECTORS = 256;
const KEPT_DOCUMENTS = 4;

// The caches cannot hold undefined, and a pattern that does not compile should not be compiled again either.
type Compiled<T> = { readonly ok: T | undefined };

/**
 * What rules need beyond plain text search: RE2 patterns (linear time on any input) and CSS selectors.
 * Never throws; a pattern or selector that does not compile matches nothing.
 */
export const judgeTools: Judge['tools'] = createJudgeTools();

function createJudgeTools(): Judge['tools'] {
  const pattern = cached(KEPT_PATTERNS, (text: string) => RE2JS.compile(text));
  const selector = cached(KEPT_SELECTORS, (text: string) => compile(text));
  const document = cached(KEPT_DOCUMENTS, (html: string) => parseDocument(html));

  return {
    matches: (source, text) => pattern(source)?.matcher(text).find() ?? false,
    countCss: (html, source) => {
      const query = selector(source);
      const tree = query && document(html);
      return query && tree ? selectAll(query, tree).length : 0;
    },
  };
}

function cached<T>(max: number, make: (text: string) => T): (text: string) => T | undefined {
  const made = new LRUCache<string, Compiled<T>>({ max });
  return (text) => {
    const known = made.get(text) ?? attempt(() => make(text));
    made.set(text, known);
    return known.ok;
  };
}

function attempt<T>(make: () => T): Compiled<T> {
  try {
    return { ok: make() };
  } catch {
    return { ok: undefined };
  }
}
