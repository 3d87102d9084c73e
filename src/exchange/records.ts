import type { Watched } from './sightings.ts';

/** How one attempt ended, good or bad; what says nothing is not entered. */
export interface Outcome {
  readonly startedAt: number;
  readonly at: number;
  readonly exchangeId: string;
  readonly good: boolean;
}

/** What a lane and a route had to do with each other lately. */
export interface Pair {
  /** Oldest first. */
  outcomes: readonly Outcome[];
  readonly pending: Set<Watched>;
}

export interface LaneRecord {
  /** By route; least lately used first. */
  readonly pairs: Map<string, Pair>;
  inFlight: number;
  wasGood: boolean;
  /** What was under way when it answered quickly: the mean, the latest counting most. */
  fastLevel: number | null;
  /** The least that was found to be too much. */
  over: { readonly level: number; readonly at: number } | null;
  /** When it failed with no more than that under way. */
  failedBelow: readonly number[];
}

interface Key {
  readonly laneId: string;
  readonly route: { readonly id: string };
}

const MOST_LANES = 2_000;
const MOST_ROUTES = 5_000;
/** The last outcomes of a pair say enough; so do the last partners of a lane or a route. */
const MOST_OUTCOMES = 16;
const MOST_PARTNERS = 24;

/** Outcomes by lane and route, bounded in every direction; what was used least lately is forgotten first. */
export class Records {
  readonly #lanes = new Map<string, LaneRecord>();
  /** The lanes that used a route, least lately first. */
  readonly #lanesOf = new Map<string, Set<string>>();

  lane(laneId: string): LaneRecord {
    const known = this.#lanes.get(laneId);
    const lane = known ?? newLane();
    this.#lanes.delete(laneId);
    this.#lanes.set(laneId, lane);
    dropOldest(this.#lanes, MOST_LANES, (one) => one.inFlight === 0);
    return lane;
  }

  pair({ laneId, route }: Key): Pair {
    const { pairs } = this.lane(laneId);
    const pair = pairs.get(route.id) ?? { outcomes: [], pending: new Set() };
    pairs.delete(route.id);
    pairs.set(route.id, pair);
    dropOldest(pairs, MOST_PARTNERS, (one) => one.pending.size === 0);
    this.#used(route.id, laneId);
    return pair;
  }

  known({ laneId, route }: Key): Pair | undefined {
    return this.#lanes.get(laneId)?.pairs.get(route.id);
  }

  enter(key: Key, outcome: Outcome): void {
    const pair = this.pair(key);
    pair.outcomes = [...pair.outcomes.slice(1 - MOST_OUTCOMES), outcome];
  }

  lanesOf(routeId: string): readonly string[] {
    return [...(this.#lanesOf.get(routeId) ?? [])];
  }

  routesOf(laneId: string): readonly string[] {
    return [...(this.#lanes.get(laneId)?.pairs.keys() ?? [])];
  }

  #used(routeId: string, laneId: string): void {
    const lanes = this.#lanesOf.get(routeId) ?? new Set<string>();
    this.#lanesOf.delete(routeId);
    this.#lanesOf.set(routeId, lanes);
    lanes.delete(laneId);
    lanes.add(laneId);
    for (const oldest of lanes) {
      if (lanes.size <= MOST_PARTNERS) break;
      lanes.delete(oldest);
    }
    dropOldest(this.#lanesOf, MOST_ROUTES, () => true);
  }
}

const newLane = (): LaneRecord => ({
  pairs: new Map(),
  inFlight: 0,
  wasGood: false,
  fastLevel: null,
  over: null,
  failedBelow: [],
});

/** Looks at the oldest few only: what is in use is bounded by what is under way. */
function dropOldest<T>(map: Map<string, T>, most: number, isFree: (value: T) => boolean): void {
  let looks = map.size > most ? 8 : 0;
  for (const [key, value] of map) {
    if (looks === 0 || map.size <= most) return;
    looks -= 1;
    if (isFree(value)) map.delete(key);
  }
}
