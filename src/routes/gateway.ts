import { LRUCache } from 'lru-cache';
import type { GatewayUpstream } from '../config/config.ts';
import {
  parseTemplate,
  renderTemplate,
  type Template,
  templateVariables,
} from '../core/template.ts';
import type { ProxyWay, Route, Upstream } from '../exchange/ports.ts';
import { type Hash, labelOf, type Pool } from './pool.ts';

interface Slot {
  readonly generation: number;
  readonly bornAt: number;
  /** Kept, because rendering takes a dozen digests and every choice looks at it. */
  readonly route: Route;
}

interface Templates {
  readonly host: Template;
  readonly port: Template;
  readonly username: Template | undefined;
  readonly password: Template | undefined;
  readonly headers: readonly (readonly [string, Template])[];
}

/** A country stands in the id, and nothing else that a client says. */
const SLOT_ID = /^(.*):([a-z0-9_]*)\.s(\d+)\.g(\d+)$/s;
const MOST_COUNTRIES = 500;
/** Generations are written down so many at a time, and half of them ahead: a rotation waits for no disk. */
const RESERVE = 1000;

/**
 * One URL whose credentials mint an address for each token. Outside sessions addresses come from numbered slots;
 * taking another address is the next generation of a slot. Without a `{session}` in it each connection is a new
 * address: then there is one slot, whose generation keeps the sockets of before from being used again.
 */
export class Gateway implements Pool {
  readonly upstream: Upstream;
  readonly maxEjectedRatio = 1;
  readonly ttlMs: number | null;
  readonly holdsSessions: boolean;
  readonly accounts: readonly string[];
  readonly #config: GatewayUpstream;
  readonly #templates: Templates;
  readonly #variables: ReadonlySet<string>;
  readonly #hash: Hash;
  readonly #now: () => number;
  readonly #retire: (routeId: string) => void;
  readonly #onReserve: (upTo: number) => void;
  #first: number;
  #newest: number;
  /** Generations above this may not be used before it is raised. */
  #reserved = -1;
  /** Slots by country; bounded, because clients choose the country. */
  readonly #slots = new LRUCache<string, Slot[]>({ max: MOST_COUNTRIES });

  constructor(
    config: GatewayUpstream,
    deps: {
      hash: Hash;
      now: () => number;
      retire: (routeId: string) => void;
      /** Above 0 after a change: what was minted under other settings is not known here. */
      firstGeneration: number;
      /** Called well before a generation is used that an earlier call has not named: so that none is used twice. */
      onReserve: (upTo: number) => void;
    },
  ) {
    this.upstream = { name: config.name, kind: 'gateway' };
    this.ttlMs = config.sessionTtlMs;
    this.accounts = [config.name];
    this.#config = config;
    this.#templates = parsed(config);
    this.#variables = new Set(allTemplates(this.#templates).flatMap(templateVariables));
    this.holdsSessions = this.#variables.has('session');
    this.#hash = deps.hash;
    this.#now = deps.now;
    this.#retire = deps.retire;
    this.#onReserve = deps.onReserve;
    this.#first = deps.firstGeneration;
    this.#newest = deps.firstGeneration;
    this.#way('probe', ''); // A gateway that cannot be dialled is found out now, not by a client.
  }

