// A sketch keeps, for each of some buckets, the smallest hash of the text's pieces that fell into it (one
// permutation min-hash). Two texts that share most of their pieces share most of their smallest hashes.
const BUCKETS = 24;
const PIECE_CHARS = 12;
const MAX_CHARS = 16_384;
const LONG_WORD = 40;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const PRIME = 0x01000193;

/** How many characters `sketch` gives. */
export const SKETCH_CHARS = BUCKETS;

/** A short text by which documents can be compared: alike documents have alike sketches. Linear in the text. */
export function sketch(text: string): string {
  const plain = withoutNumbers(text.slice(0, MAX_CHARS));
  const least = new Array<number>(BUCKETS).fill(-1);
  const last = Math.max(0, plain.length - PIECE_CHARS);
  // Rolled along the text: the piece's first character goes, the next one comes.
  let rolled = 0;
  let out = 1;
  for (let i = 0; i < PIECE_CHARS; i++) {
    rolled = (Math.imul(rolled, PRIME) + (plain.charCodeAt(i) || 0)) | 0;
    out = Math.imul(out, PRIME);
  }
  for (let at = 0; at <= last; at++) {
    const hash = mixed(rolled);
    const bucket = hash % BUCKETS;
    const before = least[bucket] ?? -1;
    if (before === -1 || hash < before) least[bucket] = hash;
    const next = plain.charCodeAt(at + PIECE_CHARS) || 0;
    const gone = Math.imul(plain.charCodeAt(at) || 0, out);
    rolled = (Math.imul(rolled, PRIME) + next - gone) | 0;
  }
  return written(least);
}

/** How much two documents have in common by their sketches, from 0 to 1. */
export function likeness(a: string, b: string): number {
  let equal = 0;
  for (let i = 0; i < BUCKETS; i++) if (a.charCodeAt(i) === b.charCodeAt(i)) equal++;
  return equal / BUCKETS;
}

/** A short name for a text. */
export function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), PRIME);
  return mixed(hash).toString(36).padStart(7, '0');
}

/** Ids, times, counters and addresses differ from one copy of a page to the next. */
function withoutNumbers(text: string): string {
  return text
    .split(/\s+/)
    .filter((word) => word.length > LONG_WORD || !/[\d/]/.test(word))
    .join(' ')
    .replace(/\d/g, '0');
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
