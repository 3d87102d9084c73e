import type { Duplex } from 'node:stream';
import type { Delivery, Exchange, Received, Route } from './ports.ts';
import { type Deps, runExchange } from './run.ts';

/** A far leg that stands, or the reply that says why it does not. */
export interface Leg extends Received {
  readonly socket?: Duplex;
  /** What the far side said at once, ahead of everything else. */
  readonly firstBytes?: Buffer;
}

export type OpenTunnel = (exchange: Exchange, route: Route) => Promise<Leg>;

/**
 * Sets a blind tunnel up with the whole discipline of the loop: an attempt is the dialling of its far
 * leg. The slot is given back as soon as the leg stands: an idle tunnel keeps nobody from the host.
 */
export async function runTunnel(
  exchange: Exchange,
  deps: Deps,
  openTunnel: OpenTunnel,
): Promise<Delivery & { readonly socket?: Duplex }> {
  let far: Duplex | undefined;
  const delivery = await runExchange(exchange, {
    ...deps,
    async attempt(_, route) {
      const leg = await openTunnel(exchange, route);
      far = leg.socket;
      if (leg.firstBytes && leg.firstBytes.length > 0) leg.socket?.unshift(leg.firstBytes);
      return far === undefined ? leg : { ...leg, closed: Promise.resolve() };
    },
  });
  return far === undefined ? delivery : { ...delivery, socket: far };
}
