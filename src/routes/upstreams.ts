import type { UpstreamConfig } from '../config/config.ts';
import type { ActiveSession } from '../core/session.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import type { Seeker } from './choice.ts';
import { Gateway } from './gateway.ts';
import { FixedPool, type Hash, type Pool } from './pool.ts';

/** The configured upstreams in order of preference, over reloads. */
export class Upstreams {
  readonly #clock: { now(): number };
  readonly #hash: Hash;
  readonly #retire: (routeId: string) => void;
  readonly #onReserve: (gateway: string, upTo: number) => void;
  /** The last generation that was reserved of every gateway there ever was. */
  readonly #reserved = new Map<string, number>();
  #configs = new Map<string, UpstreamConfig>();
  #pools = new Map<string, Pool>();

  constructor(deps: {
    clock: { now(): number };
    hash: Hash;
    retire: (routeId: string) => void;
    onReserve: (gateway: string, upTo: number) => void;
  }) {
    this.#onReserve = deps.onReserve;
    this.#clock = deps.clock;
    this.#hash = deps.hash;
    this.#retire = deps.retire;
  }

  get all(): readonly Pool[] {
    return [...this.#pools.values()];
  }

  get(name: string): Pool | undefined {
    return this.#pools.get(name);
  }

  update(upstreams: readonly UpstreamConfig[]): void {
    const before = this.#pools;
    // All are made before any takes its place: a bad one leaves everything as it was.
    const pools = upstreams.map((config) => {
      const old = this.#configs.get(config.name);
      const kept = old && isSame(dialled(config), dialled(old)) && before.get(config.name);
      return [config.name, kept || this.#make(config, before.get(config.name))] as const;
    });
    this.#configs = new Map(upstreams.map((config) => [config.name, config]));
    this.#pools = new Map(pools);
    for (const pool of before.values()) this.#retireChanged(pool);
  }

  /** Those the exchange may use by its policy, in order of preference. */
  permitted({ policy }: Exchange): readonly Pool[] {
    if (policy.upstreams === null) return this.all;
    return policy.upstreams.flatMap((name) => this.#pools.get(name) ?? []);
  }

  /** Of these, those it has not given up on. */
  open({ exchange, ledger }: Seeker): readonly Pool[] {
    return this.permitted(exchange).filter(
      (pool) => !ledger.avoidUpstreams.includes(pool.upstream.name),
    );
  }

  of(routeId: string): Pool | undefined {
    return this.all.find((pool) => pool.find(routeId) !== undefined);
  }

  /** A session's own address as it is dialled now; undefined when it has gone. */
  successor({ upstream, routeId, life, country }: ActiveSession, route: Route): Route | undefined {
    const pool = this.#pools.get(upstream);
    if (pool?.upstream.kind !== 'gateway') return pool?.find(routeId);
    // Other credentials may well be another address there.
    const again = pool.lease(route.session ?? '', life, country);
    return again?.id === routeId && isSame(again.way, route.way) ? again : undefined;
  }

  /** The address that a session of an earlier process was bound to, if it is still dialled as then. */
  leased(id: string, session: ActiveSession, wayHash: string): Route | undefined {
    const pool = this.#pools.get(session.upstream);
    if (pool?.upstream.kind !== 'gateway') return pool?.find(session.routeId);
    const route = pool.lease(id, session.life, session.country);
    return route?.id === session.routeId && this.wayHash(route) === wayHash ? route : undefined;
  }

  /** Tells two ways apart, credentials included, without giving them away. */
  wayHash({ way }: Route): string {
    return this.#hash(JSON.stringify(way)).slice(0, 16);
  }

  /** An earlier process may have used all generations up to this one. */
  startAbove(gateway: string, generation: number): void {
    this.#reserved.set(gateway, Math.max(generation, this.#reserved.get(gateway) ?? 0));
    const pool = this.#pools.get(gateway);
    if (pool instanceof Gateway) pool.startAbove(generation);
  }

  #make(config: UpstreamConfig, before: Pool | undefined): Pool {
    if (config.kind !== 'gateway') return new FixedPool(config, this.#hash);
    const { name } = config;
    const firstGeneration =
      before instanceof Gateway
        ? before.newestGeneration + 1
        : (this.#reserved.get(name) ?? -1) + 1;
    const now = () => this.#clock.now();
    const onReserve = (upTo: number) => {
      this.#reserved.set(name, upTo);
      this.#onReserve(name, upTo);
    };
    const shared = { hash: this.#hash, retire: this.#retire, now };
    return new Gateway(config, { ...shared, firstGeneration, onReserve });
  }

  /** Sockets of what left, or is dialled otherwise now, are not used again. */
  #retireChanged(before: Pool): void {
    const after = this.#pools.get(before.upstream.name);
    if (after === before) return;
    for (const { id, way } of before.known()) {
      if (!isSame(way, after?.find(id)?.way)) this.#retire(id);
    }
  }
}

/** What a price or a check of the exit address does not change. */
const dialled = (config: UpstreamConfig): unknown => ({
  ...config,
  pricePerGb: null,
  exitIp: null,
});

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
