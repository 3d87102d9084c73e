import { LRUCache } from 'lru-cache';
import type { HostFindings } from './findings.ts';
import { HostWorld } from './host-world.ts';

/** One host under the rules then, and under the others. */
export interface HostPair {
  readonly before: HostWorld;
  readonly other: HostWorld;
}

const MOST_HOSTS = 10_000;

/** The hosts of a log. What was told of those that are forgotten is kept where the rules make a difference. */
export class Hosts {
  readonly #pairs = new LRUCache<string, HostPair>({
    max: MOST_HOSTS,
    dispose: ({ before, other }, host) => {
      const found = this.#found(host, before, other);
      if (isDifferent(found) && this.#forgotten.size < MOST_HOSTS) this.#forgotten.set(host, found);
    },
  });
  readonly #forgotten = new Map<string, HostFindings>();

  pair(host: string): HostPair {
    const known = this.#pairs.get(host);
    if (known) return known;
    const made = { before: new HostWorld(host), other: new HostWorld(host) };
    this.#pairs.set(host, made);
    return made;
  }

  known(host: string): HostPair | undefined {
    return this.#pairs.get(host);
  }

  /** Those that would have fared differently. */
  different(): readonly HostFindings[] {
    const now = [...this.#pairs].map(([host, { before, other }]) =>
      this.#found(host, before, other),
    );
    return [...new Map([...this.#forgotten, ...now.map((found) => [found.host, found] as const)])]
      .map(([, found]) => found)
      .filter(isDifferent);
  }

  #found(host: string, before: HostWorld, other: HostWorld): HostFindings {
    const past = this.#forgotten.get(host);
    return {
      host,
      trips: {
        recorded: before.trips + (past?.trips.recorded ?? 0),
        whatIf: other.trips + (past?.trips.whatIf ?? 0),
      },
      pauses: {
        recorded: before.pauses + (past?.pauses.recorded ?? 0),
        whatIf: other.pauses + (past?.pauses.whatIf ?? 0),
      },
      lowestBudget: {
        recorded: least(before.lowestBudget, past?.lowestBudget.recorded),
        whatIf: least(other.lowestBudget, past?.lowestBudget.whatIf),
      },
    };
  }
}

const isDifferent = ({ trips, pauses, lowestBudget }: HostFindings): boolean =>
  [trips, pauses, lowestBudget].some(({ recorded, whatIf }) => recorded !== whatIf);

function least(a: number | undefined, b: number | null | undefined): number | null {
  if (a === undefined) return b ?? null;
  return Math.min(a, b ?? a);
}
