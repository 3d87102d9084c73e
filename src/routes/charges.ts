import type { Clock } from '../clock.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Route, Routes } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Accounts } from './accounts.ts';
import { Controls } from './controls.ts';
import { Doubts } from './doubts.ts';
import type { Pool } from './pool.ts';
import type { Reputation } from './reputation.ts';
import type { Upstreams } from './upstreams.ts';
import type { Warm } from './warm.ts';

type Outcome = Parameters<Routes['record']>[0];
type RouteFault = Extract<Verdict, { fault: 'route' }>;
type AccountFault = Extract<Verdict, { fault: 'account' }>;

interface ChargesDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly emit: Emit;
  readonly upstreams: Upstreams;
  readonly reputation: Reputation;
  readonly accounts: Accounts;
  readonly warm: Warm;
}

/** Charges each verdict to the one at fault, if that is a route or an upstream; nobody else pays here. */
export class Charges {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #emit: Emit;
  readonly #upstreams: Upstreams;
  readonly #reputation: Reputation;
  readonly #accounts: Accounts;
  readonly #warm: Warm;
  readonly #controls = new Controls();
  readonly #doubts = new Doubts();

  constructor(deps: ChargesDeps) {
    this.#clock = deps.clock;
    this.#emit = deps.emit;
    this.#upstreams = deps.upstreams;
    this.#reputation = deps.reputation;
    this.#accounts = deps.accounts;
    this.#warm = deps.warm;
  }

  record(outcome: Outcome): void {
    const { exchange, laneId, route, verdict, headMs } = outcome;
    this.#warm.land(laneId, exchange.id);
    const pool = this.#upstreams.get(route.upstream);
    if (!pool) return;
    const now = this.#clock.now();
    switch (verdict.fault) {
      case 'none':
        this.#convict(outcome);
        this.#resolve(outcome);
        this.#reputation.praise({ lane: laneId, route: route.id }, headMs, now);
        this.#reputation.calm(route.upstream, { lane: laneId, route: route.id }, now);
        this.#accounts.works(pool, route.id, now);
        return;
      case 'client':
        this.#resolve(outcome);
        if (verdict.reason === 'persistent_block') this.#pardon(laneId);
        else if (verdict.reason === 'not_found') this.#convict(outcome);
        this.#accounts.answers(pool);
        return;
      case 'route':
        if (this.#isDeferred(outcome, now)) this.#warm.drop(laneId, route.id);
        else this.#blame(pool, outcome, verdict);
        return;
      case 'account':
        this.#accountFault(pool, route, verdict);
        return;
      case 'host':
        // Its answer came through the upstream's door.
        this.#accounts.answers(pool);
        if (verdict.kind === 'transient' && verdict.ambiguous)
          this.#doubts.raise(exchange, route, verdict);
        return;
      case 'self':
        return;
    }
  }

  /** A bare 403 on an address that had served the lane well is first held against the same request elsewhere. */
  #isDeferred({ exchange, laneId, route, verdict }: Outcome, now: number): boolean {
    const hasGoodRecord = this.#reputation.hasGoodRecord(laneId, route.id, now);
    return this.#controls.defers({ exchange, laneId, route, verdict, hasGoodRecord, now });
  }

