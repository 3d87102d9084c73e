import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { UpstreamConfig } from '../../src/config/config.ts';
import { newLedger } from '../../src/core/ledger.ts';
import type { Route } from '../../src/exchange/ports.ts';
import { exchange, gateway, list, type Site, sessionPolicy, siteWith } from '../support/ways.ts';
import { runs, schedule } from './runs.ts';

const IDS = ['s1', 's2'];
const TTL_MS = 12 * 60_000;

/** Upstreams as they may stand in the file; the last one knows nothing of sessions' addresses. */
const worlds: readonly (readonly UpstreamConfig[])[] = [
  [gateway({ sessionTtlMs: TTL_MS })],
  [list('dc', 4)],
  [list('dc', 4), gateway({ sessionTtlMs: TTL_MS })],
];

type Step =
  | { readonly kind: 'use' | 'burn' | 'end' | 'look'; readonly id: string }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'reload'; readonly world: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      kind: fc.constantFrom('use' as const, 'use' as const, 'look' as const),
      id: fc.constantFrom(...IDS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('burn' as const, 'end' as const),
      id: fc.constantFrom(...IDS),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(
        1,
        60_000,
        300_000,
        300_000,
        TTL_MS - 1,
        sessionPolicy.idleMs - 1,
        sessionPolicy.idleMs,
        sessionPolicy.maxAgeMs,
        sessionPolicy.burnedForMs - 1,
        sessionPolicy.burnedForMs,
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('reload' as const),
      world: fc.nat(worlds.length - 1),
    }),
  },
);

type Life =
  | {
      readonly state: 'active';
      readonly route: Route;
      readonly since: number;
      usedAt: number;
    }
  | { readonly state: 'burned' | 'expired'; readonly untilAt: number };

/** What an id is at an instant, by the discipline: bound to one address, then refused, then new again. */
class Model {
  readonly #lives = new Map<string, Life>();
  /** Addresses of lives that are over. */
  readonly #spent = new Map<string, Set<string>>();

  at(id: string, now: number): Life | undefined {
    const life = this.#lives.get(id);
    if (life?.state === 'active') {
      const { idleMs, maxAgeMs, burnedForMs } = sessionPolicy;
      const ttlMs = life.route.upstream === 'residential' ? TTL_MS : maxAgeMs;
      const endsAt = Math.min(life.usedAt + idleMs, life.since + Math.min(maxAgeMs, ttlMs));
      if (endsAt > now) return life;
      this.#over(id, life, { state: 'expired', untilAt: endsAt + burnedForMs });
    }
    const ended = this.#lives.get(id);
    return ended?.state === 'active' || (ended && ended.untilAt > now) ? ended : undefined;
  }

  begins(id: string, route: Route, now: number): void {
    const isSpent = this.#spent.get(id)?.has(route.id) === true;
    assert.ok(!isSpent || route.upstream === 'dc', 'the address of an earlier life');
    this.#lives.set(id, { state: 'active', route, since: now, usedAt: now });
  }

  burns(id: string, now: number): void {
    const life = this.at(id, now);
    const untilAt = now + sessionPolicy.burnedForMs;
    if (life?.state === 'active') this.#over(id, life, { state: 'burned', untilAt });
  }

  /** The client's own end: nothing is refused afterwards. */
  ends(id: string, now: number): boolean {
    const life = this.at(id, now);
    if (life?.state !== 'active') return false;
    this.#over(id, life, { state: 'expired', untilAt: now });
    return true;
  }

  /** Those whose upstream has left the file are burned. */
  reloads(world: readonly UpstreamConfig[], now: number): void {
    for (const id of [...this.#lives.keys()]) {
      const life = this.at(id, now);
      const stays =
        life?.state === 'active' && world.some(({ name }) => name === life.route.upstream);
      if (life?.state === 'active' && !stays) this.burns(id, now);
    }
  }

  #over(id: string, life: Extract<Life, { state: 'active' }>, ended: Life): void {
    this.#lives.set(id, ended);
    this.#spent.set(id, new Set([...(this.#spent.get(id) ?? []), life.route.id]));
  }
}

class Play {
  readonly site: Site;
  readonly model = new Model();

  constructor(world: number, seed: number) {
    this.site = siteWith(worlds[world] ?? [], seed);
  }

  async act(step: Step): Promise<void> {
    const { routes, clock } = this.site;
    const now = clock.now();
    switch (step.kind) {
      case 'pass':
        return clock.advance(step.ms);
      case 'reload':
        routes.update(worlds[step.world] ?? []);
        return this.model.reloads(worlds[step.world] ?? [], now);
      case 'use':
        return this.#use(step.id, now);
      case 'burn':
        routes.burn(exchange({ session: step.id, now }));
        return this.model.burns(step.id, now);
      case 'end':
        assert.equal(routes.endSession(step.id), this.model.ends(step.id, now));
        return;
      case 'look':
        assert.equal(
          routes.sessionState(exchange({ session: step.id, now })),
          this.model.at(step.id, now)?.state,
        );
    }
  }

  #use(id: string, now: number): void {
    const life = this.model.at(id, now);
    const choice = this.site.routes.choose(exchange({ session: id, now }), 'shop.test', newLedger);
    if (life === undefined) {
      assert.ok(choice.kind === 'route', 'a new id is served');
      assert.equal(choice.route.session, id);
      this.model.begins(id, choice.route, now);
    } else if (life.state === 'active') {
      assert.ok(choice.kind === 'route', 'an active session is served');
      assert.equal(choice.route.id, life.route.id, 'another address');
      life.usedAt = now;
    } else {
      const stop = `session_${life.state}`;
      assert.deepEqual(choice, { kind: 'none', stop, retryAfterMs: life.untilAt - now });
    }
  }
}

test('an id has one address for its life, is refused for a while after it, and then begins a new one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(worlds.length - 1),
      fc.nat(1000),
      schedule(step, 80),
      async (world, seed, steps) => {
        const play = new Play(world, seed);
        for (const one of steps) await play.act(one);
      },
    ),
    runs(60),
  );
});
