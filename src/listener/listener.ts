import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { LimitsConfig } from '../config/config.ts';
import { Distrust } from './distrust.ts';
import { H2Sessions } from './h2-session.ts';
import { type Gate, onConnect } from './intercept.ts';
import { condemn, Lines } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { type Refusal, tooManyConnections } from './problem.ts';
import { lingerThenDestroy, refusalOf, rejectSocket } from './reject.ts';
import { serve, type Turn } from './serve.ts';
import { mayUpgrade, onUpgrade } from './upgrade.ts';

export type { ListenerDeps } from './listener-deps.ts';

/** The client side: everything that speaks to scrapers. */
export interface Listener {
  /** Starts to accept; rejects when the address cannot be had. */
  listen(): Promise<{ host: string; port: number }>;
  /** Lets what runs finish; connections close after their next reply. Settles when nobody new is let in. */
  stopAccepting(): Promise<void>;
  /** Stops accepting, ends every connection at once, and settles when none is left. */
  close(): Promise<void>;
  /** undefined while it does not listen. */
  address(): { host: string; port: number } | undefined;
  /** Accepted connections, tunnels included. */
  openConnections(): number;
}

/** Deadlines of heads are looked after this often, and a few times within each. */
const CHECK_MS = 5_000;
const CHECKS = 4;
/** Turns of the event loop without a new connection before the door is shut; longer ones do not count. */
const QUIET_TURNS = 3;
const SHORT_TURN_MS = 0.5;
/** However busy it is, the door is shut after this long. */
const TAKE_IN_MS = 1_000;
const TCP_KEEP_ALIVE_MS = 60_000;

/** Makes the one HTTP server through which all comes in: plain requests, CONNECT, and what is inside opened tunnels. */
export function createListener(deps: ListenerDeps): Listener {
  const lines = new Lines();
  const server = newServer(deps.config().limits, lines);
  const state = { draining: false };
  const isDraining = () => state.draining;
  const enter = (socket: Socket) => server.emit('connection', socket);
  const sessions = new H2Sessions(deps, isDraining);
  const gate: Gate = { deps, lines, enter, sessions, distrust: new Distrust(), isDraining };

  const visit =
    (expects: Turn['expects']) => (request: IncomingMessage, response: ServerResponse) => {
      const line = lines.of(request.socket);
      if (line === undefined) return void request.socket.destroy();
      void serve({ request, response, line, expects, isDraining }, lines, deps);
    };
  // Ahead of the server's own listener: nothing may come from a socket before it has an error listener.
  server.prependListener('connection', (socket) => accept(socket, gate));
  server.on('request', visit('nothing'));
  server.on('checkContinue', visit('continue'));
  server.on('checkExpectation', visit('unknown'));
  server.on('connect', (request, socket, head) => {
    void onConnect(request, { socket: socket as Socket, head }, gate);
  });
  server.on('upgrade', (request, socket, head) => {
    void onUpgrade(request, { socket: socket as Socket, head }, gate);
  });
  server.on('clientError', (error, socket) => onClientError(error, socket as Socket, gate));
  return handleOf(server, { ...gate, state });
}

/** One connection too many is answered before it asks, and nothing it asks is served. */
function accept(socket: Socket, { deps, lines }: Gate): void {
  if (lines.of(socket) !== undefined) return;
  const line = lines.accept(socket);
  const { connections, clientConnections } = deps.config().limits;
  if (lines.size <= connections && lines.unclaimed(line) <= clientConnections) return;
  line.condemned = true;
  rejectConnection(socket, tooManyConnections, deps);
}

function newServer({ headerBytes, headMs, keepAliveMs }: LimitsConfig, lines: Lines): Server {
  const server = createServer({
    shouldUpgradeCallback: (request) => mayUpgrade(request, lines.of(request.socket)),
    maxHeaderSize: headerBytes,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headMs,
    // A request may take as long as it is waited for; bodies have a deadline of their own.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(CHECK_MS, Math.ceil(headMs / CHECKS)),
    joinDuplicateHeaders: false,
    // Told by our own words, and not at all to CONNECT.
    requireHostHeader: false,
    insecureHTTPParser: false,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
  });
  // The default cuts header lists off at 2000 without a word; the size in bytes is limited anyway.
  server.maxHeadersCount = 0;
  server.timeout = 0;
  return server;
}

