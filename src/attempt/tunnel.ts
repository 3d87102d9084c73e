import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { ResponseReply } from '../core/verdict.ts';
import type { Exchange, Received, Route } from '../exchange/ports.ts';
import type { Dial, Dialled } from './dial.ts';
import { type Broken, broken, CodedError } from './failure.ts';
import { Meter } from './meter.ts';
import { failedAttempt } from './received.ts';
import { type Plan, planOf } from './request.ts';
import type { ReplyTerms } from './send.ts';

/** How a leg went wrong before its first byte. */
export type Lost = Error | 'closed' | 'timeout' | 'patience';

/** A tunnel's far leg. The socket is paused and ours no longer: whoever takes it ends it. */
export interface Tunnel extends Received {
  readonly socket?: Duplex;
  /** What the far side said already; it goes to the client first. */
  readonly firstBytes?: Buffer;
  /** Ends the leg, and gives the failed attempt that it comes to. */
  lost?(why: Lost): Received;
}

/** What it takes to dial a leg of its own for one exchange. */
export interface LegJob {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly track: (raw: Socket) => void;
  readonly replyTerms: ReplyTerms;
  readonly exchange: Exchange;
  readonly route: Route;
}

/** A connection to the origin, through the upstream if there is one, that nobody else will use. */
export interface Leg {
  readonly kind: 'leg';
  readonly dialled: Dialled;
  readonly plan: Plan;
  readonly via: 'direct' | 'tunnel';
  readonly meter: Meter;
  readonly startedAt: number;
}

/** Opens the far leg of a tunnel: the reply is a bodiless 200 once it stands. */
export async function openTunnel(job: LegJob): Promise<Tunnel> {
  const { exchange, clock } = job;
  const leg = await dialLeg(job);
  if (leg.kind === 'failed') return leg.received;
  exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
  const headMs = clock.now() - leg.startedAt;
  const head = { status: 200, reason: 'OK', rawHeaders: [] };
  const { socket, rest } = leg.dialled;
  return Object.assign(standing(leg, { ...head, headMs, signal: exchange.signal }), {
    socket,
    firstBytes: rest,
    lost: (why: Lost) => {
      endLeg(leg);
      return failedAttempt(brokenBy(why), { via: leg.via, sent: true, meter: leg.meter });
    },
  });
}

/** Dials through whatever is between, up to TLS with the origin where we speak it. */
export async function dialLeg(
  job: LegJob,
): Promise<Leg | { readonly kind: 'failed'; readonly received: Received }> {
  const { exchange, route, clock } = job;
  const startedAt = clock.now();
  const { connectMs } = exchange.policy.timeouts;
  const plan = planOf(exchange, route);
  const via = route.way.kind === 'direct' ? 'direct' : 'tunnel';
  const meter = new Meter();
  exchange.stage = { kind: 'dialling', sinceAt: startedAt, untilAt: startedAt + connectMs };
  const dialled = await job.dial({
    target: exchange.target,
    way: route.way,
    reach: 'origin',
    secure: plan.secure,
    // Whoever switches protocols does so over HTTP/1.1.
    offer: 'http/1.1',
    scope: plan.key.text,
    connectMs,
    signal: exchange.signal,
    onSocket: (raw) => {
      job.track(raw);
      meter.add(raw);
    },
  });
  if (dialled.kind === 'dialled') return { kind: 'leg', dialled, plan, via, meter, startedAt };
  return { kind: 'failed', received: failedAttempt(dialled, { via, sent: false, meter }) };
}

/** Closes a leg at once. */
export function endLeg({ dialled }: Leg): void {
  dialled.socket.destroy();
  dialled.raw.destroy();
}

/** A leg as an attempt's result, for as long as its socket lives. */
export function standing(
  leg: Leg,
  o: Pick<ResponseReply, 'status' | 'rawHeaders' | 'headMs'> & {
    readonly reason: string;
    readonly signal: AbortSignal;
  },
): Received {
  const { dialled, meter, via } = leg;
  const { socket, raw } = dialled;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const leave = () => endLeg(leg);
  const onClose = () => {
    o.signal.removeEventListener('abort', leave);
    meter.stop();
    resolve();
  };
  if (raw.destroyed) onClose();
  else raw.once('close', onClose);
  o.signal.addEventListener('abort', leave, { once: true });
  if (o.signal.aborted) leave();
  socket.pause();
  const { status, reason, rawHeaders, headMs } = o;
  const body: Readable = Readable.from([]);
  return {
    reply: { kind: 'response', via, status, rawHeaders, body: { kind: 'none' }, headMs },
    response: { status, reason, rawHeaders, body, rawTrailers: [] },
    closed,
    keep: () => {},
    discard: leave,
    get deliverable() {
      return !socket.destroyed;
    },
    get sentBytes() {
      return meter.sentBytes;
    },
    get receivedBytes() {
      return meter.receivedBytes;
    },
  };
}

function brokenBy(why: Lost): Broken {
  switch (why) {
    case 'closed':
      return broken(
        new CodedError('FORBEAR_CLOSED', 'closed before a byte'),
        'first_byte',
        'origin',
      );
    case 'timeout':
      return broken(new CodedError('FORBEAR_TIMEOUT', 'no byte in time'), 'first_byte', 'origin');
    case 'patience':
      return { kind: 'broken', phase: 'first_byte', code: 'patience', leg: 'local', detail: '' };
    default:
      return broken(why, 'first_byte', 'origin');
  }
}
