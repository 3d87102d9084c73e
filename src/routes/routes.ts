import type { Clock, Random } from '../clock.ts';
import type { UpstreamConfig } from '../config/config.ts';
import type { Ledger } from '../core/action.ts';
import type { Session } from '../core/session.ts';
import type { Keep, KeptTable } from '../exchange/kept.ts';
import type { Choice as Chosen, Exchange, Route, Routes } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';
import { Accounts } from './accounts.ts';
import { Charges } from './charges.ts';
import { Choice, type Seeker, type Standard } from './choice.ts';
import { keptWays, savedSession } from './kept-ways.ts';
import { Operator } from './operator.ts';
import type { Hash, Pool } from './pool.ts';
import { Reputation } from './reputation.ts';
import { Sessions } from './sessions.ts';
import { Upstreams } from './upstreams.ts';
import { Warm } from './warm.ts';

/** What the ways out need from outside. */
export interface RoutesDeps {
  /** In order of preference. */
  readonly upstreams: readonly UpstreamConfig[];
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Random;
  readonly emit: Emit;
  /** SHA-256 as hex digits. */
  readonly hash: Hash;
  /** Closes the sockets of a route: idle ones at once, busy ones when they end. */
  readonly retire: (routeId: string) => void;
  /** Keeps what must not be forgotten. */
  readonly keep?: Keep;
}

/** The ways out, with what the composition root and the admin API may do besides. */
export interface WaysOut extends Routes {
  /** Takes over a new list: state is kept for what stays, and sessions whose route left are burned. */
  update(upstreams: readonly UpstreamConfig[]): void;
  /** Ends a session for its client; false when there is none. */
  endSession(id: string): boolean;
  /** The operator's hand on single routes. */
  readonly operator: Operator;
  /** Everything there is, for display; never a credential. */
  list(): WaysOutView;
  /** What outlives the process: sessions, ejections, outages, generations, reputations. */
  readonly kept: readonly KeptTable[];
}

export interface WaysOutView {
  readonly upstreams: readonly {
    readonly name: string;
    readonly kind: 'direct' | 'list' | 'gateway';
    /** Epoch ms; undefined while it may be asked. */
    readonly outUntil: number | undefined;
  }[];
  readonly routes: readonly {
    readonly id: string;
    readonly label: string;
    readonly upstream: string;
    readonly state: 'in' | 'ejected';
    readonly outUntil: number | undefined;
    readonly sessions: number;
  }[];
  readonly sessions: readonly {
    readonly id: string;
    readonly session: Session;
    /** The route's label, while it is active. */
    readonly label: string | undefined;
  }[];
}

/** Makes the ways out: which upstream, which address, and whose. */
export function createRoutes(deps: RoutesDeps): WaysOut {
  return new Ways(deps);
}

const standards: readonly Standard[] = ['healthy', 'any'];

class Ways implements WaysOut {
  readonly kept: readonly KeptTable[];
  readonly operator: Operator;
  readonly #deps: RoutesDeps;
  readonly #reputation: Reputation;
  readonly #accounts: Accounts;
  readonly #warm = new Warm();
  readonly #sessions: Sessions;
  readonly #choice: Choice;
  readonly #upstreams: Upstreams;
  readonly #charges: Charges;

