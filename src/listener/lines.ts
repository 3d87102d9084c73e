import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Directives } from '../exchange/directives.ts';
import type { Client, Target } from '../exchange/ports.ts';
import { Tally } from './tally.ts';
import type { HostPort } from './target.ts';

/** Who asks, and what it asks for. */
export interface Caller {
  readonly client: Client;
  readonly directives: Directives;
}

/** What an opened tunnel fixes for all requests inside it. */
export interface Channel {
  readonly scheme: Target['scheme'];
  readonly address: HostPort;
  readonly caller: Caller;
}

/** One client connection that speaks HTTP: the accepted socket itself, or the TLS inside it. */
export interface Line {
  /** The accepted socket. */
  readonly raw: Socket;
  /** undefined outside tunnels. */
  readonly channel: Channel | undefined;
  /** Its framing is in doubt or its end decided: requests that still come out of the parser are not served. */
  condemned: boolean;
  /** Replies whose head is out: what else is written now would land in the middle of them. */
  answering: number;
  /** Requests that have come and are not done with, the one that is being served included. */
  pending: number;
  /** The last of them. */
  latest: { readonly complete: boolean } | undefined;
  /** The last of those whose answer's head is out. */
  told: { readonly complete: boolean } | undefined;
  /** Bytes that are no request came behind the last of them: it is answered, and then they are. */
  spoilt: boolean;
  /** Settles when the last of them is done with. */
  turn: Promise<void>;
  /** Settles when all before the last of them are done with. */
  before: Promise<void>;
  /** Called when the connection is gone or given up: each ends something that runs on it. */
  readonly running: Set<() => void>;
}

/** The client connections that are open, and what is known of each. */
export class Lines {
  /** Accepted sockets, and whose they are. */
  readonly #raw = new Map<Socket, string>();
  readonly #tally = new Tally();
  readonly #tunnels = new Set<Socket>();
  readonly #lines = new WeakMap<Socket, Line>();

  get size(): number {
    return this.#raw.size;
  }

  /** Takes an accepted socket in. A socket without an error listener ends the process when its peer resets it. */
  accept(socket: Socket): Line {
    socket.on('error', ignore);
    // Nobody's until a request says whose; those count together for the address they come from.
    this.#give(socket, `?${socket.remoteAddress ?? ''}`);
    socket.once('close', () => this.#leave(socket));
    return this.#add(socket, socket, undefined);
  }

  /** Lets requests come out of `inside`, which is the raw socket itself or the TLS on it. */
  open(inside: Socket, raw: Socket, channel: Channel): Line & { readonly channel: Channel } {
    if (inside !== raw) inside.on('error', ignore);
    return Object.assign(this.#add(inside, raw, channel), { channel });
  }

  /** Counts a connection as a client's from now on; returns how many that client has. */
  claim(line: Line, client: string): number {
    const owner = `=${client}`;
    if (this.#raw.has(line.raw)) this.#give(line.raw, owner);
    return this.#tally.of(owner);
  }

  /** How many connections there are that have said nothing yet, from where this one comes from. */
  unclaimed(line: Line): number {
    return this.#tally.of(`?${line.raw.remoteAddress ?? ''}`);
  }

  /** Counts a connection as a tunnel for the rest of its life. */
  addTunnel(socket: Socket): void {
    if (this.#raw.has(socket)) this.#tunnels.add(socket);
  }

  get tunnels(): number {
    return this.#tunnels.size;
  }

  #give(socket: Socket, owner: string): void {
    const earlier = this.#raw.get(socket);
    if (earlier === owner) return;
    if (earlier !== undefined) this.#tally.remove(earlier);
    this.#raw.set(socket, owner);
    this.#tally.add(owner);
  }

  #leave(socket: Socket): void {
    const owner = this.#raw.get(socket);
    if (owner !== undefined) this.#tally.remove(owner);
    this.#raw.delete(socket);
    this.#tunnels.delete(socket);
  }

  of(socket: Socket): Line | undefined {
    return this.#lines.get(socket);
  }

  #add(socket: Socket, raw: Socket, channel: Channel | undefined): Line {
    const line: Line = {
      raw,
      channel,
      condemned: false,
      answering: 0,
      pending: 0,
      latest: undefined,
      told: undefined,
      spoilt: false,
      turn: Promise.resolve(),
      before: Promise.resolve(),
      running: new Set(),
    };
    this.#lines.set(socket, line);
    socket.once('close', () => condemn(line));
    return line;
  }

  /** Ends every connection at once, and settles when all are gone. */
  async destroyAll(): Promise<void> {
    const gone = [...this.#raw.keys()].map((socket) => once(socket, 'close'));
    for (const socket of this.#raw.keys()) socket.destroy();
    await Promise.all(gone);
  }
}

/** Gives a connection up: nothing more is served on it, and what runs is ended. */
export function condemn(line: Line): void {
  line.condemned = true;
  for (const leave of line.running) leave();
}

function ignore(): void {}
