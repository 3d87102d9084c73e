import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { TlsConfig } from '../config/config.ts';
import type { Attempt, Exchange, Received, Route } from '../exchange/ports.ts';
import { Connection, Connections } from './connections.ts';
import { createDial, type Dial, type Resolve } from './dial.ts';
import { type Broken, broken } from './failure.ts';
import type { Guard } from './guard.ts';
import { Meter } from './meter.ts';
import { withinPatience } from './patience.ts';
import { receive } from './receive.ts';
import { failedAttempt } from './received.ts';
import { type Plan, planOf, requestOf } from './request.ts';
import { type Sent, send } from './send.ts';
import { abortion } from './step.ts';
import { createSecure } from './tls.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';
import { openUpgrade, type Upgrade } from './upgrade.ts';

/** One try over the wire, and the connections it leaves open for the next. */
export interface Attempts {
  readonly attempt: Attempt;
  /** Dials (and asks the upstream), and hands the socket over; speaks TLS to the origin unless it is a CONNECT. */
  openTunnel(exchange: Exchange, route: Route): Promise<Tunnel>;
  /** Asks the origin to switch protocols, over a socket of its own. */
  openUpgrade(exchange: Exchange, route: Route): Promise<Upgrade>;
  /** Closes a route's idle sockets, and its busy ones when they end. */
  retire(routeId: string): void;
  /** Closes everything at once. */
  close(): void;
  openSockets(): number;
}

/** A connection that is asked for something which must not be sent twice has been used a moment ago. */
const UNREPEATABLE_IDLE_MS = 500;

/** Makes the attempts of a proxy. Reads the trusted roots, which takes a moment. */
export function createAttempts(o: {
  clock: Clock;
  tls: TlsConfig;
  guard: Guard;
  resolve?: Resolve;
}): Attempts {
  const { clock, guard, resolve } = o;
  const sockets = new Set<Socket>();
  const connections = new Connections();
  const dial = createDial({ clock, secure: createSecure(o.tls), guard, resolve });
  const track = (raw: Socket) => {
    sockets.add(raw);
    raw.once('close', () => sockets.delete(raw));
  };
  return {
    attempt: (exchange, route, readmit = async () => true) => {
      const meter = new Meter();
      return withinPatience(exchange, { clock, meter }, (bounded) => {
        const plan = planOf(bounded, route);
        return tryOnce({
          clock,
          dial,
          track,
          connections,
          exchange: bounded,
          route,
          readmit,
          plan,
          meter,
        });
      });
    },
    openTunnel: (exchange, route) =>
      withinPatience(exchange, { clock, meter: new Meter() }, (bounded) =>
        openTunnel({ clock, dial, track, exchange: bounded, route }),
      ),
    openUpgrade: (exchange, route) =>
      withinPatience(exchange, { clock, meter: new Meter() }, (bounded) =>
        openUpgrade({ clock, dial, track, exchange: bounded, route }),
      ),
    retire: (routeId) => connections.retire(routeId),
    close() {
      connections.close();
      for (const raw of sockets) raw.destroy();
    },
    openSockets: () => sockets.size,
  };
}

interface Try {
  readonly clock: Clock;
  readonly dial: Dial;
  readonly track: (raw: Socket) => void;
  readonly connections: Connections;
  readonly exchange: Exchange;
  readonly route: Route;
  readonly readmit: () => Promise<boolean>;
  readonly plan: Plan;
  readonly meter: Meter;
}

async function tryOnce(t: Try): Promise<Received> {
  const startedAt = t.clock.now();
  const { plan, meter, exchange } = t;
  if (exchange.signal.aborted) {
    const end = broken(abortion(), 'dial', 'local');
    return failedAttempt(end, { via: plan.via, sent: false, meter });
  }
  const maxIdleMs = plan.repeatable ? Number.POSITIVE_INFINITY : UNREPEATABLE_IDLE_MS;
  const idle = t.connections.take(plan.key, { maxIdleMs, now: startedAt });
  if (idle !== undefined) {
    const sent = await sendOver(idle, t);
    if (!diedIdle(sent, idle, t)) return received(sent, idle, t, startedAt);
    // The socket's death, not the request's: once more on a fresh one, and nobody is blamed.
    t.connections.dropIdle(plan.key);
    if (!(await t.readmit())) return received(sent, idle, t, startedAt);
  }
  const fresh = await dialConnection(t);
  if ('kind' in fresh) return failedAttempt(fresh, { via: plan.via, sent: false, meter });
  const sent = await sendOver(fresh, t);
  return received(sent, fresh, t, startedAt);
}

async function dialConnection(t: Try): Promise<Connection | Broken> {
  const { exchange, route, plan, clock } = t;
  const { connectMs } = exchange.policy.timeouts;
  const now = clock.now();
  exchange.stage = { kind: 'dialling', sinceAt: now, untilAt: now + connectMs };
  const dialled = await t.dial({
    target: exchange.target,
    way: route.way,
    reach: plan.reach,
    secure: plan.secure,
    scope: plan.key.text,
    connectMs,
    signal: exchange.signal,
    onSocket: (raw) => {
      t.track(raw);
      t.meter.add(raw);
    },
  });
  if (dialled.kind === 'broken') return dialled;
  const connection = new Connection(plan.key, dialled);
  t.connections.add(connection);
  return connection;
}

async function sendOver(connection: Connection, t: Try): Promise<Sent> {
  const { exchange, route, plan, clock } = t;
  if (connection.uses > 0) t.meter.add(connection.raw);
  const now = clock.now();
  exchange.stage = { kind: 'awaiting_reply', sinceAt: now, untilAt: undefined };
  try {
    const { options, head, body } = requestOf(exchange, route, plan);
    connection.wire.begin(head, exchange.policy.lenient);
    const onFree = () => t.connections.giveBack(connection, clock.now());
    return await send({ clock, connection, exchange, options, body, onFree });
  } catch (error) {
    connection.destroy();
    return { kind: 'failed', phase: 'send', error: error as Error };
  }
}

/** Whether a kept-alive socket had died unnoticed, and the request may go out again. */
function diedIdle(sent: Sent, connection: Connection, t: Try): boolean {
  if (sent.kind !== 'failed' || connection.wire.replyBytes > 0) return false;
  const { code } = broken(sent.error, sent.phase, 'origin');
  if (code !== 'closed' && code !== 'connection_reset') return false;
  if (t.exchange.body.present && !t.exchange.body.replayable) return false;
  return t.plan.repeatable || !connection.wire.written;
}

function received(sent: Sent, connection: Connection, t: Try, startedAt: number) {
  const { exchange, meter, clock } = t;
  return receive(sent, { clock, exchange, connection, via: t.plan.via, meter, startedAt });
}
