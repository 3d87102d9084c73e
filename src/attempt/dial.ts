import { promises as dns, type LookupAddress } from 'node:dns';
import { connect, isIP, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { FailureReply, Phase } from '../core/verdict.ts';
import type { ProxyWay, Target, Way } from '../exchange/ports.ts';
import { connectThrough, type Handshake } from './connect.ts';
import { type Broken, broken, CodedError } from './failure.ts';
import type { Guard } from './guard.ts';
import type { Protocol } from './h2-offers.ts';
import { socksThrough } from './socks.ts';
import { type Limits, type Outcome, step } from './step.ts';
import type { Secure } from './tls.ts';

/** All addresses of a name, in the order in which they should be tried. */
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** A connection to dial: one TCP connect to what is nearest, then whatever has to be agreed on it. */
export interface DialJob {
  readonly target: Target;
  readonly way: Way;
  /** `forward` stops at the upstream: plain requests go to it as they are. */
  readonly reach: 'upstream' | 'origin';
  /** Whether we speak TLS to the origin ourselves. */
  readonly secure: boolean;
  /** The best protocol that TLS offers to the origin; an upstream is always spoken to in HTTP/1.1. */
  readonly offer: Protocol;
  /** TLS sessions are resumed within this scope only. */
  readonly scope: string;
  readonly connectMs: number;
  readonly signal: AbortSignal;
  /** Told of the TCP socket as soon as there is one, so that its bytes are counted whatever comes. */
  onSocket(raw: Socket): void;
}

export interface Dialled {
  readonly kind: 'dialled';
  /** What to speak over: the TCP socket, or TLS on it. */
  readonly socket: Socket;
  readonly raw: Socket;
  /** What was agreed on. */
  readonly protocol: Protocol;
  /** Bytes that came behind the upstream's answer. */
  readonly rest: Buffer;
}

export type Dial = (job: DialJob) => Promise<Dialled | Broken>;

/** Makes the dialer. Each step has its own deadline and its own phase; every failure leaves no socket behind. */
export function createDial(o: {
  clock: Clock;
  secure: Secure;
  guard: Guard;
  resolve?: Resolve | undefined;
}): Dial {
  const resolve = o.resolve ?? ((host) => dns.lookup(host, { all: true, order: 'verbatim' }));
  return async (job) => {
    const limits: Limits = { clock: o.clock, signal: job.signal, ms: job.connectMs };
    const near = nearest(job);
    const literal = forbidden(o.guard, job.target.host, job.target.port);
    if (literal !== undefined) return broken(literal, 'resolve', 'local');
    const addresses = await addressesOf(near, o.guard, resolve, limits);
    if (addresses.kind === 'failed') return broken(addresses.error, 'resolve', near.leg);
    const tcp = await connectTcp(addresses.value, near, job, limits);
    if (tcp.kind === 'failed') return broken(tcp.error, 'dial', near.leg);
    const dialled = await join(tcp.value, job, o.secure, limits);
    if (dialled.kind === 'broken') tcp.value.destroy();
    return dialled;
  };
}

interface Near {
  readonly host: string;
  readonly port: number;
  readonly leg: FailureReply['leg'];
}

function nearest(job: DialJob): Near {
  if (job.way.kind === 'direct') {
    return { host: job.target.host, port: job.target.port, leg: 'origin' };
  }
  return { host: job.way.host, port: job.way.port, leg: 'upstream' };
}

function forbidden(guard: Guard, address: string, port: number): CodedError | undefined {
  const answer = guard.check(address, port);
  switch (answer) {
    case 'ok':
      return undefined;
    case 'loop':
      return new CodedError('FORBEAR_LOOP', `${address}:${port} is this proxy itself`);
    case 'prohibited':
      return new CodedError('FORBEAR_PROHIBITED', `${address} may not be reached from here`);
  }
}

/** The nearest hop's addresses that may be dialled. Names of targets behind an upstream never come here. */
async function addressesOf(
  near: Near,
  guard: Guard,
  resolve: Resolve,
  limits: Limits,
): Promise<Outcome<readonly LookupAddress[]>> {
  const found = await lookUp(near.host, resolve, limits);
  if (found.kind === 'failed') return found;
  const allowed: LookupAddress[] = [];
  let refusal: CodedError | undefined;
  for (const entry of found.value) {
    const error = forbidden(guard, entry.address, near.port);
    // Where the user's own upstream lives is the user's business, as long as it is not ourselves.
    const matters = near.leg === 'origin' || error?.code === 'FORBEAR_LOOP';
    if (error !== undefined && matters) refusal = error;
    else allowed.push(entry);
  }
  if (refusal?.code === 'FORBEAR_LOOP') return { kind: 'failed', error: refusal };
  if (allowed.length > 0) return { kind: 'done', value: allowed };
  const nothing = new CodedError('FORBEAR_NO_ADDRESS', `${near.host} has no address`);
  return { kind: 'failed', error: refusal ?? nothing };
}

function lookUp(
  host: string,
  resolve: Resolve,
  limits: Limits,
): Promise<Outcome<readonly LookupAddress[]>> {
  const family = isIP(host);
  if (family !== 0) {
    return Promise.resolve({ kind: 'done', value: [{ address: host, family }] });
  }
  return step<readonly LookupAddress[]>(limits, ({ done, fail }) => {
    resolve(host).then(done, fail);
    return () => {};
  });
}

function connectTcp(
  addresses: readonly LookupAddress[],
  near: Near,
  job: DialJob,
  limits: Limits,
): Promise<Outcome<Socket>> {
  return step<Socket>(limits, ({ done, fail }) => {
    // The checked addresses are dialled, never the name again: it could resolve to others by now.
    const socket = connect({
      host: near.host,
      port: near.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      autoSelectFamily: true,
      lookup: (_host, options, found) => {
        const [first] = addresses;
        if (options.all) found(null, [...addresses]);
        else found(null, first?.address ?? '', first?.family ?? 0);
      },
    });
    let connected = false;
    const onConnect = () => {
      connected = true;
      done(socket);
    };
    const onClose = () => fail(new CodedError('FORBEAR_CLOSED', 'closed while connecting'));
    socket.on('error', () => {});
    socket.once('connect', onConnect).once('error', fail).once('close', onClose);
    job.onSocket(socket);
    return () => {
      socket.off('connect', onConnect).off('error', fail).off('close', onClose);
      if (!connected) socket.destroy();
    };
  });
}

/** All that happens on the TCP connection before it can carry a request. */
async function join(
  raw: Socket,
  job: DialJob,
  secure: Secure,
  limits: Limits,
): Promise<Dialled | Broken> {
  const { way, scope } = job;
  let socket = raw;
  let rest = Buffer.alloc(0);
  if (way.kind === 'https') {
    const upstream = { host: way.host, scope: `${scope} upstream`, offer: 'http/1.1' } as const;
    const far = await secure(raw, upstream, limits);
    if (far.kind === 'failed') return broken(far.error, 'upstream_handshake', 'upstream');
    socket = far.value;
  }
  if (way.kind !== 'direct' && job.reach === 'origin') {
    const shake = await handshake(socket, way, job.target, limits);
    if (shake.kind === 'failed') return broken(shake.error, 'upstream_handshake', 'upstream');
    if (shake.value.kind === 'refused') return refusedBy(shake.value);
    rest = Buffer.from(shake.value.rest);
  }
  if (job.secure) {
    // TLS takes over what its socket has buffered.
    if (rest.length > 0) socket.unshift(rest);
    const far = await secure(socket, { host: job.target.host, scope, offer: job.offer }, limits);
    if (far.kind === 'failed') return broken(far.error, 'tls', 'origin');
    return { kind: 'dialled', socket: far.value, raw, rest: Buffer.alloc(0), ...agreed(far.value) };
  }
  return { kind: 'dialled', socket, raw, protocol: 'http/1.1', rest };
}

const agreed = ({ alpnProtocol }: TLSSocket): Pick<Dialled, 'protocol'> => ({
  protocol: alpnProtocol === 'h2' ? 'h2' : 'http/1.1',
});

function handshake(
  socket: Socket,
  way: ProxyWay,
  target: Target,
  limits: Limits,
): Promise<Outcome<Handshake>> {
  const through = way.kind === 'socks5' ? socksThrough : connectThrough;
  return through(socket, { way, target }, limits);
}

function refusedBy(shake: Handshake & { kind: 'refused' }): Broken {
  const { reply } = shake;
  const phase: Phase = 'upstream_handshake';
  const detail = `the upstream answered ${reply.status}`;
  return {
    kind: 'broken',
    phase,
    code: 'upstream_refused',
    leg: 'upstream',
    detail,
    upstreamReply: reply,
  };
}
