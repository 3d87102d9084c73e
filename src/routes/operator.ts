import type { Clock } from '../clock.ts';
import type { Route } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Reputation, Repute } from './reputation.ts';
import type { Upstreams } from './upstreams.ts';
import type { Warm } from './warm.ts';

/** What the operator may do with single routes. */
export class Operator {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #emit: Emit;
  readonly #upstreams: Upstreams;
  readonly #reputation: Reputation;
  readonly #warm: Warm;

  constructor(deps: {
    clock: Pick<Clock, 'now'>;
    emit: Emit;
    upstreams: Upstreams;
    reputation: Reputation;
    warm: Warm;
  }) {
    this.#clock = deps.clock;
    this.#emit = deps.emit;
    this.#upstreams = deps.upstreams;
    this.#reputation = deps.reputation;
    this.#warm = deps.warm;
  }

  /** Takes a route out everywhere; a gateway's token is replaced instead. False when there is no such route. */
  eject(routeId: string, untilAt: number): boolean {
    const found = this.#find(routeId);
    if (!found) return false;
    const { route, pool } = found;
    if (pool.upstream.kind === 'gateway') pool.supersede(routeId);
    else this.#reputation.takeOut(routeId, untilAt);
    // Lanes would go on with a gateway's earlier address.
    this.#warm.dropEverywhere(routeId);
    this.#emit({ type: 'route_ejected', at: this.#clock.now(), route, lane: undefined, untilAt });
    return true;
  }

  /** Takes a route back in, for all lanes. False when there is no such route: a gateway's that was replaced is none. */
  restore(routeId: string): boolean {
    const found = this.#find(routeId);
    if (!found) return false;
    this.#reputation.takeBack(routeId);
    this.#emit({ type: 'route_restored', at: this.#clock.now(), route: found.route });
    return true;
  }

  /** What is known of a route, everywhere and by lane; undefined when there is no such route. */
  reputation(routeId: string): readonly Repute[] | undefined {
    if (!this.#find(routeId)) return undefined;
    return this.#reputation.of(routeId, this.#clock.now());
  }

  #find(routeId: string): { route: Route; pool: Upstreams['all'][number] } | undefined {
    const pool = this.#upstreams.of(routeId);
    // A gateway's address that does not stand any more is nothing to act on: nobody will get it again.
    const route = pool?.known().find(({ id }) => id === routeId);
    return pool && route && { pool, route };
  }
}
