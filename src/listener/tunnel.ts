import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Exchange, RequestBody } from '../exchange/ports.ts';

import { conclusionOf, refusalFrom } from './deliver.ts';
import type { Caller } from './lines.ts';
import { newExchange } from './new-exchange.ts';
import { internalError, type Refusal } from './problem.ts';
import { rejectSocket } from './reject.ts';
import type { ListenerDeps } from './serve.ts';
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

const NO_BODY: RequestBody = {
  length: 0,
  present: false,
  replayable: true,
  open: () => Readable.from([]),
  rawTrailers: [],
};

/** Dials by the loop, then joins the two ends. Never rejects; settles when the tunnel is over. */
export async function runBlind(tunnel: BlindTunnel, deps: ListenerDeps): Promise<void> {
  const { socket, held } = tunnel;
  const controller = new AbortController();
  const leave = () => controller.abort();
  // An end with bytes before it may be a client that has said all and listens on.
  if (held.length === 0) socket.once('end', leave);
  socket.once('close', leave);
  socket.read(0); // An end is only noticed by reading.
  try {
    const exchange = tunnelExchange(tunnel, controller.signal, deps);
    await dialAndJoin(tunnel, exchange, { deps, settled: () => socket.off('end', leave) });
  } catch (error) {
    const message = `A tunnel could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    turnDown(tunnel, internalError, deps);
  }
}

function tunnelExchange(tunnel: BlindTunnel, signal: AbortSignal, deps: ListenerDeps): Exchange {
  const { address, caller } = tunnel;
  const target = tunnelTarget(address);
  const { policy, lane } = deps.policyFor({
    host: target.host,
    authority: target.authority,
    path: '',
    method: 'CONNECT',
    client: caller.client.name,
    profile: caller.directives.profile,
  });
  const body = NO_BODY;
  const parts = { caller, target, method: 'CONNECT', rawHeaders: [], body, policy, lane, signal };
  return newExchange(parts, deps);
}

async function dialAndJoin(
  tunnel: BlindTunnel,
  exchange: Exchange,
  { deps, settled }: { deps: ListenerDeps; settled: () => void },
): Promise<void> {
  const { clock, emit } = deps;
  const { socket } = tunnel;
  emit({ type: 'exchange_started', at: clock.now(), exchange });
  const delivery = await deps.runTunnel(exchange);
  settled();
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
    turnDown(tunnel, refusal, deps);
    return finish(tunnel.established === 'yes' ? 'broken_off' : refusal.status, NOTHING);
  }
  if (tunnel.established === 'no') socket.write(ESTABLISHED);
  if (tunnel.held.length > 0) far.write(tunnel.held);
  const { timeouts } = exchange.policy;
  const carried = await join(socket, far, { clock, lingerMs: timeouts.lingerMs });
  finish(200, { ...carried, sentBytes: carried.sentBytes + tunnel.held.length });
}

/** A client that has its 200 already can be told nothing any more. */
function turnDown(tunnel: BlindTunnel, refusal: Refusal, { clock, config }: ListenerDeps): void {
  const { lingerMs } = config().policy.timeouts;
  if (tunnel.established === 'yes') tunnel.socket.destroy();
  else rejectSocket(tunnel.socket, refusal, { clock, lingerMs });
}

/** What went through a tunnel, seen from the client. */
export interface Carried {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

const NOTHING: Carried = { sentBytes: 0, receivedBytes: 0 };

/** Both ends silent for so long: the peers are gone without a word. */
const SILENT_MS = 600_000;

/** Joins two sockets until both are done. They end together; a half that ends first may linger while the other still speaks. */
export function join(
  near: Duplex,
  far: Duplex,
  { clock, lingerMs }: { readonly clock: Pick<Clock, 'after'>; readonly lingerMs: number },
): Promise<Carried> {
  const { promise, resolve } = Promise.withResolvers<Carried>();
  let sentBytes = 0;
  let receivedBytes = 0;
  let open = 2;
  let alone = false;
  let halfDone = near.readableEnded || far.readableEnded;
  let seen = '';
  let cancel = () => {};

  const progress = () => {
    const waiting = `${near.writableLength} ${far.writableLength}`;
    return alone ? waiting : `${waiting} ${sentBytes} ${receivedBytes}`;
  };
  const watch = () => {
    cancel();
    seen = progress();
    cancel = clock.after(halfDone ? lingerMs : SILENT_MS, () => {
      if (seen !== progress()) return watch();
      near.destroy();
      far.destroy();
    });
  };
  const onEnd = () => {
    halfDone = true;
    watch();
  };
  const onClose = (closed: Duplex, other: Duplex) => {
    open -= 1;
    if (open === 0) {
      cancel();
      resolve({ sentBytes, receivedBytes });
    } else if (closed.errored || !closed.readableEnded) {
      other.destroy();
    } else {
      // What has arrived is still handed on; what the other still says is for nobody.
      alone = true;
      other.end();
      other.resume();
      onEnd();
    }
  };
  near.on('data', (chunk: Buffer) => {
    sentBytes += chunk.length;
  });
  far.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length;
  });
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy());
    one.once('end', onEnd);
    one.once('close', () => onClose(one, other));
    one.pipe(other);
    if (one.readableEnded) other.end();
  }
  watch();
  return promise;
}
