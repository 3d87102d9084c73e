import { LRUCache } from 'lru-cache';
import type { Random } from '../clock.ts';
import type { Ledger } from '../core/action.ts';
import { beyondCap } from '../core/ejection.ts';
import { best, least, warmSize } from '../core/selection.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import type { Accounts } from './accounts.ts';
import type { Pool } from './pool.ts';
import type { Reputation } from './reputation.ts';
import type { Warm, Warmed } from './warm.ts';

/** For whom a route is sought. */
export interface Seeker {
  readonly exchange: Exchange;
  readonly laneId: string;
  readonly ledger: Ledger;
  readonly now: number;
}

/** `healthy`: only routes that are in. `any`: those beyond the cap too, so that no list is ever dead for good. */
export type Standard = 'healthy' | 'any';

const MOST_REMEMBERED_USES = 20_000;

/** Picks the address within one upstream. */
export class Choice {
  readonly #reputation: Reputation;
  readonly #accounts: Accounts;
  readonly #warm: Warm;
  readonly #random: Random;
  readonly #usedAt = new LRUCache<string, number>({ max: MOST_REMEMBERED_USES });
  #uses = 0;

  constructor(deps: { reputation: Reputation; accounts: Accounts; warm: Warm; random: Random }) {
    this.#reputation = deps.reputation;
    this.#accounts = deps.accounts;
    this.#warm = deps.warm;
    this.#random = deps.random;
  }

  /** Whether `pick` would find one; changes nothing. */
  could(pool: Pool, seeker: Seeker, standard: Standard): boolean {
    if (this.#accounts.outUntil(pool, seeker.now) !== undefined) return false;
    return pool.upstream.kind === 'gateway' || this.candidates(pool, seeker, standard).length > 0;
  }

  /** A route for an exchange outside sessions. */
  pick(pool: Pool, seeker: Seeker, standard: Standard): Route | undefined {
    if (!this.could(pool, seeker, standard)) return undefined;
    const { rotation } = seeker.exchange.policy.routes;
    const route =
      rotation === 'fresh'
        ? this.#fresh(pool, seeker, standard)
        : this.#kept(pool, seeker, standard);
    if (route) this.#usedAt.set(route.id, ++this.#uses);
    return route;
  }

  /** The addresses of a list that may be taken, the least leased of them first in mind. */
  pickLeast(
    pool: Pool,
    seeker: Seeker,
    standard: Standard,
    leases: (routeId: string) => number,
  ): Route | undefined {
    const candidates = this.candidates(pool, seeker, standard);
    return this.#best(
      least(candidates, (route) => leases(route.id)),
      seeker,
    );
  }