  constructor(deps: RoutesDeps) {
    this.#deps = deps;
    const keep: Keep = (...row) => deps.keep?.(...row);
    this.#reputation = new Reputation(deps.random, (...row) => keep('ejections', ...row));
    this.#accounts = new Accounts((...row) => keep('outages', ...row));
    this.#upstreams = new Upstreams({ ...deps, onReserve: (...row) => keep('gateways', ...row) });
    this.#sessions = new Sessions({
      ...deps,
      onChange: (id, session, route) =>
        keep('sessions', id, savedSession(session, route, this.#upstreams)),
    });
    this.#choice = new Choice({
      reputation: this.#reputation,
      accounts: this.#accounts,
      warm: this.#warm,
      random: deps.random,
    });
    this.#charges = new Charges({
      ...deps,
      upstreams: this.#upstreams,
      reputation: this.#reputation,
      accounts: this.#accounts,
      warm: this.#warm,
    });
    this.operator = new Operator({
      ...deps,
      upstreams: this.#upstreams,
      reputation: this.#reputation,
      warm: this.#warm,
    });
    this.update(deps.upstreams);
    this.kept = keptWays({
      clock: deps.clock,
      sessions: this.#sessions,
      upstreams: this.#upstreams,
      reputation: this.#reputation,
      accounts: this.#accounts,
    });
  }

  choose(exchange: Exchange, laneId: string, ledger: Ledger): Chosen {
    const seeker = { exchange, laneId, ledger, now: this.#deps.clock.now() };
    if (exchange.session !== undefined) return this.#inSession(exchange.session, seeker);
    const route = this.#stayed(seeker) ?? this.#picked(seeker);
    if (!route) return this.#none(seeker);
    const flight = { routeId: route.id, untilAt: exchange.deadline };
    this.#warm.takeOff(laneId, exchange.id, flight);
    return { kind: 'route', route };
  }

  record(outcome: Parameters<Routes['record']>[0]): void {
    this.#charges.record(outcome);
  }

  left(
    exchange: Exchange,
    laneId: string,
    ledger: Ledger,
  ): { routes: boolean; upstreams: boolean } {
    if (exchange.session !== undefined) return { routes: false, upstreams: false };
    const seeker = { exchange, laneId, ledger, now: this.#deps.clock.now() };
    const last = ledger.avoidRoutes.at(-1) ?? ledger.addresses.at(-1);
    const current = last === undefined ? undefined : this.#upstreams.of(last);
    const could = this.#upstreams
      .open(seeker)
      .filter((pool) => this.#choice.could(pool, seeker, 'any'));
    return {
      routes: current ? could.includes(current) : could.length > 0,
      upstreams: could.some((pool) => pool !== current),
    };
  }

  burn(exchange: Exchange): void {
    if (exchange.session === undefined) return;
    this.#sessions.burn(exchange.session, exchange.policy.sessions.burnedForMs);
  }

  sessionState(exchange: Exchange): 'active' | 'burned' | 'expired' | undefined {
    return exchange.session === undefined ? undefined : this.#sessions.at(exchange.session)?.state;
  }

  endSession(id: string): boolean {
    return this.#sessions.finish(id);
  }

  update(upstreams: readonly UpstreamConfig[]): void {
    this.#upstreams.update(upstreams);
    this.#accounts.keepOnly(this.#upstreams.all);
    this.#sessions.carryOver((session, route) => this.#upstreams.successor(session, route));
  }

  list(): WaysOutView {
    const now = this.#deps.clock.now();
    const pools = this.#upstreams.all;
    return {
      upstreams: pools.map((pool) => ({
        ...pool.upstream,
        outUntil: this.#accounts.outUntil(pool, now),
      })),
      routes: pools.flatMap((pool) =>
        pool.standing(undefined, 1).map(({ id, label, upstream }) => {
          const outUntil =
            this.#reputation.ejectedEverywhere(id, now)?.untilAt ??
            this.#accounts.outageOf(pool, id, now)?.untilAt;
          const state = outUntil === undefined ? 'in' : 'ejected';
          return { id, label, upstream, state, outUntil, sessions: this.#sessions.leasesOf(id) };
        }),
      ),
      sessions: this.#sessions.list(),
    };
  }

  /** An exchange that waited goes on where it was, unless its credentials failed meanwhile. */
  #stayed({ ledger, exchange, now }: Seeker): Route | undefined {
    const { stayOn, avoidRoutes, avoidUpstreams } = ledger;
    if (stayOn === undefined || avoidRoutes.includes(stayOn)) return undefined;
    const pool = this.#upstreams.of(stayOn);
    if (!pool || avoidUpstreams.includes(pool.upstream.name)) return undefined;
    if (!this.#upstreams.permitted(exchange).includes(pool)) return undefined;
    const outage = this.#accounts.outageOf(pool, stayOn, now);
    if (outage && outage.reason !== 'upstream_rate_limited') return undefined;
    return pool.find(stayOn);
  }

  #picked(seeker: Seeker): Route | undefined {
    return this.#first(seeker, (pool, standard) => this.#choice.pick(pool, seeker, standard));
  }

  /** Upstreams in order, and a second time with those of their routes that are out beyond the cap. */
  #first<T>(
    seeker: Seeker,
    take: (pool: Pool, standard: Standard) => T | undefined,
  ): T | undefined {
    for (const standard of standards) {
      for (const pool of this.#upstreams.open(seeker)) {
        const taken = take(pool, standard);
        if (taken !== undefined) return taken;
      }
    }
    return undefined;
  }

  #inSession(id: string, seeker: Seeker): Chosen {
    const session = this.#sessions.at(id);
    if (!session) return this.#bind(id, seeker);
    if (session.state !== 'active') {
      const retryAfterMs = session.untilAt - seeker.now;
      return { kind: 'none', stop: `session_${session.state}`, retryAfterMs };
    }
    const { ledger, now } = seeker;
    const pool = this.#upstreams.get(session.upstream);
    const outage = pool && this.#accounts.outageOf(pool, session.routeId, now);
    const waitedFor =
      ledger.stayOn === session.routeId && outage?.reason === 'upstream_rate_limited';
    if (outage && !waitedFor) {
      return { kind: 'none', stop: 'no_route', retryAfterMs: outage.untilAt - now };
    }
    const avoided =
      ledger.avoidRoutes.includes(session.routeId) ||
      ledger.avoidUpstreams.includes(session.upstream);
    const route = avoided ? undefined : this.#sessions.use(id);
    return route
      ? { kind: 'route', route }
      : { kind: 'none', stop: 'no_route', retryAfterMs: undefined };
  }

  /** The first use of an id decides for its whole life. */
  #bind(id: string, seeker: Seeker): Chosen {
    if (!this.#sessions.hasRoom) return { kind: 'none', stop: 'no_route', retryAfterMs: 60_000 };
    const { exchange } = seeker;
    const found = this.#first(seeker, (pool, standard) => {
      if (!this.#choice.could(pool, seeker, standard)) return undefined;
      if (!pool.holdsSessions) return 'unsupported';
      const route = this.#addressFor(id, pool, seeker, standard);
      return route && { route, ttlMs: pool.ttlMs };
    });
    if (found === undefined) return this.#none(seeker);
    if (found === 'unsupported') {
      return { kind: 'none', stop: 'session_unsupported', retryAfterMs: undefined };
    }
    const terms = exchange.policy.sessions;
    const lease = { terms, ttlMs: found.ttlMs, country: exchange.country };
    return { kind: 'route', route: this.#sessions.bind(id, found.route, lease) };
  }

  #addressFor(id: string, pool: Pool, seeker: Seeker, standard: Standard): Route | undefined {
    if (pool.upstream.kind === 'gateway') {
      const route = pool.lease(id, this.#sessions.nextLife(id), seeker.exchange.country);
      return route && !seeker.ledger.avoidRoutes.includes(route.id) ? route : undefined;
    }
    return this.#choice.pickLeast(pool, seeker, standard, (routeId) =>
      this.#sessions.leasesOf(routeId),
    );
  }

  #none(seeker: Seeker): Chosen {
    const { exchange, now } = seeker;
    const pools = this.#upstreams.permitted(exchange);
    const accountsOut =
      pools.length > 0 && pools.every((pool) => this.#accounts.areSpent(pool, now));
    const backAt = pools
      .map((pool) => this.#accounts.outUntil(pool, now))
      .filter((untilAt) => untilAt !== undefined);
    const retryAfterMs = backAt.length === 0 ? undefined : Math.min(...backAt) - now;
    const spent = accountsOut ? { accountsOut } : {};
    return { kind: 'none', stop: 'no_route', retryAfterMs, ...spent };
  }
}