  standing(country: string | undefined, slots: number): readonly Route[] {
    const key = this.#countryKey(country);
    const count = this.holdsSessions ? slots : 1;
    return Array.from({ length: count }, (_, n) => this.#slot(key, n).route);
  }

  mint(country: string | undefined, not: readonly string[]): Route {
    const key = this.#countryKey(country);
    for (;;) {
      const { route } = this.#next(key, 0, this.#slot(key, 0));
      if (!not.includes(route.id)) return route;
    }
  }

  supersede(routeId: string): void {
    const [, name, key = '', n, generation] = SLOT_ID.exec(routeId) ?? [];
    if (name !== this.upstream.name) return;
    const slot = this.#slots.get(key)?.[Number(n)];
    if (slot?.generation === Number(generation)) this.#next(key, Number(n), slot);
  }

  find(routeId: string): Route | undefined {
    const [, name, key = '', n, generation] = SLOT_ID.exec(routeId) ?? [];
    if (name !== this.upstream.name || Number(generation) < this.#first) return undefined;
    const slot = this.#slots.peek(key)?.[Number(n)];
    if (slot?.generation === Number(generation)) return slot.route;
    return this.#slotRoute(key, Number(n), Number(generation));
  }

  lease(session: string, life: number, country: string | undefined): Route | undefined {
    if (!this.holdsSessions) return undefined;
    const key = this.#countryKey(country);
    // Two kinds of seed that cannot meet: no session shares a token with a slot or with another session.
    const token = this.#hash(JSON.stringify(['session', this.upstream.name, session, life, key]));
    const id = `${this.upstream.name}:x${token.slice(0, 16)}`;
    return { ...this.#route(id, token, key), session };
  }

  known(): readonly Route[] {
    return [...this.#slots.values()].flatMap((slots) => slots.map((slot) => slot.route));
  }

  /** Begins above all that earlier processes may have used. */
  startAbove(generation: number): void {
    if (generation < this.#newest) return;
    this.#first = generation + 1;
    this.#newest = generation + 1;
    this.#slots.clear();
  }

  /** No address of this gateway has a higher generation. */
  get newestGeneration(): number {
    return this.#newest;
  }

  accountOf(): string {
    return this.upstream.name;
  }

  #slot(key: string, n: number): Slot {
    const slots = this.#slots.get(key) ?? [];
    if (slots.length === 0) this.#slots.set(key, slots);
    const slot = slots[n] ?? this.#born(key, n, this.#first);
    slots[n] = slot;
    // The provider is about to change this address by itself: that is a new route then, not the old one.
    const ended = this.ttlMs !== null && this.#now() - slot.bornAt >= this.ttlMs;
    return ended ? this.#next(key, n, slot) : slot;
  }

  #next(key: string, n: number, slot: Slot): Slot {
    const next = this.#born(key, n, slot.generation + 1);
    this.#newest = Math.max(this.#newest, next.generation);
    const slots = this.#slots.get(key) ?? [];
    slots[n] = next;
    this.#slots.set(key, slots);
    this.#retire(slot.route.id);
    return next;
  }

  #born(key: string, n: number, generation: number): Slot {
    if (generation + RESERVE / 2 > this.#reserved) {
      this.#reserved = generation + RESERVE;
      this.#onReserve(this.#reserved);
    }
    return { generation, bornAt: this.#now(), route: this.#slotRoute(key, n, generation) };
  }

  #slotRoute(key: string, n: number, generation: number): Route {
    const id = `${this.upstream.name}:${key}.s${n}.g${generation}`;
    const token = this.#hash(JSON.stringify(['slot', this.upstream.name, n, generation, key]));
    return { ...this.#route(id, token, key), generation };
  }

  #route(id: string, token: string, country: string): Route {
    const { name } = this.upstream;
    return {
      id,
      label: labelOf(name, id, this.#hash),
      upstream: name,
      way: this.#way(token.slice(0, 32), country),
      session: undefined,
      generation: 0,
    };
  }

  #way(session: string, country: string): ProxyWay {
    const { scheme, plain, variables, sessionTtlMs } = this.#config;
    const ttl = sessionTtlMs === null ? {} : { ttl: String(Math.ceil(sessionTtlMs / 1000)) };
    const values = { ...ttl, ...variables, ...(country === '' ? {} : { country }), session };
    const render = (template: Template) => renderTemplate(template, values, this.#hash);
    const { username, password, headers } = this.#templates;
    const port = Number(render(this.#templates.port));
    const host = render(this.#templates.host);
    if (host === '' || !Number.isInteger(port) || port < 1 || port > 65535) {
      throw new Error(
        `upstream ${this.upstream.name}: its template gives no host and port to dial`,
      );
    }
    return {
      kind: scheme,
      host,
      port,
      username: username && render(username),
      password: password && render(password),
      headers: headers.flatMap(([name, template]) => {
        const value = render(template);
        return value === '' ? [] : [name, value];
      }),
      plain,
    };
  }

  /** A route for another country is another route, where the gateway can tell countries apart. */
  #countryKey(country: string | undefined): string {
    if (country === undefined || !this.#variables.has('country')) return '';
    return country.toLowerCase().replaceAll(/[^a-z0-9_]/g, '');
  }
}

function parsed({ name, host, port, username, password, headers }: GatewayUpstream): Templates {
  const parse = (text: string): Template => {
    const template = parseTemplate(text);
    if ('message' in template) throw new Error(`upstream ${name}: ${template.message}`);
    return template;
  };
  return {
    host: parse(host),
    port: parse(port),
    username: username === undefined ? undefined : parse(username),
    password: password === undefined ? undefined : parse(password),
    headers: Object.entries(headers).map(([field, text]) => [field, parse(text)] as const),
  };
}

function allTemplates({ host, port, username, password, headers }: Templates): Template[] {
  const some = [host, port, username, password].filter((template) => template !== undefined);
  return [...some, ...headers.map(([, template]) => template)];
}
