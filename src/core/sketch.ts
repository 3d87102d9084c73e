// A sketch keeps, for each of some buckets, the smallest hash of the text's pieces that fell into it (one
// permutation min-hash). Two texts that share most of their pieces share most of their smallest hashes.
const BUCKETS = 24;
const MAX_CHARS = 16_384;
const MAX_WORD = 40;
/** Scripts without spaces between words are cut into pieces this long. */
const UNSPACED_WORD = 4;
const UNSPACED = 0x2e80;
const SPACE = 32;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** How many characters `sketch` gives. */
export const SKETCH_CHARS = BUCKETS;

/**
 * A short text by which documents can be compared: alike documents have alike sketches. Its pieces are pairs of
 * words; words with digits or slashes are left out, for ids, times and addresses differ between copies of one page.
 */
export function sketch(text: string): string {
  const least = new Array<number>(BUCKETS).fill(-1);
  const end = Math.min(text.length, MAX_CHARS);
  let word = BASIS;
  let length = 0;
  let numbered = false;
  let before = 0;
  for (let at = 0; at <= end; at++) {
    const code = at < end ? text.charCodeAt(at) : SPACE;
    if (endsWord(code, length)) {
      if (!numbered) put(least, mixed(Math.imul(before, PRIME) ^ word));
      before = numbered ? before : word;
      word = BASIS;
      length = 0;
      numbered = false;
    }
    if (isBetween(code)) continue;
    word = Math.imul(word ^ code, PRIME);
    length += 1;
    numbered ||= isNumbering(code);
  }
  return written(least);
}

/** The slash and the digits stand in a row. */
const isNumbering = (code: number): boolean => code >= 47 && code <= 57;

function endsWord(code: number, length: number): boolean {
  if (length === 0) return false;
  return length >= (code >= UNSPACED ? UNSPACED_WORD : MAX_WORD) || isBetween(code);
}

/** White space and punctuation, but for what stands inside words. */
function isBetween(code: number): boolean {
  if (code < 47) return code !== 45 && code !== 39 && code !== 46;
  return (code >= 58 && code <= 63) || (code >= 91 && code <= 94) || code === 123 || code === 125;
}

function put(least: number[], hash: number): void {
  const bucket = hash % BUCKETS;
  const before = least[bucket] ?? -1;
  if (before === -1 || hash < before) least[bucket] = hash;
}

/** How much two documents have in common by their sketches, from 0 to 1. */
export function likeness(a: string, b: string): number {
  let equal = 0;
  for (let i = 0; i < BUCKETS; i++) if (a.charCodeAt(i) === b.charCodeAt(i)) equal++;
  return equal / BUCKETS;
}

/** A short name for a text. */
export function shortHash(text: string): string {
  let hash = BASIS;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return mixed(hash).toString(36).padStart(7, '0');
}

/** An empty bucket takes after the next one that is not, so that short texts differ as long ones do. */
function written(least: readonly number[]): string {
  let text = '';
  for (let i = 0; i < BUCKETS; i++) {
    let step = 0;
    while (step < BUCKETS && (least[(i + step) % BUCKETS] ?? -1) === -1) step++;
    const hash = least[(i + step) % BUCKETS] ?? 0;
    text += LETTERS.charAt((Math.floor(hash / BUCKETS) + step * 7) % LETTERS.length);
  }
  return text;
}

function mixed(hash: number): number {
  let x = hash | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
