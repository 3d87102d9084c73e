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
import { experienced, faded, type Health, newHealth, score } from '../core/selection.ts';
import type { RouteReason } from '../core/verdict.ts';

/** `lane` undefined: everywhere. */
interface Whom {
  readonly lane: string | undefined;
  readonly route: string;
}

/** What one lane knows of a route; `lane` undefined: what holds everywhere. Instants in epoch ms. */
export interface Repute {
  readonly lane: string | undefined;
  /** Faded counts. */
  readonly good: number;
  readonly bad: number;
  /** Between 0 and 1. */
  readonly score: number;
  readonly headMs: number | null;
  /** The ejection that holds now. */
  readonly ejection: Ejection | undefined;
}

/** Called with an ejection that begins, or is forgiven. */
export type OnEjection = (key: string, ejection: Ejection | undefined) => void;

const MOST_ENTRIES = 20_000;
const MOST_VOLLEYS = 5_000;
/** A route is in use while it did well within this time. */
const IN_USE_MS = 60_000;
const MOST_IN_USE = 64;
/** So many good replies more than bad ones are a good record. */
const GOOD_RECORD = 3;

/**
 * What is known of routes, for each lane and everywhere. Both tables are bounded; they are two, so that however
 * many healthy entries come, none drives out an ejected one.
 */
