import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { InterceptConfig } from '../config/config.ts';
import { hostGlobMatches } from '../core/glob.ts';
import { type Distrust, type HandshakeFailure, handshake, leftUnused } from './distrust.ts';
import type { H2Sessions } from './h2-session.ts';
import { awaitOpening } from './hello.ts';
import type { Caller, Channel, Line, Lines } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { badRequest, type Refusal, tooManyConnections, tooManyTunnels } from './problem.ts';
import { rejectSocket } from './reject.ts';
import { callerOf, framingFault } from './request.ts';
import { canonicalHost, type HostPort, parseConnect } from './target.ts';
import { ESTABLISHED, runBlind } from './tunnel.ts';

/** What opening a tunnel needs besides. */
export interface Gate {
  readonly deps: ListenerDeps;
  readonly lines: Lines;
  /** Reads HTTP from a socket that `lines` has opened. */
  readonly enter: (socket: Socket) => void;
  /** Speaks HTTP/2 on them. */
  readonly sessions: H2Sessions;
  readonly distrust: Distrust;
  readonly isDraining: () => boolean;
}

interface Connect {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly address: HostPort;
  readonly caller: Caller;
}

/** Takes a CONNECT: opened by the rules and by what the client says first, else passed through. Never rejects. */
export async function onConnect(
  request: IncomingMessage,
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
  gate: Gate,
): Promise<void> {
  const { deps, lines } = gate;
  const line = lines.of(socket);
  if (line === undefined || line.condemned) return void socket.destroy();
  // Its answer would overtake those that are still owed, and what they say would land in the tunnel.
  if (line.pending > 0) return void socket.destroy();
  const connect = readConnect(request, line, gate);
  if ('refusal' in connect) {
    const { status, reason, detail } = connect.refusal;
    deps.emit({ type: 'request_refused', at: deps.clock.now(), status, reason, detail });
    const { lingerMs } = deps.config().policy.timeouts;
    line.condemned = true;
    return rejectSocket(socket, connect.refusal, { clock: deps.clock, lingerMs });
  }
  lines.addTunnel(socket);
  const whole = { ...connect, socket, head };
  if (!isOpened(whole, gate)) {
    return runBlind({ ...whole, held: head, established: 'no' }, deps);
  }
  return openUp(whole, gate);
}

function readConnect(
  request: IncomingMessage,
  line: Line,
  { deps, lines }: Gate,
): { readonly address: HostPort; readonly caller: Caller } | { readonly refusal: Refusal } {
  const fault = framingFault(request);
  if (fault !== undefined) return { refusal: fault };
  if (line.channel !== undefined) {
    return { refusal: badRequest('There is no CONNECT inside a tunnel.') };
  }
  const caller = callerOf(request.rawHeaders, line, deps.config());
  if (caller.kind === 'refused') return caller;
  const address = parseConnect(request.url ?? '');
  if (address === undefined) {
    return { refusal: badRequest('CONNECT needs a target of the form host:port.') };
  }
  const { tunnels, clientConnections } = deps.config().limits;
  if (lines.claim(line, caller.value.client.name) > clientConnections) {
    return { refusal: tooManyConnections };
  }
  if (lines.tunnels >= tunnels) return { refusal: tooManyTunnels };
  return { address, caller: caller.value };
}

function isOpened({ address, caller }: Connect, { deps, distrust }: Gate): boolean {
  const { intercept } = deps.config();
  if (!mayOpen(intercept, address.host)) return false;
  return intercept.onUntrusted !== 'tunnel' || !distrust.has(caller, address.host);
}

/** Whether the rules let a host's TLS be opened. */
function mayOpen({ mode, only, except }: InterceptConfig, host: string): boolean {
  if (mode === 'none' || except.some((glob) => hostGlobMatches(glob, host))) return false;
  return only.length === 0 || only.some((glob) => hostGlobMatches(glob, host));
}

/** Answers at once, and is told by the client's first bytes what the tunnel is for. No port has a meaning of its own. */
async function openUp(connect: Connect, gate: Gate): Promise<void> {
  const { socket, head, address, caller } = connect;
  const { deps, lines, enter } = gate;
  const { timeouts } = deps.config().policy;
  socket.write(ESTABLISHED);
  if (head.length > 0) socket.unshift(head);
  const opening = await awaitOpening(socket, {
    clock: deps.clock,
    sniffMs: timeouts.sniffMs,
    helloMs: timeouts.connectMs,
  });
  switch (opening.kind) {
    case 'gone':
      socket.destroy();
      return;
    case 'blind':
      return runBlind({ ...connect, held: opening.held, established: 'yes' }, deps);
    case 'http':
      lines.open(socket, socket, { scheme: 'http', address, caller });
      enter(socket);
      return;
    case 'tls':
      return openTls(connect, { scheme: 'https', address, caller }, gate);
  }
}

/** Shows a leaf for the name the client asks for; the origin is still the one that CONNECT named. */
async function openTls(connect: Connect, channel: Channel, gate: Gate): Promise<void> {
  const { socket, caller } = connect;
  const { deps, lines, enter, sessions, distrust } = gate;
  const { authority, clock } = deps;
  const { host } = channel.address;
  const onFailed = ({ detail, isRefusal }: HandshakeFailure) => {
    if (isRefusal) distrust.add(caller, host);
    deps.emit({ type: 'client_tls_failed', at: clock.now(), host, detail });
  };
  const tls = new TLSSocket(socket, {
    isServer: true,
    secureContext: authority.contextFor(host),
    SNICallback: (name, done) => done(null, authority.contextFor(canonicalHost(name) ?? host)),
    ALPNProtocols: ['h2', 'http/1.1', 'http/1.0'],
  });
  const { connectMs, sniffMs } = deps.config().policy.timeouts;
  const failure = await handshake(tls, connectMs, clock);
  if (failure !== undefined) {
    socket.destroy();
    return onFailed(failure);
  }
  const line = lines.open(tls, socket, channel);
  const until = clock.now() + sniffMs;
  // Before the line's own listener, which gives it up.
  tls.prependOnceListener('close', () => {
    const isUnused = line.latest === undefined && !line.condemned && !gate.isDraining();
    if (isUnused && clock.now() < until) onFailed(leftUnused);
  });
  const servername = canonicalHost(tls.servername || '');
  if (tls.alpnProtocol === 'h2') sessions.open(tls, { line, servername });
  else enter(tls);
}