  /** Served here, so it was the addresses before that were refused. */
  #convict(outcome: Outcome): void {
    for (const route of this.#controls.convicts(outcome.laneId, outcome.exchange)) {
      const pool = this.#upstreams.get(route.upstream);
      const evidence = { kind: 'status', status: 403 } as const;
      const verdict = { fault: 'route', reason: 'blocked', scope: 'lane', evidence } as const;
      if (pool && route.id !== outcome.route.id) this.#blame(pool, { ...outcome, route }, verdict);
    }
  }

  /** The site is there after all: what failed before, and may have been the route's doing, was. */
  #resolve(outcome: Outcome): void {
    const sure = this.#doubts.answered(outcome.laneId, outcome.exchange, outcome.route);
    for (const { route, verdict } of sure) {
      const pool = this.#upstreams.get(route.upstream);
      const { evidence } = verdict;
      const blame = { fault: 'route', reason: 'unreachable', scope: 'lane', evidence } as const;
      if (pool) this.#blame(pool, { ...outcome, route }, blame);
    }
  }

  #blame(pool: Pool, outcome: Outcome, verdict: RouteFault): void {
    const { exchange, laneId, route } = outcome;
    if (pool.upstream.kind === 'gateway') {
      this.#blameGateway(pool, laneId, route, verdict);
      return;
    }
    const now = this.#clock.now();
    const { reason, scope } = verdict;
    const lane = scope === 'lane' ? laneId : undefined;
    const cause = { reason, retireForMs: exchange.policy.routes.retireForMs };
    const untilAt = this.#reputation.blame({ lane, route: route.id }, cause, now);
    this.#warm.drop(laneId, route.id);
    if (!isRefusal(reason)) {
      const size = pool.standing(undefined, 0).length;
      const volley = this.#reputation.guard({ name: route.upstream, size, lane }, route.id, now);
      if (volley === 'news') this.#noticeVolley(route.upstream, lane, now);
      if (volley !== 'no') return;
    }
    // The only way out goes on being used, so there is nothing to tell.
    const isOnlyWay = pool.upstream.kind === 'direct' && this.#upstreams.all.length === 1;
    if (untilAt !== undefined && !isOnlyWay) {
      this.#emit({ type: 'route_ejected', at: now, route, lane, untilAt });
    }
  }

  /** A token is not ejected but replaced: the next generation is another address. */
  #blameGateway(pool: Pool, laneId: string, route: Route, verdict: RouteFault): void {
    const now = this.#clock.now();
    this.#warm.drop(laneId, route.id);
    if (!neverAnswered(verdict)) this.#accounts.answers(pool);
    else if (this.#accounts.failedDial(pool, now) !== undefined) {
      const message = `upstream ${pool.upstream.name} cannot be reached`;
      this.#emit({ type: 'notice', at: now, level: 'warn', message });
    }
    pool.supersede(route.id);
  }

  #noticeVolley(upstream: string, lane: string | undefined, now: number): void {
    const message =
      `most routes of ${upstream} in use ${lane === undefined ? '' : `for ${lane} `}failed within a second: ` +
      'that is not many bad routes, so none of them is taken out';
    this.#emit({ type: 'notice', at: now, level: 'warn', message });
  }

  #accountFault(pool: Pool, route: Route, verdict: AccountFault): void {
    const now = this.#clock.now();
    const before = this.#accounts.outageOf(pool, route.id, now);
    const upstreamUntilAt = this.#accounts.fault(pool, route.id, verdict, now);
    const outage = this.#accounts.outageOf(pool, route.id, now);
    if (before || !outage) return;
    if (upstreamUntilAt === undefined) {
      this.#emit({
        type: 'route_ejected',
        at: now,
        route,
        lane: undefined,
        untilAt: outage.untilAt,
      });
    } else {
      const { name } = pool.upstream;
      this.#emit({
        type: 'upstream_out',
        at: now,
        upstream: name,
        verdict,
        untilAt: upstreamUntilAt,
      });
    }
  }

  #pardon(laneId: string): void {
    for (const pool of this.#upstreams.all) {
      if (pool.upstream.kind === 'gateway') continue;
      this.#reputation.pardon(
        laneId,
        pool.standing(undefined, 0).map((route) => route.id),
      );
    }
  }
}

/** The site's or the upstream's own word about an address; the others may be anybody's silence. */
const isRefusal = (reason: RouteFault['reason']): boolean =>
  reason === 'blocked' || reason === 'challenged' || reason === 'refused';

/** Whether nobody was there at all; an answer of the upstream, even a refusal, is another thing. */
function neverAnswered({ evidence }: RouteFault): boolean {
  return evidence.kind === 'failure' && evidence.phase === 'dial';
}
