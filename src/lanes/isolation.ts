import type { Keep, KeptRow, KeptTable } from '../exchange/kept.ts';

/** Hosts that may be held back at once. */
const MOST_ISOLATED = 10_000;
const ISOLATIONS = 'isolations';

/** What became of the wish to hold a host back; `full`: as many are held back already as may be. */
export type Isolated = 'now' | 'already' | 'full';

/** The hosts that the operator holds back. A restart does not let them go. */
export class Isolation implements KeptTable {
  readonly name = ISOLATIONS;
  readonly #keep: Keep;
  readonly #hosts = new Set<string>();

  constructor(keep: Keep) {
    this.#keep = keep;
  }

  has(host: string): boolean {
    return this.#hosts.has(host);
  }

  all(): Iterable<string> {
    return this.#hosts;
  }

  add(host: string): Isolated {
    if (this.#hosts.has(host)) return 'already';
    if (this.#hosts.size >= MOST_ISOLATED) return 'full';
    this.#hosts.add(host);
    this.#keep(ISOLATIONS, host, true);
    return 'now';
  }

  remove(host: string): boolean {
    const was = this.#hosts.delete(host);
    if (was) this.#keep(ISOLATIONS, host, undefined);
    return was;
  }

  /** Each change is kept at once. */
  changes(): [] {
    return [];
  }

  restore(rows: readonly KeptRow[]): readonly string[] {
    for (const { key } of rows) this.#hosts.add(key);
    return [];
  }
}
