import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { chance } from '../test/support/chance.ts';

type Way = 'up' | 'down';

/** What happens to one connection on a leg. `after`: bytes in that direction until it does; `up` is away from the client. */
export type Toxic =
  | { readonly kind: 'clean' | 'refuse' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'dribble'; readonly bytes: number; readonly ms: number }
  | { readonly kind: 'stall'; readonly way: Way; readonly after: number; readonly ms: number }
  | { readonly kind: 'reset' | 'cut' | 'half_close'; readonly way: Way; readonly after: number }
  | { readonly kind: 'mute'; readonly ms: number };

/** One connection that went over a leg. */
export interface Passage {
  readonly leg: string;
  readonly host: string;
  readonly toxic: Toxic;
  readonly openedAt: number;
  closedAt: number;
  /** How long bytes were held back so far, in ms. */
  held(now: number): number;
}

/** The longest that a leg holds bytes back in one go. */
export const LONGEST_STALL_MS = 3000;
/** A dribble is over after so many pieces: a leg that is slow for ever has nothing to teach. */
const DRIBBLES = 100;
const KEPT_PASSAGES = 2000;

/** A network between two parties, in which connections are slowed down, cut and reset by the seed. */
export class Leg {
  readonly name: string;
  readonly #o: { readonly seed: string; readonly share: number };
  readonly #servers: Server[] = [];
  readonly #counts = new Map<string, number>();
  readonly #passages: Passage[] = [];
  readonly #byPort = new Map<number, Passage>();
  /** Taken before any is drawn, in order. */
  forced: Toxic[] | undefined;

  /** `share`: of the connections, how many something happens to. */
  constructor(name: string, o: { readonly seed: string; readonly share: number }) {
    this.name = name;
    this.#o = o;
  }

