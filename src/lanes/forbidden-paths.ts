import { pathPattern } from '../core/path-pattern.ts';

const WINDOW_MS = 10 * 60_000;
const MAX_PATTERNS = 256;
const MAX_ADDRESSES = 16;

/** Which addresses met a 403 on which kind of path lately; a good reply there clears it. Bounded. */
export class ForbiddenPaths {
  /** Least lately used first; addresses with the instant of their last 403, oldest first. */
  readonly #patterns = new Map<string, Map<string, number>>();

  addresses(path: string, now: number): readonly string[] {
    const seen = this.#patterns.get(pathPattern(path));
    if (!seen) return [];
    return [...seen].filter(([, at]) => now - at < WINDOW_MS).map(([address]) => address);
  }

  forbidden(path: string, address: string, now: number): void {
    const pattern = pathPattern(path);
    const seen = this.#patterns.get(pattern) ?? new Map<string, number>();
    this.#patterns.delete(pattern);
    this.#patterns.set(pattern, seen);
    seen.delete(address);
    seen.set(address, now);
    dropOldest(seen, MAX_ADDRESSES);
    dropOldest(this.#patterns, MAX_PATTERNS);
  }

  good(path: string): void {
    if (this.#patterns.size > 0) this.#patterns.delete(pathPattern(path));
  }
}

function dropOldest<K>(map: Map<K, unknown>, most: number): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
