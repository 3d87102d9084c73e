import type { DirectUpstream, ListUpstream, ProxyAddress } from '../config/config.ts';
import type { Route, Upstream, Way } from '../exchange/ports.ts';

/** Hex digest, for names and tokens that must not give away what they stand for. */
export type Hash = (text: string) => string;

/** The routes of one upstream. */
export interface Pool {
  readonly upstream: Upstream;
  /** Largest share of the routes that may be out at once. */
  readonly maxEjectedRatio: number;
  /** How long the provider keeps an address, if it says so. */
  readonly ttlMs: number | null;
  /** Whether a client's session can be held here. */
  readonly holdsSessions: boolean;
  /** The routes that stand now: at most `slots` of them where addresses are minted. */
  standing(country: string | undefined, slots: number): readonly Route[];
  /** Every route that stands, for any country. */
  known(): readonly Route[];
  /** A route that was never used before, in place of one that stands; undefined where addresses are fixed. */
  mint(country: string | undefined, not: readonly string[]): Route | undefined;
  /** Puts a new address in the place of this one, if it still stands. */
  supersede(routeId: string): void;
  /** The route by its id, whether it stands or stood earlier. */
  find(routeId: string): Route | undefined;
  /** An address that belongs to this life of this session; undefined where addresses are fixed. */
  lease(session: string, life: number, country: string | undefined): Route | undefined;
  /** Routes with the same credentials share their fate when those fail. */
  accountOf(routeId: string): string;
  readonly accounts: readonly string[];
}

/** The label of a route for headers and logs. */
export function labelOf(upstream: string, routeId: string, hash: Hash): string {
  return `${upstream}/${hash(routeId).slice(0, 6)}`;
}

/** Addresses that are given: a list of proxies, or no proxy at all. */
export class FixedPool implements Pool {
  readonly upstream: Upstream;
  readonly maxEjectedRatio: number;
  readonly ttlMs = null;
  readonly holdsSessions = true;
  readonly accounts: readonly string[];
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #accountOf: ReadonlyMap<string, string>;

  constructor(config: DirectUpstream | ListUpstream, hash: Hash) {
    this.upstream = { name: config.name, kind: config.kind };
    const entries = config.kind === 'direct' ? [direct(config)] : listed(config, hash);
    this.maxEjectedRatio = config.kind === 'direct' ? 0 : config.maxEjectedRatio;
    this.#routes = new Map(entries.map(({ route }) => [route.id, route]));
    this.#accountOf = new Map(entries.map(({ route, account }) => [route.id, account]));
    this.accounts = [...new Set(this.#accountOf.values())];
  }

  standing(): readonly Route[] {
    return [...this.#routes.values()];
  }

  known(): readonly Route[] {
    return this.standing();
  }

  mint(): undefined {
    return undefined;
  }

  supersede(): void {}

  find(routeId: string): Route | undefined {
    return this.#routes.get(routeId);
  }

  lease(): undefined {
    return undefined;
  }

  accountOf(routeId: string): string {
    return this.#accountOf.get(routeId) ?? '';
  }
}

interface Entry {
  readonly route: Route;
  readonly account: string;
}

function direct({ name }: DirectUpstream): Entry {
  return {
    route: { ...common, id: name, label: name, upstream: name, way: { kind: 'direct' } },
    account: name,
  };
}

function listed({ name, routes }: ListUpstream, hash: Hash): readonly Entry[] {
  return routes.map((address) => {
    // The password is left out: a changed one is still the same address, and an id must not be a clue to it.
    const { scheme, host, port, username } = address;
    const id = `${name}:${hash(JSON.stringify([scheme, host, port, username ?? null])).slice(0, 12)}`;
    return {
      route: { ...common, id, label: labelOf(name, id, hash), upstream: name, way: wayTo(address) },
      account: `${name}#${hash(JSON.stringify([username ?? null, address.password ?? null]))}`,
    };
  });
}

const common = { session: undefined, generation: 0 } as const;

function wayTo({ scheme, host, port, username, password }: ProxyAddress): Way {
  return { kind: scheme, host, port, username, password, headers: [], plain: 'forward' };
}
