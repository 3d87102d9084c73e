import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { UpstreamConfig } from '../src/config/config.ts';
import type { Ledger } from '../src/core/action.ts';
import { newLedger } from '../src/core/ledger.ts';
import type { Verdict } from '../src/core/verdict.ts';
import type { Route } from '../src/exchange/ports.ts';
import {
  account,
  avoiding,
  blocked,
  direct,
  exchange,
  fresh,
  gateway,
  list,
  ok,
  persistentBlock,
  rateLimited,
  report,
  rotating,
  type Site,
  sessionPolicy,
  siteWith,
  unreachable,
} from './support/ways.ts';

const LANES = ['a.test', 'b.test'];
const verdicts: readonly Verdict[] = [
  ok,
  blocked,
  unreachable,
  persistentBlock,
  rateLimited,
  account('upstream_auth'),
  account('upstream_quota'),
  account('upstream_rate_limited', 5000),
];
const worlds: readonly (readonly UpstreamConfig[])[] = [
  [list('dc', 1)],
  [list('dc', 5, { maxEjectedRatio: 1 })],
  [gateway({ sessionTtlMs: 15 * 60_000 }), list('dc', 3)],
  [rotating(), list('dc', 3)],
  [list('dc', 3), gateway(), rotating({ name: 'turning' })],
];

type Step =
  | {
      readonly do: 'choose';
      readonly session: string | undefined;
      readonly lane: number;
      readonly avoid: readonly number[];
      readonly avoidUpstream: boolean;
      readonly stay: boolean;
      readonly fresh: boolean;
    }
  | { readonly do: 'record'; readonly verdict: number; readonly lane: number }
  | { readonly do: 'burn'; readonly session: string }
  | { readonly do: 'wait'; readonly ms: number };

const session = fc.constantFrom('s1', 's2');
const lane = fc.nat(LANES.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('choose' as const),
      session: fc.option(session, { nil: undefined }),
      lane,
      avoid: fc.array(fc.nat(5), { maxLength: 3 }),
      avoidUpstream: fc.boolean(),
      stay: fc.boolean(),
      fresh: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('record' as const),
      verdict: fc.nat(verdicts.length - 1),
      lane,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('burn' as const), session }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('wait' as const),
      ms: fc.constantFrom(10, 500, 6000, 5 * 60_000, 11 * 60_000, sessionPolicy.burnedForMs),
    }),
  },
);

/** What an onlooker may conclude of the sessions, from the outside alone. */
interface Life {
  readonly route: string;
  lastUsedAt: number;
}

class Onlooker {
  readonly site: Site;
  readonly seen: Route[] = [];
  readonly #lives = new Map<string, Life>();
  readonly #burnedAt = new Map<string, number>();
  readonly #ended = new Map<string, Set<string>>();

  constructor(site: Site) {
    this.site = site;
  }

  choose(one: Extract<Step, { do: 'choose' }>): void {
    const avoid = one.avoid.flatMap((back) => this.seen.at(-1 - back)?.id ?? []);
    const last = this.seen.at(-1);
    const ledger: Ledger = {
      ...(one.avoid.length > 0 ? avoiding(avoid) : newLedger),
      avoidUpstreams: one.avoidUpstream && last ? [last.upstream] : [],
      stayOn: one.stay ? last?.id : undefined,
    };
    const by = exchange({
      now: this.site.clock.now(),
      ...(one.session ? { session: one.session } : {}),
      ...(one.fresh ? { policy: fresh } : {}),
    });
    const laneId = LANES[one.lane] ?? '';
    const left = this.site.routes.left(by, laneId, ledger);
    const choice = this.site.routes.choose(by, laneId, ledger);
    if (choice.kind === 'none') {
      assert.ok((choice.retryAfterMs ?? 1) > 0);
      if (one.session === undefined) assert.deepEqual(left, { routes: false, upstreams: false });
      return;
    }
    const { route } = choice;
    assert.ok(!ledger.avoidRoutes.includes(route.id), 'a route the ledger avoids');
    assert.ok(!ledger.avoidUpstreams.includes(route.upstream), 'an upstream the ledger avoids');
    assert.notEqual(route.way.kind, 'direct');
    assert.equal(route.session, one.session);
    if (one.session) this.#inSession(one.session, route);
    this.seen.push(route);
  }

  burn(id: string): void {
    const by = exchange({ session: id });
    const active = this.site.routes.sessionState(by) === 'active';
    this.site.routes.burn(by);
    if (active) this.#burnedAt.set(id, this.site.clock.now());
  }

  #inSession(id: string, route: Route): void {
    const now = this.site.clock.now();
    const burnedAt = this.#burnedAt.get(id);
    if (burnedAt !== undefined) {
      assert.ok(now >= burnedAt + sessionPolicy.burnedForMs, 'a route after being burned');
      this.#burnedAt.delete(id);
      this.#end(id);
    }
    const life = this.#lives.get(id);
    // Another life begins only after a refusal, so never before a silence at least as long.
    if (life && route.id !== life.route) {
      const quietMs = now - life.lastUsedAt;
      assert.ok(quietMs >= sessionPolicy.burnedForMs, 'two routes in one life');
      this.#end(id);
    }
    if (route.upstream === 'residential') {
      assert.ok(!this.#ended.get(id)?.has(route.id), 'the address of an earlier life');
    }
    this.#lives.set(id, { route: route.id, lastUsedAt: now });
  }

  #end(id: string): void {
    const life = this.#lives.get(id);
    this.#lives.delete(id);
    if (life) this.#ended.set(id, new Set([...(this.#ended.get(id) ?? []), life.route]));
  }
}

test('whatever happens, in whatever order: sessions keep their route, ledgers are obeyed, nothing goes direct', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...worlds),
      fc.nat(1000),
      fc.array(step, { minLength: 10, maxLength: 60 }),
      async (world, seed, steps) => {
        const onlooker = new Onlooker(siteWith(world, seed));
        for (const one of steps) {
          if (one.do === 'choose') onlooker.choose(one);
          else if (one.do === 'burn') onlooker.burn(one.session);
          else if (one.do === 'wait') await onlooker.site.clock.advance(one.ms);
          else {
            const verdict = verdicts[one.verdict];
            const route = onlooker.seen.at(-1);
            const laneId = LANES[one.lane] ?? '';
            if (verdict && route) report(onlooker.site, route, verdict, { lane: laneId });
          }
        }
      },
    ),
    { numRuns: 120 },
  );
});

test('a throttle never leads to another route: one that waits for it goes on where it was', () => {
  fc.assert(
    fc.property(fc.constantFrom(...worlds), fc.nat(1000), fc.nat(10), (world, seed, waits) => {
      const site = siteWith([...world, direct], seed);
      const by = exchange({ now: site.clock.now() });
      const first = site.routes.choose(by, 'a.test', newLedger);
      assert.ok(first.kind === 'route');
      for (let i = 0; i < waits; i += 1) {
        report(site, first.route, rateLimited, { lane: 'a.test', exchange: by });
        const ledger = { ...newLedger, addresses: [first.route.id], stayOn: first.route.id };
        const next = site.routes.choose(by, 'a.test', ledger);
        assert.deepEqual(next, first);
      }
    }),
    { numRuns: 50 },
  );
});
