import { LRUCache } from 'lru-cache';
import type { Random } from '../clock.ts';
import {
  type Ejection,
  eject,
  isOut,
  isVolley,
  newVolley,
  shot,
  type Volley,
} from '../core/ejection.ts';
import { experienced, type Health, newHealth, score } from '../core/selection.ts';
import type { RouteReason } from '../core/verdict.ts';

/** `lane` undefined: everywhere. */
interface Whom {
  readonly lane: string | undefined;
  readonly route: string;
}

const MOST_ENTRIES = 20_000;

/**
 * What is known of routes, for each lane and everywhere. Both tables are bounded; they are two, so that however
 * many healthy entries come, none drives out an ejected one.
 */
export class Reputation {
  readonly #health = new LRUCache<string, Health>({ max: MOST_ENTRIES });
  readonly #ejections = new LRUCache<string, Ejection>({ max: MOST_ENTRIES });
  readonly #volleys = new Map<string, Volley>();
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** A good reply: it counts for the lane and everywhere, and forgives ejections that are over. */
  praise(whom: Whom, headMs: number | undefined, now: number): void {
    for (const key of [keyOf(whom), keyOf({ ...whom, lane: undefined })]) {
      this.#experience(key, { outcome: 'good', headMs }, now);
      if (!isOut(this.#ejections.peek(key), now)) this.#ejections.delete(key);
    }
  }

  /** Ejects, and tells when it comes back; undefined when it was out already. */
  blame(
    whom: Whom,
    cause: { readonly reason: RouteReason; readonly retireForMs: number },
    now: number,
  ): number | undefined {
    const key = keyOf(whom);
    this.#experience(key, { outcome: 'bad', headMs: undefined }, now);
    const before = this.#ejections.get(key);
    if (isOut(before, now)) return undefined;
    const ejection = eject(before, { ...cause, roll: this.#random() }, now);
    this.#ejections.set(key, ejection);
    return ejection.untilAt;
  }

  /**
   * Enters a failure everywhere. When most of a list fails within a second, the list is not at fault: the ejections
   * of that second are undone. Tells whether that is news.
   */
  guard(
    upstream: { name: string; size: number },
    route: string,
    now: number,
  ): 'no' | 'yes' | 'news' {
    const volley = shot(this.#volleys.get(upstream.name) ?? newVolley, route, now);
    if (!isVolley(volley, upstream.size)) {
      this.#volleys.set(upstream.name, volley);
      return 'no';
    }
    for (const one of volley.shots)
      this.#ejections.delete(keyOf({ lane: undefined, route: one.route }));
    this.#volleys.set(upstream.name, { ...volley, announced: true });
    return volley.announced ? 'yes' : 'news';
  }

  /** The list works again: the next volley is news. */
  calm(upstream: string): void {
    this.#volleys.delete(upstream);
  }

  /** The page is refused to every address, so none of them was at fault. */
  pardon(lane: string, routes: readonly string[]): void {
    for (const route of routes) {
      const key = keyOf({ lane, route });
      if (this.#ejections.peek(key)?.reason !== 'blocked') continue;
      this.#ejections.delete(key);
      this.#health.delete(key);
    }
  }

  /** When it is back for this lane; undefined when it is not out. */
  outUntil(lane: string, route: string, now: number): number | undefined {
    const untils = [keyOf({ lane, route }), keyOf({ lane: undefined, route })]
      .map((key) => this.#ejections.get(key)?.untilAt ?? 0)
      .filter((untilAt) => untilAt > now);
    return untils.length === 0 ? undefined : Math.max(...untils);
  }

  /** The ejection everywhere, if it is out everywhere. */
  ejectedEverywhere(route: string, now: number): Ejection | undefined {
    const ejection = this.#ejections.peek(keyOf({ lane: undefined, route }));
    return isOut(ejection, now) ? ejection : undefined;
  }

  /** How promising the route is for this lane. */
  scoreFor(lane: string, route: string, now: number): number {
    const here = this.#health.get(keyOf({ lane, route })) ?? newHealth;
    const everywhere = this.#health.get(keyOf({ lane: undefined, route })) ?? newHealth;
    return score(here, now) * score(everywhere, now);
  }

  #experience(
    key: string,
    what: { readonly outcome: 'good' | 'bad'; readonly headMs: number | undefined },
    now: number,
  ): void {
    this.#health.set(key, experienced(this.#health.get(key) ?? newHealth, what, now));
  }
}

const keyOf = ({ lane, route }: Whom): string => `${lane ?? ''}\n${route}`;