export class Reputation {
  readonly #health = new LRUCache<string, Health>({
    max: MOST_ENTRIES,
    dispose: (_, key, why) => {
      if (why === 'evict') this.#changed.add(key);
    },
  });
  readonly #ejections = new LRUCache<string, Ejection>({
    max: MOST_ENTRIES,
    dispose: (_, key, why) => {
      if (why === 'evict') this.#onEjection(key, undefined);
    },
  });
  /** Keys whose health is to be kept anew. */
  readonly #changed = new Set<string>();
  readonly #onEjection: OnEjection;
  readonly #volleys = new LRUCache<string, Volley>({ max: MOST_VOLLEYS });
  /** When routes last did well, by upstream and lane; longest ago first. */
  readonly #served = new LRUCache<string, Map<string, number>>({ max: MOST_VOLLEYS });
  /** What was known of a route before the volley it failed in. */
  readonly #before = new LRUCache<string, Health>({ max: MOST_VOLLEYS });
  readonly #random: Random;

  constructor(random: Random, onEjection: OnEjection) {
    this.#random = random;
    this.#onEjection = onEjection;
  }

  /** What has changed of what is known of routes since it was last asked for; undefined: known no longer. */
  *changedHealth(): Generator<readonly [key: string, health: Health | undefined]> {
    const keys = [...this.#changed];
    this.#changed.clear();
    for (const key of keys) yield [key, this.#health.peek(key)];
  }

  /** Takes back what an earlier process knew. */
  restoreHealth(key: string, health: Health): void {
    this.#health.set(key, health);
  }

  restoreEjection(key: string, ejection: Ejection): void {
    this.#ejections.set(key, ejection);
  }

  /** A good reply: it counts for the lane and everywhere, and forgives ejections that are over. */
  praise(whom: Whom, headMs: number | undefined, now: number): void {
    for (const key of [keyOf(whom), keyOf({ ...whom, lane: undefined })]) {
      this.#experience(key, { outcome: 'good', headMs }, now);
      if (!isOut(this.#ejections.peek(key), now)) this.#forgive(key);
    }
  }

  /** Ejects, and tells when it comes back; undefined when it was out already. */
  blame(
    whom: Whom,
    cause: { readonly reason: RouteReason; readonly retireForMs: number },
    now: number,
  ): number | undefined {
    const key = keyOf(whom);
    this.#before.set(key, this.#health.get(key) ?? newHealth);
    this.#experience(key, { outcome: 'bad', headMs: undefined }, now);
    const before = this.#ejections.get(key);
    if (isOut(before, now)) return undefined;
    const ejection = eject(before, { ...cause, roll: this.#random() }, now);
    this.#ejections.set(key, ejection);
    this.#onEjection(key, ejection);
    return ejection.untilAt;
  }

  /**
   * Enters a silent failure, everywhere or for one lane. When most of a list, or most of those of it that are in
   * use, fail within a second, they are not at fault: what that second cost them is undone. Tells whether that is news.
   */
  guard(
    upstream: { name: string; size: number; lane: string | undefined },
    route: string,
    now: number,
  ): 'no' | 'yes' | 'news' {
    const { name, size, lane } = upstream;
    const key = volleyKey(name, lane);
    const volley = shot(this.#volleys.get(key) ?? newVolley, route, now);
    const inUse = [...(this.#served.get(key) ?? [])]
      .filter(([, at]) => now - at < IN_USE_MS)
      .map(([id]) => id);
    const hit = { ...volley, shots: volley.shots.filter((one) => inUse.includes(one.route)) };
    if (!isVolley(volley, size) && !isVolley(hit, inUse.length)) {
      this.#volleys.set(key, volley);
      return 'no';
    }
    for (const one of volley.shots) this.#undo(keyOf({ lane, route: one.route }));
    this.#volleys.set(key, { ...volley, announced: true });
    return volley.announced ? 'yes' : 'news';
  }

  /** A route of the list works: it is in use, and the next volley is news. */
  calm(
    upstream: string,
    whom: { readonly lane: string; readonly route: string },
    now: number,
  ): void {
    for (const lane of [whom.lane, undefined]) {
      const key = volleyKey(upstream, lane);
      this.#volleys.delete(key);
      const served = this.#served.get(key) ?? new Map<string, number>();
      served.delete(whom.route);
      served.set(whom.route, now);
      const [oldest] = served.keys();
      if (served.size > MOST_IN_USE && oldest !== undefined) served.delete(oldest);
      this.#served.set(key, served);
    }
  }

  /** Whether it has served the lane well enough for a single refusal to be doubted. */
  hasGoodRecord(lane: string, route: string, now: number): boolean {
    const health = this.#health.peek(keyOf({ lane, route }));
    if (!health || isOut(this.#ejections.peek(keyOf({ lane, route })), now)) return false;
    return health.good - health.bad >= GOOD_RECORD;
  }

  /** What is known of a route, by lane; what holds everywhere comes first. */
  of(route: string, now: number): readonly Repute[] {
    const ending = `\n${route}`;
    const keys = new Set([...this.#health.keys(), ...this.#ejections.keys()]);
    return [...keys]
      .filter((key) => key.endsWith(ending))
      .sort()
      .map((key) => {
        const health = this.#health.peek(key) ?? newHealth;
        const ejection = this.#ejections.peek(key);
        return {
          lane: key.slice(0, -ending.length) || undefined,
          ...faded(health, now),
          score: score(health, now),
          headMs: health.headMs,
          ejection: isOut(ejection, now) ? ejection : undefined,
        };
      });
  }

  /** Out everywhere by the operator's word, which is no experience of it. */
  takeOut(route: string, untilAt: number): void {
    const key = keyOf({ lane: undefined, route });
    const ejection: Ejection = { reason: 'refused', untilAt, times: 1 };
    this.#ejections.set(key, ejection);
    this.#onEjection(key, ejection);
  }

  /** Back in, for every lane. */
  takeBack(route: string): void {
    const ending = `\n${route}`;
    for (const key of [...this.#ejections.keys()]) if (key.endsWith(ending)) this.#forgive(key);
  }

  /** The page is refused to every address, so none of them was at fault. */
  pardon(lane: string, routes: readonly string[]): void {
    for (const route of routes) {
      const key = keyOf({ lane, route });
      if (this.#ejections.peek(key)?.reason !== 'blocked') continue;
      this.#forgive(key);
      this.#health.delete(key);
      this.#changed.add(key);
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

  #undo(key: string): void {
    this.#forgive(key);
    const before = this.#before.get(key);
    if (!before) return;
    this.#health.set(key, before);
    this.#changed.add(key);
  }

  #forgive(key: string): void {
    if (this.#ejections.delete(key)) this.#onEjection(key, undefined);
  }

  #experience(
    key: string,
    what: { readonly outcome: 'good' | 'bad'; readonly headMs: number | undefined },
    now: number,
  ): void {
    this.#health.set(key, experienced(this.#health.get(key) ?? newHealth, what, now));
    this.#changed.add(key);
  }
}

const volleyKey = (upstream: string, lane: string | undefined): string =>
  `${upstream}\n${lane ?? ''}`;

const keyOf = ({ lane, route }: Whom): string => `${lane ?? ''}\n${route}`;