/** The parser gave up on a connection: one answer if none is under way, and its end in any case. */
function onClientError(error: Error, socket: Socket, { deps, lines }: Gate): void {
  const line = lines.of(socket);
  if (line?.condemned === true) {
    condemn(line); // Nothing more will come of what was waited for.
    return;
  }
  const refusal = refusalOf(error, deps.config().limits.headerBytes);
  if (line === undefined || refusal === undefined) {
    socket.destroy();
    return;
  }
  if (line.spoilt) return;
  line.spoilt = true;
  const reject = () => {
    if (line.answering > 0) return void socket.destroy();
    condemn(line);
    if (isInside && line.told === line.latest) endQuietly(socket, deps);
    else rejectConnection(socket, refusal, deps);
  };
  const isInside = line.latest?.complete === false;
  // What is wrong here is no part of the requests before it, whose answers are still owed.
  if (line.pending > 1 && isInside) void line.before.then(reject);
  else if (line.pending > 0 && !isInside) void line.turn.then(reject);
  else reject();
}

/** A request that broke off behind its answer gets no second one. */
function endQuietly(socket: Socket, { config, clock }: ListenerDeps): void {
  socket.end();
  lingerThenDestroy(socket, { clock, lingerMs: config().policy.timeouts.lingerMs });
}

function rejectConnection(socket: Socket, refusal: Refusal, deps: ListenerDeps): void {
  const { status, reason, detail } = refusal;
  deps.emit({ type: 'request_refused', at: deps.clock.now(), status, reason, detail });
  const { lingerMs } = deps.config().policy.timeouts;
  rejectSocket(socket, refusal, { clock: deps.clock, lingerMs });
}

/**
 * Settles when nobody waits for being accepted any more: whom the system has let in already would be reset by the
 * closing, with a request that may be on its way. One is accepted in each turn of the event loop, at its beginning, so
 * that no more than a short turn lies between the last look and the closing.
 */
function takeIn(server: Server, clock: Pick<Clock, 'now'>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let turnAt = clock.now();
  const until = turnAt + TAKE_IN_MS;
  let quiet = 0;
  const onConnection = () => {
    quiet = 0;
  };
  const next = () => {
    const now = clock.now();
    quiet = now - turnAt < SHORT_TURN_MS ? quiet + 1 : 0;
    turnAt = now;
    if (quiet <= QUIET_TURNS && now < until) return void setImmediate(next);
    server.off('connection', onConnection);
    resolve();
  };
  server.on('connection', onConnection);
  setImmediate(next);
  return promise;
}

function handleOf(
  server: Server,
  { deps, lines, sessions, state }: Gate & { state: { draining: boolean } },
): Listener {
  const address = () => {
    const bound = server.address() as AddressInfo | null;
    return bound === null ? undefined : { host: bound.address, port: bound.port };
  };
  const beginDraining = () => {
    state.draining = true;
    sessions.drain();
  };
  const stopAccepting = async () => {
    beginDraining();
    await takeIn(server, deps.clock);
    // Not the HTTP server's own close: it cuts idle connections, and a request may be on its way on one of them.
    if (server.listening) NetServer.prototype.close.call(server);
  };
  return {
    address,
    stopAccepting,
    openConnections: () => lines.size,
    async listen() {
      const { host, port } = deps.config().listen;
      server.listen({ host, port });
      await once(server, 'listening');
      return address() ?? { host, port };
    },
    async close() {
      if (lines.size === 0 && !server.listening) return;
      const closed = once(server, 'close');
      beginDraining();
      server.close();
      await Promise.all([closed, lines.destroyAll()]);
    },
  };
}
