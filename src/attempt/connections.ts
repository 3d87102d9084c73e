import { Client, type Dispatcher } from 'undici';
import type { Dialled } from './dial.ts';
import { CodedError } from './failure.ts';
import { Wire } from './wire.ts';

// Below the 5 s after which Node and many others close an idle connection.
const IDLE_MS = 4000;
// Taken off a server's own `Keep-Alive: timeout`: the request needs some time to get there.
const KEEP_ALIVE_MARGIN_MS = 1000;

/** What a connection may be used for, and no more: one route, one session, one target. */
export interface ConnectionKey {
  readonly routeId: string;
  readonly text: string;
}

/** One dialled socket with an HTTP/1.1 client on it, for as long as it lives; it is never dialled again. */
export class Connection {
  readonly key: ConnectionKey;
  readonly raw: Dialled['raw'];
  readonly wire: Wire;
  readonly #client: Client;
  uses = 0;
  retired = false;
  idleSince = 0;

  constructor(key: ConnectionKey, dialled: Dialled, maxHeadBytes: number) {
    this.key = key;
    this.raw = dialled.raw;
    if (dialled.rest.length > 0) dialled.socket.unshift(dialled.rest);
    this.wire = new Wire(dialled.socket, maxHeadBytes);
    let given = false;
    // The URL is only a name: TLS is on the socket already, and undici would part with a TLS socket whenever
    // the Host field changes.
    this.#client = new Client('http://origin.invalid', {
      connect: (_options, callback) => {
        const gone = given;
        given = true;
        // Later, as a dial would: undici loses a request whose socket is there at once. And with a code that
        // is none of undici's own: after those it connects again, and for ever.
        queueMicrotask(() => {
          if (gone) callback(new CodedError('FORBEAR_SOCKET_GONE', 'the socket is gone'), null);
          else callback(null, dialled.socket);
        });
      },
      pipelining: 1,
      // Deadlines are ours: undici's timers are coarse and know nothing of phases.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      // The wire's limit comes first. This one is for trailers, and counts a mended head too.
      maxHeaderSize: 2 * maxHeadBytes,
      allowH2: false,
    });
  }

  get alive(): boolean {
    return !this.wire.socket.destroyed && !this.#client.destroyed && this.wire.socket.readable;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.uses += 1;
    this.#client.dispatch(options, handler);
  }

  /** Ends the socket and whatever runs on it, at once. */
  destroy(error?: Error): void {
    this.#client.destroy(error ?? null).catch(() => {});
    this.wire.socket.destroy();
    this.raw.destroy();
  }
}

/** The open connections: idle ones to be taken again, and busy ones until they are given back. */
export class Connections {
  readonly #idle = new Map<string, Connection[]>();
  readonly #busy = new Set<Connection>();

  /** Takes the connection that was used last, if it has not been idle for too long. */
  take(key: ConnectionKey, o: { maxIdleMs: number; now: number }): Connection | undefined {
    const idle = this.#idle.get(key.text) ?? [];
    for (;;) {
      const connection = idle.pop();
      if (connection === undefined) break;
      const idleMs = o.now - connection.idleSince;
      if (!connection.alive || idleMs > IDLE_MS) {
        connection.destroy();
        continue;
      }
      if (idleMs > o.maxIdleMs) {
        idle.push(connection);
        return undefined;
      }
      if (idle.length === 0) this.#idle.delete(key.text);
      this.#busy.add(connection);
      return connection;
    }
    this.#idle.delete(key.text);
    return undefined;
  }

  /** Takes charge of a connection that was just dialled, and is busy. */
  add(connection: Connection): void {
    this.#busy.add(connection);
    connection.wire.socket.once('close', () => this.#forget(connection));
  }

  /** Keeps a connection for the next one, if it is still good and its route is too. */
  giveBack(connection: Connection, now: number): void {
    this.#busy.delete(connection);
    if (connection.retired || connection.wire.wasMended || !connection.alive) {
      connection.destroy();
      return;
    }
    connection.idleSince = now;
    const idle = this.#idle.get(connection.key.text);
    if (idle === undefined) this.#idle.set(connection.key.text, [connection]);
    else idle.push(connection);
  }

  /** Closes all idle connections for one use: when one was stale, its neighbours are. */
  dropIdle(key: ConnectionKey): void {
    for (const connection of this.#idle.get(key.text) ?? []) connection.destroy();
    this.#idle.delete(key.text);
  }

  /** Closes a route's idle connections, and its busy ones when they are given back. */
  retire(routeId: string): void {
    for (const connection of this.#busy) {
      if (connection.key.routeId === routeId) connection.retired = true;
    }
    for (const [text, idle] of this.#idle) {
      if (idle[0]?.key.routeId !== routeId) continue;
      for (const connection of idle) connection.destroy();
      this.#idle.delete(text);
    }
  }

  /** Closes all of them at once. */
  close(): void {
    for (const connection of this.#busy) connection.destroy();
    for (const idle of this.#idle.values()) for (const connection of idle) connection.destroy();
    this.#busy.clear();
    this.#idle.clear();
  }

  #forget(connection: Connection): void {
    this.#busy.delete(connection);
    const idle = this.#idle.get(connection.key.text);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at === -1) return;
    idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.key.text);
  }
}
