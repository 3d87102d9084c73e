import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Exchange, Received, Route } from '../exchange/ports.ts';
import type { Dial, Dialled } from './dial.ts';
import { Meter } from './meter.ts';
import { failedAttempt } from './received.ts';
import { planOf } from './request.ts';

/** A tunnel's far leg. The socket is paused and ours no longer: whoever takes it ends it. */
export interface Tunnel extends Received {
  readonly socket?: Duplex;
  /** What the far side said already; it goes to the client first. */
  readonly firstBytes?: Buffer;
}

/** Opens the far leg of a tunnel: the reply is a bodiless 200 once it stands. */
export async function openTunnel(o: {
  clock: Clock;
  dial: Dial;
  track: (raw: Socket) => void;
  exchange: Exchange;
  route: Route;
}): Promise<Tunnel> {
  const { exchange, route, clock } = o;
  const startedAt = clock.now();
  const { connectMs } = exchange.policy.timeouts;
  const plan = planOf(exchange, route);
  const via = route.way.kind === 'direct' ? 'direct' : 'tunnel';
  const meter = new Meter();
  exchange.stage = { kind: 'dialling', sinceAt: startedAt, untilAt: startedAt + connectMs };
  const dialled = await o.dial({
    target: exchange.target,
    way: route.way,
    reach: 'origin',
    secure: plan.secure,
    scope: plan.key.text,
    connectMs,
    signal: exchange.signal,
    onSocket: (raw) => {
      o.track(raw);
      meter.add(raw);
    },
  });
  if (dialled.kind === 'broken') return failedAttempt(dialled, { via, sent: false, meter });
  exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
  const headMs = clock.now() - startedAt;
  return standing({ dialled, meter, via, headMs, signal: exchange.signal });
}

function standing(o: {
  dialled: Dialled;
  meter: Meter;
  via: 'direct' | 'tunnel';
  headMs: number;
  signal: AbortSignal;
}): Tunnel {
  const { socket, raw, rest } = o.dialled;
  const end = () => {
    socket.destroy();
    raw.destroy();
  };
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const onClose = () => {
    o.signal.removeEventListener('abort', end);
    o.meter.stop();
    resolve();
  };
  if (raw.destroyed) onClose();
  else raw.once('close', onClose);
  o.signal.addEventListener('abort', end, { once: true });
  if (o.signal.aborted) end();
  socket.pause();
  const body: Readable = Readable.from([]);
  return {
    reply: {
      kind: 'response',
      via: o.via,
      status: 200,
      rawHeaders: [],
      body: { kind: 'none' },
      headMs: o.headMs,
    },
    response: { status: 200, reason: 'OK', rawHeaders: [], body, rawTrailers: [] },
    closed,
    keep: () => {},
    discard: end,
    get deliverable() {
      return !socket.destroyed;
    },
    get sentBytes() {
      return o.meter.sentBytes;
    },
    get receivedBytes() {
      return o.meter.receivedBytes;
    },
    socket,
    firstBytes: rest,
  };
}
