import type { Socket } from 'node:net';
import { Flight } from '../exchange/flight.ts';
import type { Exchange } from '../exchange/ports.ts';
import { conclusionOf, refusalFrom } from './deliver.ts';
import { type Carried, join } from './join.ts';
import type { Caller } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { newExchange } from './new-exchange.ts';
import { internalError, type Refusal } from './problem.ts';
import { rejectSocket } from './reject.ts';
import { type HostPort, tunnelTarget } from './target.ts';

/** A CONNECT that is passed through unopened. */
export interface BlindTunnel {
  readonly socket: Socket;
  readonly address: HostPort;
  readonly caller: Caller;
  /** Bytes that the client has sent already. */
  readonly held: Buffer;
  /** Whether the client has its 200 yet: if not, it gets one when the far leg stands, or a real error. */
  readonly established: 'yes' | 'no';
}

export const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';

/** Dials by the loop, then joins the two ends. Never rejects; settles when the tunnel is over. */
export async function runBlind(tunnel: BlindTunnel, deps: ListenerDeps): Promise<void> {
  const { socket, held } = tunnel;
  const controller = new AbortController();
  const leave = () => controller.abort();
  // An end with bytes before it may be a client that has said all and listens on.
  if (held.length === 0) socket.once('end', leave);
  socket.once('close', leave);
  socket.read(0); // An end is only noticed by reading.
  const client = { tunnel, told: tunnel.established };
  try {
    const onStands = () => {
      socket.off('end', leave);
      if (client.told === 'no') socket.write(ESTABLISHED);
      client.told = 'yes';
    };
    const { exchange, flight } = tunnelExchange(
      tunnel,
      { onStands, signal: controller.signal },
      deps,
    );
    await dialAndJoin(client, { exchange, flight }, deps);
  } catch (error) {
    const message = `A tunnel could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    turnDown(client, internalError, deps);
  }
}

/** A client at its tunnel. */
interface Waiting {
  readonly tunnel: BlindTunnel;
  /** Whether it has its 200 by now. */
  told: 'yes' | 'no';
}

function tunnelExchange(
  tunnel: BlindTunnel,
  { onStands, signal }: { readonly onStands: () => void; readonly signal: AbortSignal },
  deps: ListenerDeps,
): { readonly exchange: Exchange; readonly flight: Flight } {
  const { socket, held, address, caller } = tunnel;
  const target = tunnelTarget(address);
  const configured = deps.policyFor({
    host: target.host,
    authority: target.authority,
    path: '',
    method: 'CONNECT',
    client: caller.client.name,
    profile: caller.directives.profile,
  });
  const { replayMethods } = configured.policy;
  const flight = new Flight({ near: socket, held, replayMethods, onStands });
  // A CONNECT itself does nothing at the origin; what is said through it is for the flight to know.
  const policy = { ...configured.policy, replayMethods: [...replayMethods, 'CONNECT'] };
  const { lane } = configured;
  const exchange = newExchange(
    { caller, target, method: 'CONNECT', rawHeaders: [], body: flight, policy, lane, signal },
    deps,
  );
  return { exchange, flight };
}

async function dialAndJoin(
  client: Waiting,
  { exchange, flight }: { readonly exchange: Exchange; readonly flight: Flight },
  deps: ListenerDeps,
): Promise<void> {
  const { clock, emit } = deps;
  const { socket } = client.tunnel;
  emit({ type: 'exchange_started', at: clock.now(), exchange });
  const delivery = await deps.runTunnel(exchange, flight);
  const far = delivery.socket;
  const finish = (answered: number | 'client_gone' | 'broken_off', bytes: Carried) =>
    emit({ type: 'exchange_finished', at: clock.now(), exchange, delivery, answered, ...bytes });

  if (exchange.signal.aborted || socket.destroyed) {
    far?.destroy();
    socket.destroy();
    return finish('client_gone', NOTHING);
  }
  if (far === undefined || far.destroyed) {
    const refusal = refusalFrom(conclusionOf(delivery));
    const { told } = client;
    turnDown(client, refusal, deps);
    return finish(told === 'yes' ? 'broken_off' : refusal.status, NOTHING);
  }
  flight.sendTo(far);
  flight.forget();
  const silentMs = deps.config().limits.tunnelIdleMs;
  const carried = await join(socket, far, { clock, exchange, silentMs });
  finish(200, { ...carried, sentBytes: carried.sentBytes + flight.sentBytes });
}

/** A client that has its 200 already can be told nothing any more. */
function turnDown(client: Waiting, refusal: Refusal, { clock, config }: ListenerDeps): void {
  const { socket } = client.tunnel;
  const { lingerMs } = config().policy.timeouts;
  if (client.told === 'yes') socket.destroy();
  else rejectSocket(socket, refusal, { clock, lingerMs });
}

const NOTHING: Carried = { sentBytes: 0, receivedBytes: 0 };
