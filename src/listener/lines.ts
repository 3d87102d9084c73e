import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Directives } from '../exchange/directives.ts';
import type { Client, Target } from '../exchange/ports.ts';
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
  /** Called when the connection is gone or given up: each ends something that runs on it. */
  readonly running: Set<() => void>;
}

/** The client connections that are open, and what is known of each. */
export class Lines {
  readonly #raw = new Set<Socket>();
  readonly #lines = new WeakMap<Socket, Line>();

  get size(): number {
    return this.#raw.size;
  }

  /** Takes an accepted socket in. A socket without an error listener ends the process when its peer resets it. */
  accept(socket: Socket): void {
    if (this.#lines.has(socket)) return;
    socket.on('error', ignore);
    this.#raw.add(socket);
    socket.once('close', () => this.#raw.delete(socket));
    this.#add(socket, socket, undefined);
  }

  /** Lets requests come out of `inside`, which is the raw socket itself or the TLS on it. */
  open(inside: Socket, raw: Socket, channel: Channel): void {
    if (inside !== raw) inside.on('error', ignore);
    this.#add(inside, raw, channel);
  }

  of(socket: Socket): Line | undefined {
    return this.#lines.get(socket);
  }

  #add(socket: Socket, raw: Socket, channel: Channel | undefined): void {
    const line: Line = { raw, channel, condemned: false, answering: 0, running: new Set() };
    this.#lines.set(socket, line);
    socket.once('close', () => condemn(line));
  }

  /** Ends every connection at once, and settles when all are gone. */
  async destroyAll(): Promise<void> {
    const gone = [...this.#raw].map((socket) => once(socket, 'close'));
    for (const socket of this.#raw) socket.destroy();
    await Promise.all(gone);
  }
}

/** Gives a connection up: nothing more is served on it, and what runs is ended. */
export function condemn(line: Line): void {
  line.condemned = true;
  for (const leave of line.running) leave();
}

function ignore(): void {}