  /** Listens on an address of its own and hands everything on to `to`. */
  async open(host: string, to: { readonly host: string; readonly port: number }): Promise<number> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
      void this.#carry(near, host, to);
    });
    server.listen(0, host);
    await once(server, 'listening');
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  /** The connection that came from a local port. */
  from(port: number): Passage | undefined {
    return this.#byPort.get(port);
  }

  /** The connections to a host that were open at some time since `at`. */
  since(host: string | undefined, at: number): Passage[] {
    return this.#passages.filter(
      (each) => (host === undefined || each.host === host) && each.closedAt >= at,
    );
  }

  close(): void {
    for (const server of this.#servers) server.close();
  }

  async #carry(near: Socket, host: string, to: { host: string; port: number }): Promise<void> {
    near.on('error', () => {});
    const passage = new Carried(this.name, host, this.#draw(host));
    const { toxic } = passage;
    const from = near.remotePort ?? 0;
    this.#byPort.set(from, passage);
    this.#passages.push(passage);
    if (this.#passages.length > KEPT_PASSAGES) this.#passages.shift();
    near.once('close', () => {
      passage.closedAt = performance.now();
      if (this.#byPort.get(from) === passage) setTimeout(() => this.#forget(from, passage), 30_000);
    });
    if (toxic.kind === 'refuse') return void near.resetAndDestroy();
    if (toxic.kind === 'mute') {
      near.resume();
      await passage.hold(toxic.ms);
      return void near.resetAndDestroy();
    }
    const far = connect({ ...to, allowHalfOpen: true, noDelay: true });
    far.on('error', () => near.resetAndDestroy());
    near.on('error', () => far.resetAndDestroy());
    near.once('close', () => far.destroy());
    far.once('close', () => near.destroySoon());
    await Promise.all([pump('up', near, far, passage), pump('down', far, near, passage)]);
  }

  #forget(port: number, passage: Passage): void {
    if (this.#byPort.get(port) === passage) this.#byPort.delete(port);
  }

  #draw(host: string): Toxic {
    if (this.forced !== undefined) return this.forced.shift() ?? { kind: 'clean' };
    const n = (this.#counts.get(host) ?? 0) + 1;
    this.#counts.set(host, n);
    const roll = (what: string) => chance(this.#o.seed, this.name, host, n, what);
    if (roll('any') >= this.#o.share) return { kind: 'clean' };
    return toxicOf(roll);
  }
}

class Carried implements Passage {
  readonly openedAt = performance.now();
  readonly leg: string;
  readonly host: string;
  readonly toxic: Toxic;
  closedAt = Number.POSITIVE_INFINITY;
  #heldMs = 0;
  #holds = 0;
  #since = 0;

  constructor(leg: string, host: string, toxic: Toxic) {
    this.leg = leg;
    this.host = host;
    this.toxic = toxic;
  }

  held(now: number): number {
    return this.#heldMs + (this.#holds > 0 ? now - this.#since : 0);
  }

  async hold(ms: number): Promise<void> {
    if (this.#holds++ === 0) this.#since = performance.now();
    await pause(ms);
    if (--this.#holds === 0) this.#heldMs += performance.now() - this.#since;
  }
}

const KINDS: readonly Toxic['kind'][] = [
  ...(['delay', 'dribble', 'dribble', 'stall', 'stall', 'reset', 'reset', 'reset'] as const),
  ...(['cut', 'cut', 'half_close', 'half_close', 'mute', 'refuse'] as const),
];

function toxicOf(roll: (what: string) => number): Toxic {
  const kind = KINDS[Math.floor(roll('kind') * KINDS.length)] ?? 'clean';
  const way = roll('way') < 0.3 ? 'up' : 'down';
  // Evenly over the magnitudes: heads and handshakes are cut as often as bodies.
  const after = Math.floor(Math.exp(roll('after') * Math.log(600_000))) - 1;
  switch (kind) {
    case 'clean':
    case 'refuse':
      return { kind };
    case 'delay':
      return { kind, ms: Math.ceil(roll('ms') * 150) };
    case 'dribble':
      return {
        kind,
        bytes: Math.ceil(Math.exp(roll('bytes') * Math.log(4000))),
        ms: Math.ceil(roll('ms') * 20),
      };
    case 'stall':
      return { kind, way, after, ms: Math.ceil(roll('ms') * LONGEST_STALL_MS) };
    case 'mute':
      return { kind, ms: Math.ceil(roll('ms') * LONGEST_STALL_MS) };
    case 'reset':
    case 'cut':
    case 'half_close':
      return { kind, way, after };
  }
}

/** Moves one direction on until it ends, or until what happens to it happens. */
async function pump(way: Way, from: Socket, to: Socket, passage: Carried): Promise<void> {
  const { toxic } = passage;
  const isHit = 'way' in toxic && toxic.way === way;
  let left = isHit ? toxic.after : Number.POSITIVE_INFINITY;
  try {
    for await (const chunk of from.iterator({ destroyOnReturn: false })) {
      const bytes = chunk as Buffer;
      const now = bytes.subarray(0, Math.min(left, bytes.length));
      await give(to, now, passage);
      left -= now.length;
      if (left > 0) continue;
      left = Number.POSITIVE_INFINITY;
      if (toxic.kind === 'stall') {
        await passage.hold(toxic.ms);
        await give(to, bytes.subarray(now.length), passage);
        continue;
      }
      return end(toxic, from, to);
    }
    to.end();
  } catch {
    to.resetAndDestroy();
  }
}

async function give(to: Socket, bytes: Buffer, passage: Carried): Promise<void> {
  if (bytes.length === 0) return;
  const { toxic } = passage;
  if (toxic.kind === 'delay') await passage.hold(toxic.ms);
  let at = 0;
  if (toxic.kind === 'dribble') {
    for (let n = 0; n < DRIBBLES && at < bytes.length && !to.destroyed; n++) {
      to.write(bytes.subarray(at, at + toxic.bytes));
      at += toxic.bytes;
      await passage.hold(toxic.ms);
    }
  }
  if (at >= bytes.length || to.destroyed) return;
  if (to.write(bytes.subarray(at))) return;
  await Promise.race([once(to, 'drain'), once(to, 'close')]);
}

function end(toxic: Toxic, from: Socket, to: Socket): void {
  from.on('data', () => {}); // What still comes is for nobody.
  switch (toxic.kind) {
    case 'reset':
      from.resetAndDestroy();
      to.resetAndDestroy();
      return;
    case 'cut':
      from.end();
      to.end();
      setTimeout(() => {
        from.destroy();
        to.destroy();
      }, 200);
      return;
    default:
      to.end();
  }
}
