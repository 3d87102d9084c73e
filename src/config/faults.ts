import { closest, distance } from 'fastest-levenshtein';

/** One thing that is wrong with the configuration, and where. It never holds a secret. */
export interface Fault {
  /** A file, the name of an environment variable, or a flag. */
  readonly file: string;
  /** 1-based; 0 where there are no lines. */
  readonly line: number;
  readonly column: number;
  /** Keys joined by dots, as in `upstreams.0.routes.1`; empty for the whole file. */
  readonly path: string;
  readonly message: string;
  /** What would have been right; empty where there is nothing to say. */
  readonly expected: string;
  readonly suggestion?: string;
}

/** One line: place, key, what is wrong, and what may have been meant. */
export function formatFault(fault: Fault): string {
  const place = fault.line > 0 ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
  const key = fault.path === '' ? '' : ` ${fault.path}`;
  const hint = fault.suggestion === undefined ? '' : ` (did you mean ${fault.suggestion}?)`;
  return `${place}${key}: ${fault.message}${hint}`;
}

/** In the order of the file; what is not in a file comes last. */
export function inOrder(faults: readonly Fault[]): readonly Fault[] {
  return faults.toSorted(
    (a, b) =>
      Math.sign(Math.min(b.line, 1) - Math.min(a.line, 1)) ||
      a.line - b.line ||
      a.column - b.column ||
      (a.path < b.path ? -1 : 1),
  );
}

/** The nearest of some words, if it is near enough to have been meant. */
export function nearest(given: string, words: readonly string[]): { suggestion?: string } {
  if (words.length === 0 || given.length > 100) return {};
  const best = closest(given, words);
  // A swapped pair of letters counts as two.
  const near = distance(given, best) <= Math.max(given.length < 4 ? 1 : 2, given.length / 3);
  return near && best !== given ? { suggestion: best } : {};
}
