import { LRUCache } from 'lru-cache';
import type { HostFindings } from './findings.ts';
import { HostWorld } from './host-world.ts';

/** One host under the rules then, and under the others. */
export interface HostPair {
  readonly before: HostWorld;
  readonly other: HostWorld;
}

/** No more hosts are played at once; what was found of one that made room is kept. */
const MOST_HOSTS = 10_000;

/** All hosts of a log, each twice. */
export class HostPairs {
  readonly #pairs = new LRUCache<string, HostPair>({
    max: MOST_HOSTS,
    dispose: (pair, host) => this.#keep(host, pair),
  });
  readonly #kept = new Map<string, HostFindings>();

  of(host: string): HostPair {
    const known = this.#pairs.get(host);
    if (known) return known;
    const made = { before: new HostWorld(host), other: new HostWorld(host) };
    this.#pairs.set(host, made);
    return made;
  }

  known(host: string): HostPair | undefined {
    return this.#pairs.get(host);
  }

  /** Of hosts that would have fared differently. */
  findings(): readonly HostFindings[] {
    for (const [host, pair] of this.#pairs) this.#keep(host, pair);
    return [...this.#kept.values()];
  }

  #keep(host: string, { before, other }: HostPair): void {
    const fared = {
      trips: { recorded: before.trips, whatIf: other.trips },
      pauses: { recorded: before.pauses, whatIf: other.pauses },
      lowestBudget: {
        recorded: before.lowestBudget ?? null,
        whatIf: other.lowestBudget ?? null,
      },
    };
    const isDifferent = Object.values(fared).some(({ recorded, whatIf }) => recorded !== whatIf);
    if (isDifferent) this.#kept.set(host, { host, ...fared });
  }
}
