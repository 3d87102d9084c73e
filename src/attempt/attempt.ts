import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { TlsConfig } from '../config/config.ts';
import type { Attempt, Exchange, Received, Route } from '../exchange/ports.ts';
import { createDial, type Resolve } from './dial.ts';
import { broken, CodedError } from './failure.ts';
import type { Guard } from './guard.ts';
import type { Line, LineJob } from './line.ts';
import { Lines } from './lines.ts';
import { Meter } from './meter.ts';
import { withinPatience } from './patience.ts';
import { receive } from './receive.ts';
import { failedAttempt } from './received.ts';
import { planOf } from './request.ts';
import type { ReplyTerms, Sent } from './send.ts';
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

/** Makes the attempts of a proxy. Reads the trusted roots, which takes a moment. */
export function createAttempts(o: {
  clock: Clock;
  tls: TlsConfig;
  guard: Guard;
  replyTerms: ReplyTerms;
  resolve?: Resolve;
}): Attempts {
  const { clock, guard, resolve, replyTerms } = o;
  const sockets = new Set<Socket>();
  const dial = createDial({ clock, secure: createSecure(o.tls), guard, resolve });
  const track = (raw: Socket) => {
    sockets.add(raw);
    raw.once('close', () => sockets.delete(raw));
  };
  const lines = new Lines({ clock, dial, track, replyTerms });
  return {
    attempt: (exchange, route, readmit = async () => true) => {
      const meter = new Meter();
      return withinPatience(exchange, { clock, meter }, (bounded) => {
        const plan = planOf(bounded, route);
        return tryOnce({
          clock,
          lines,
          exchange: bounded,
          route,
          readmit,
          plan,
          meter,
          replyTerms,
        });
      });
    },
    openTunnel: (exchange, route) =>
      withinPatience(exchange, { clock, meter: new Meter() }, (bounded) =>
        openTunnel({ clock, dial, track, replyTerms, exchange: bounded, route }),
      ),
    openUpgrade: (exchange, route) =>
      withinPatience(exchange, { clock, meter: new Meter() }, (bounded) =>
        openUpgrade({ clock, dial, track, replyTerms, exchange: bounded, route }),
      ),
    retire: (routeId) => lines.retire(routeId),
    close() {
      lines.close();
      for (const raw of sockets) raw.destroy();
    },
    openSockets: () => sockets.size,
  };
}

interface Try extends LineJob {
  readonly lines: Lines;
  readonly readmit: () => Promise<boolean>;
}

async function tryOnce(t: Try): Promise<Received> {
  const startedAt = t.clock.now();
  const { plan, meter, exchange, lines } = t;
  if (exchange.signal.aborted) {
    const end = broken(abortion(), 'dial', 'local');
    return failedAttempt(end, { via: plan.via, sent: false, meter });
  }
  // Each of these may happen once to every attempt, and costs nothing: the request was not acted upon.
  const granted = new Set<Again>();
  let bornSince = 0;
  for (;;) {
    const line = await lines.take(t, bornSince);
    if ('kind' in line) {
      if (!granted.has('other_protocol') && lines.learn(line, t)) granted.add('other_protocol');
      else return failedAttempt(line, { via: plan.via, sent: false, meter });
      continue;
    }
    const sent = await line.send();
    const again = againAfter(sent, line, t);
    if (again === 'died_idle') {
      lines.dropIdle(t);
      bornSince = t.clock.now();
    }
    if (again === undefined || granted.has(again) || !(await t.readmit())) {
      return receive(sent, { clock: t.clock, exchange, line, via: plan.via, meter, startedAt });
    }
    granted.add(again);
  }
}

/** Why a request may go out once more within its attempt. */
type Again =
  /** The kept-alive socket had died unnoticed: its death, not the request's, and nobody is blamed. */
  | 'died_idle'
  /** The origin closed the session, and said that it had not looked at the request. */
  | 'left_behind'
  /** The origin does not speak, or not for this, what it was offered. */
  | 'other_protocol';

function againAfter(sent: Sent, line: Line, t: Try): Again | undefined {
  if (sent.kind !== 'failed') return undefined;
  const { body } = t.exchange;
  if (body.present && !body.replayable) return undefined;
  if (sent.error instanceof CodedError) {
    if (sent.error.code === 'FORBEAR_GOAWAY') return 'left_behind';
    if (sent.error.code === 'FORBEAR_HTTP11_REQUIRED') {
      t.lines.avoidH2(t);
      return 'other_protocol';
    }
  }
  return diedIdle(sent, line, t) ? 'died_idle' : undefined;
}

/** Whether a kept-alive socket had died unnoticed, and the request may go out again. */
function diedIdle(sent: Extract<Sent, { kind: 'failed' }>, line: Line, t: Try): boolean {
  if (!line.reused || line.heard) return false;
  const { code } = broken(sent.error, sent.phase, 'origin');
  if (code !== 'closed' && code !== 'connection_reset') return false;
  return t.plan.repeatable || !line.written;
}
