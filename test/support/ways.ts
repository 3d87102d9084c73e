import { createHash } from 'node:crypto';
import type { GatewayUpstream, ListUpstream, UpstreamConfig } from '../../src/config/config.ts';
import type { Ledger } from '../../src/core/action.ts';
import { newLedger } from '../../src/core/ledger.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { AccountVerdict, RouteVerdict, Verdict } from '../../src/core/verdict.ts';
import type { Keep } from '../../src/exchange/kept.ts';
import type { Choice, Exchange, Route } from '../../src/exchange/ports.ts';
import { createRoutes, type WaysOut } from '../../src/routes/routes.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { FakeClock, seededRandom } from './fake-clock.ts';
import { exchangeFor } from './playbook.ts';
import { policyWith } from './policy.ts';

export const MINUTE = 60_000;
export const LANE = 'shop.test';

/** Ways out with all that a test can turn and see. */
export interface Site {
  readonly routes: WaysOut;
  readonly clock: FakeClock;
  readonly events: ProxyEvent[];
  readonly retired: string[];
}

/** Ways out over some upstreams, on a clock wound by hand. */
export function siteWith(
  upstreams: readonly UpstreamConfig[],
  seed = 1,
  o: { readonly clock?: FakeClock; readonly keep?: Keep } = {},
): Site {
  const clock = o.clock ?? new FakeClock();
  const events: ProxyEvent[] = [];
  const retired: string[] = [];
  const routes = createRoutes({
    upstreams,
    clock,
    random: seededRandom(seed),
    emit: (event) => events.push(event),
    hash: (text) => createHash('sha256').update(text).digest('hex'),
    retire: (routeId) => retired.push(routeId),
    ...(o.keep && { keep: o.keep }),
  });
  return { routes, clock, events, retired };
}

const common = { pricePerGb: null, exitIp: null } as const;

export const direct: UpstreamConfig = { ...common, kind: 'direct', name: 'direct' };

/** A list of `size` proxies with the same login, unless `users` says otherwise. */
export function list(name: string, size: number, patch: Partial<ListUpstream> = {}): ListUpstream {
  const routes = Array.from({ length: size }, (_, i) => ({
    scheme: 'http' as const,
    host: `${name}${i}.test`,
    port: 3128,
    username: 'user',
    password: 'secret',
  }));
  return { ...common, kind: 'list', name, routes, maxEjectedRatio: 0.5, ...patch };
}

/** A gateway with sessions and countries in its user name. */
export function gateway(patch: Partial<GatewayUpstream> = {}): GatewayUpstream {
  return {
    ...common,
    kind: 'gateway',
    name: 'residential',
    scheme: 'http',
    host: 'gate.test',
    port: '443',
    username: 'customer-{account}[-country-{country|lower}]-sid-{session|alnum:12}[-ttl-{ttl}]',
    password: '{password}',
    headers: {},
    variables: { account: 'acme', password: 'secret' },
    sessionTtlMs: null,
    holdsSessions: true,
    provider: null,
    plain: 'forward',
    ...patch,
  };
}

/** A gateway that gives a new address for each connection. */
export const rotating = (patch: Partial<GatewayUpstream> = {}): GatewayUpstream =>
  gateway({ username: 'customer-acme', holdsSessions: false, ...patch });

let exchanges = 0;

/** A new exchange. */
export function exchange(
  o: { session?: string; country?: string; policy?: Partial<Policy>; now?: number } = {},
): Exchange {
  exchanges += 1;
  const policy = { ...defaults, ...o.policy };
  return {
    ...exchangeFor({ policy }, o.now ?? new FakeClock().now()),
    id: `x${exchanges}`,
    session: o.session,
    country: o.country,
  };
}

const defaults = policyWith();
export const fresh: Partial<Policy> = { routes: { ...defaults.routes, rotation: 'fresh' } };
export const sessionPolicy = defaults.sessions;
export const routesPolicy = defaults.routes;

/** The ledger after attempts over these routes that all led to another one. */
export function avoiding(routes: readonly string[], patch: Partial<Ledger> = {}): Ledger {
  return { ...newLedger, addresses: routes, avoidRoutes: routes, ...patch };
}

/** Chooses, and insists on a route. */
export function take(
  site: Site,
  by: Exchange = exchange({ now: site.clock.now() }),
  ledger: Ledger = newLedger,
  lane = LANE,
): Route {
  const choice = site.routes.choose(by, lane, ledger);
  if (choice.kind === 'route') return choice.route;
  throw new Error(`no route: ${choice.stop}`);
}

/** Chooses, and insists on a refusal. */
export function refused(
  site: Site,
  by: Exchange = exchange({ now: site.clock.now() }),
  ledger: Ledger = newLedger,
): Extract<Choice, { kind: 'none' }> {
  const choice = site.routes.choose(by, LANE, ledger);
  if (choice.kind === 'none') return choice;
  throw new Error(`a route: ${choice.route.id}`);
}

/** Reports how an attempt over a route ended. */
export function report(
  site: Site,
  route: Route,
  verdict: Verdict,
  o: { lane?: string; headMs?: number; exchange?: Exchange } = {},
): void {
  site.routes.record({
    exchange: o.exchange ?? exchange(),
    laneId: o.lane ?? LANE,
    route,
    verdict,
    headMs: o.headMs,
  });
}

const evidence = { kind: 'status', status: 403 } as const;

export const ok: Verdict = { fault: 'none', reason: 'ok', evidence };
export const blocked: RouteVerdict = { fault: 'route', reason: 'blocked', scope: 'lane', evidence };
export const unreachable: RouteVerdict = {
  fault: 'route',
  reason: 'unreachable',
  scope: 'everywhere',
  evidence: { kind: 'failure', phase: 'dial', code: 'connection_refused', detail: 'refused' },
};
export const persistentBlock: Verdict = {
  fault: 'client',
  reason: 'persistent_block',
  evidence: { kind: 'pattern', addresses: 3, pattern: '/items/*' },
};
export const rateLimited: Verdict = {
  fault: 'host',
  kind: 'rate',
  reason: 'rate_limited',
  evidence: { kind: 'status', status: 429 },
};

export function account(reason: AccountVerdict['reason'], waitMs?: number): AccountVerdict {
  const said = { kind: 'upstream', status: 407, said: '' } as const;
  return { fault: 'account', reason, evidence: said, ...(waitMs === undefined ? {} : { waitMs }) };
}

/** The ids of the routes that `count` exchanges get, one after the other. */
export function takeMany(
  site: Site,
  count: number,
  o: { policy?: Partial<Policy>; lane?: string } = {},
): string[] {
  return Array.from({ length: count }, () => {
    const by = exchange({ now: site.clock.now(), ...(o.policy ? { policy: o.policy } : {}) });
    return take(site, by, newLedger, o.lane).id;
  });
}