  /** The fixed addresses that come into question. */
  candidates(pool: Pool, seeker: Seeker, standard: Standard): readonly Route[] {
    const { laneId, ledger, now } = seeker;
    const standing = pool
      .standing(undefined, 0)
      .filter((route) => this.#accounts.outageOf(pool, route.id, now) === undefined);
    const outUntil = (id: string) => this.#reputation.outUntil(laneId, id, now);
    const open = standing.filter((route) => !ledger.avoidRoutes.includes(route.id));
    const healthy = open.filter((route) => outUntil(route.id) === undefined);
    if (standard === 'healthy' && healthy.length === 0) return [];
    const ids = standing.map((route) => route.id);
    const again = new Set(beyondCap(ids, outUntil, pool.maxEjectedRatio));
    return [...healthy, ...open.filter((route) => again.has(route.id))];
  }

  /** A new address for each exchange: the one longest at rest, among those that are good enough. */
  #fresh(pool: Pool, seeker: Seeker, standard: Standard): Route | undefined {
    const { exchange, ledger } = seeker;
    const minted = pool.mint(exchange.country, ledger.avoidRoutes);
    if (minted) return minted;
    const candidates = this.candidates(pool, seeker, standard);
    const top = Math.max(...candidates.map((route) => this.#score(route, seeker)));
    const good = candidates.filter((route) => this.#score(route, seeker) >= top / 2);
    return this.#best(
      least(good, (route) => this.#usedAt.peek(route.id) ?? 0),
      seeker,
    );
  }

  /** One of the few addresses the lane goes on using. */
  #kept(pool: Pool, seeker: Seeker, standard: Standard): Route | undefined {
    const { exchange, laneId, ledger, now } = seeker;
    const key = JSON.stringify([pool.upstream.name, exchange.country ?? null]);
    const flights = this.#warm.inFlight(laneId, now);
    const waiting = [...flights.values()].reduce((sum, count) => sum + count, 0);
    const size = warmSize(exchange.policy.routes.warm, waiting + 1);
    const candidates =
      pool.upstream.kind === 'gateway'
        ? pool.standing(exchange.country, size)
        : this.candidates(pool, seeker, standard);

    const set = this.#warm.set(laneId, key);
    const lasting = set.filter((one) => !this.#isSpent(pool, one, seeker));
    const spent = set.filter((one) => !lasting.includes(one)).map((one) => one.id);
    let usable = this.#usable(pool, lasting, candidates, ledger);
    if (usable.length < size) {
      const taken = [...lasting.map((one) => one.id), ...ledger.avoidRoutes];
      const added = this.#another(pool, seeker, candidates, { taken, spent });
      if (added) {
        lasting.push({ id: added.id, sinceAt: now, uses: 0 });
        usable = [...usable, added];
      }
    }
    const inSet = usable.slice(0, size);
    // One request tries an unknown address: a crowd on it would pay for its block many times over.
    const open = inSet.filter(
      ({ id }) => !flights.has(id) || this.#reputation.hasGoodRecord(laneId, id, now),
    );
    const inUse = least(open.length > 0 ? open : inSet, (route) => flights.get(route.id) ?? 0);
    const chosen = this.#best(inUse, seeker);
    this.#warm.keep(
      laneId,
      key,
      lasting
        .slice(-Math.max(size, 8))
        .map((one) => (one.id === chosen?.id ? { ...one, uses: one.uses + 1 } : one)),
    );
    return chosen;
  }

  #usable(
    pool: Pool,
    warm: readonly Warmed[],
    candidates: readonly Route[],
    { avoidRoutes }: Ledger,
  ): readonly Route[] {
    return warm.flatMap(({ id }) => {
      if (avoidRoutes.includes(id)) return [];
      // An earlier token of a gateway stays good for this lane when another lane has moved on.
      const route =
        pool.upstream.kind === 'gateway' ? pool.find(id) : candidates.find((one) => one.id === id);
      return route ? [route] : [];
    });
  }

  /** One more for the warm set; one that has just been used up only if there is no other. */
  #another(
    pool: Pool,
    seeker: Seeker,
    candidates: readonly Route[],
    not: { readonly taken: readonly string[]; readonly spent: readonly string[] },
  ): Route | undefined {
    const free = candidates.filter((route) => !not.taken.includes(route.id));
    const rested = free.filter((route) => !not.spent.includes(route.id));
    const found = this.#best(rested, seeker);
    if (found) return found;
    return pool.mint(seeker.exchange.country, not.taken) ?? this.#best(free, seeker);
  }

  #isSpent(pool: Pool, one: Warmed, { exchange, now }: Seeker): boolean {
    const { maxUses } = exchange.policy.routes;
    const usedUp = maxUses !== null && one.uses >= maxUses;
    const aged = pool.ttlMs !== null && now - one.sinceAt >= pool.ttlMs;
    if (usedUp || aged) pool.supersede(one.id);
    return usedUp || aged;
  }

  #best(routes: readonly Route[], seeker: Seeker): Route | undefined {
    return best(routes, (route) => this.#score(route, seeker), this.#random());
  }

  #score(route: Route, { laneId, now }: Seeker): number {
    return this.#reputation.scoreFor(laneId, route.id, now);
  }
}
