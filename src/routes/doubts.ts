import { LRUCache } from 'lru-cache';
import type { Verdict } from '../core/verdict.ts';
import type { Exchange, Route } from '../exchange/ports.ts';

/** Ambiguous failures in a row that another route made good, until the route is what is at fault. */
const UNTIL_CERTAIN = 2;
const MOST_REMEMBERED = 5_000;

interface Open {
  readonly route: Route;
  readonly verdict: Verdict;
}

/**
 * Failures that the site or the upstream may have made (a 502 on forwarded plain HTTP, a connection that broke
 * off). One alone is chance: a route is convicted when it happens again, without a good reply between, and other
 * routes were answered each time.
 */
export class Doubts {
  readonly #open = new LRUCache<string, readonly Open[]>({ max: MOST_REMEMBERED });
  readonly #counts = new LRUCache<string, number>({ max: MOST_REMEMBERED });

  /** The route failed, and nobody can tell whose doing it was. */
  raise(exchange: Exchange, route: Route, verdict: Verdict): void {
    const open = this.#open.get(exchange.id) ?? [];
    this.#open.set(exchange.id, [...open, { route, verdict }]);
  }

  /** The site answered over `served`: tells the earlier routes of this exchange that are at fault for sure. */
  answered(laneId: string, exchange: Exchange, served: Route): readonly Open[] {
    this.#counts.delete(keyOf(laneId, served));
    const open = this.#open.get(exchange.id) ?? [];
    this.#open.delete(exchange.id);
    return open.filter(({ route }) => {
      if (route.id === served.id) return false;
      const count = (this.#counts.get(keyOf(laneId, route)) ?? 0) + 1;
      if (count < UNTIL_CERTAIN) this.#counts.set(keyOf(laneId, route), count);
      else this.#counts.delete(keyOf(laneId, route));
      return count >= UNTIL_CERTAIN;
    });
  }
}

const keyOf = (laneId: string, route: Route): string => JSON.stringify([laneId, route.id]);
