import { LRUCache } from 'lru-cache';

/** A route a lane goes on using. */
export interface Warmed {
  readonly id: string;
  readonly sinceAt: number;
  readonly uses: number;
}

interface LaneWays {
  /** By upstream and country. */
  readonly warm: Map<string, readonly Warmed[]>;
  /** By exchange: attempts whose outcome was not recorded yet. */
  readonly flights: Map<string, Flight>;
}

interface Flight {
  readonly routeId: string;
  /** An attempt of a client that left is never recorded; nothing waits longer than its exchange's deadline. */
  readonly untilAt: number;
}

const MOST_LANES = 5000;
const MOST_SETS = 100;

/** The routes each lane keeps in use, and what is on its way over them. Lanes long unused are forgotten. */
export class Warm {
  readonly #lanes = new LRUCache<string, LaneWays>({ max: MOST_LANES });

  set(lane: string, key: string): readonly Warmed[] {
    return this.#lane(lane).warm.get(key) ?? [];
  }

  keep(lane: string, key: string, warm: readonly Warmed[]): void {
    const sets = this.#lane(lane).warm;
    sets.delete(key);
    sets.set(key, warm);
    for (const oldest of sets.keys()) {
      if (sets.size <= MOST_SETS) break;
      sets.delete(oldest);
    }
  }

  /** The route went bad for this lane. */
  drop(lane: string, routeId: string): void {
    const ways = this.#lanes.peek(lane);
    for (const [key, warm] of ways?.warm ?? []) {
      if (!warm.some((one) => one.id === routeId)) continue;
      ways?.warm.set(
        key,
        warm.filter((one) => one.id !== routeId),
      );
    }
  }

  /** The route is out for every lane. */
  dropEverywhere(routeId: string): void {
    for (const lane of [...this.#lanes.keys()]) this.drop(lane, routeId);
  }

  takeOff(lane: string, exchangeId: string, flight: Flight): void {
    this.#lane(lane).flights.set(exchangeId, flight);
  }

  land(lane: string, exchangeId: string): void {
    this.#lanes.get(lane)?.flights.delete(exchangeId);
  }

  /** Attempts on their way, by route. */
  inFlight(lane: string, now: number): ReadonlyMap<string, number> {
    const { flights } = this.#lane(lane);
    const counts = new Map<string, number>();
    for (const [exchangeId, { routeId, untilAt }] of flights) {
      if (untilAt <= now) flights.delete(exchangeId);
      else counts.set(routeId, (counts.get(routeId) ?? 0) + 1);
    }
    return counts;
  }

  #lane(lane: string): LaneWays {
    const known = this.#lanes.get(lane);
    if (known) return known;
    const ways: LaneWays = { warm: new Map(), flights: new Map() };
    this.#lanes.set(lane, ways);
    return ways;
  }
}
