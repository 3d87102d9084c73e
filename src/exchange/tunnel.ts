import type { Duplex } from 'node:stream';
import type { Flight } from './flight.ts';
import type { Delivery, Exchange, Received, Route } from './ports.ts';
import { type Deps, runExchange } from './run.ts';

/** A far leg that stands, or the reply that says why it does not. */
export interface Leg extends Received {
  readonly socket?: Duplex;
  /** What the far side said at once, ahead of everything else. */
  readonly firstBytes?: Buffer;
  /** Ends a leg that went wrong before its first byte, and gives the failed attempt that it comes to. */
  lost?(why: Lost): Received;
}

/** How a leg went wrong before its first byte. */
export type Lost = Error | 'closed' | 'timeout' | 'patience';

export type OpenTunnel = (exchange: Exchange, route: Route) => Promise<Leg>;

/**
 * Sets a blind tunnel up with the whole discipline of the loop: an attempt dials its far leg, says what
 * the client said first, and waits for an answer, so that a TLS set-up that fails is made again without
 * being opened. The slot is given back as soon as the far side has spoken, or nothing that could be said
 * again is under way: an idle tunnel keeps nobody from the host.
 */
export async function runTunnel(
  exchange: Exchange,
  flight: Flight,
  { openTunnel, ...deps }: Deps & { readonly openTunnel: OpenTunnel },
): Promise<Delivery & { readonly socket?: Duplex }> {
  let far: Duplex | undefined;
  const delivery = await runExchange(exchange, {
    ...deps,
    async attempt(_, route) {
      far = undefined;
      const leg = await openTunnel(exchange, route);
      const { socket, firstBytes } = leg;
      if (socket === undefined) return leg;
      if (firstBytes && firstBytes.length > 0) socket.unshift(firstBytes);
      const end = await firstWord(socket, { flight, exchange, clock: deps.clock });
      if (end !== 'joined' && leg.lost) return leg.lost(end);
      far = socket;
      return Object.assign(leg, { released: Promise.resolve() });
    },
  });
  return far === undefined ? delivery : { ...delivery, socket: far };
}

/**
 * Waits until the far side speaks, or there is nothing more to wait for: a client that is silent leaves the
 * first word to the server, and what cannot be said again need not be watched.
 */
function firstWord(
  far: Duplex,
  { flight, exchange, clock }: { flight: Flight; exchange: Exchange; clock: Deps['clock'] },
): Promise<'joined' | Lost> {
  const { promise, resolve } = Promise.withResolvers<'joined' | Lost>();
  const { sniffMs, firstByteMs } = exchange.policy.timeouts;
  let cancel = clock.after(sniffMs, () => settle('joined'));
  const settle = (end: 'joined' | Lost) => {
    cancel();
    flight.pause();
    far.off('readable', onReadable).off('error', settle).off('close', onClose);
    if (end === 'joined') {
      exchange.stage = { kind: 'streaming', sinceAt: clock.now(), untilAt: undefined };
    }
    resolve(end);
  };
  const onReadable = () => settle(far.readableLength > 0 ? 'joined' : 'closed');
  const onClose = () => settle('closed');
  far.on('readable', onReadable).on('error', settle).on('close', onClose);
  flight.begin(far, () => {
    if (flight.state === 'over') return settle('joined');
    cancel();
    const sinceAt = clock.now();
    const leftMs = exchange.deadline - sinceAt;
    const [ms, end] =
      leftMs < firstByteMs ? ([leftMs, 'patience'] as const) : ([firstByteMs, 'timeout'] as const);
    exchange.stage = { kind: 'awaiting_reply', sinceAt, untilAt: sinceAt + ms };
    cancel = clock.after(ms, () => settle(end));
  });
  return promise;
}
