import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import { asksForSwitch, type Switched, switchingHeaders } from '../exchange/upgrade.ts';
import { type Answered, deliver, type Recipient, stallMsUnder } from './deliver.ts';
import type { Gate } from './intercept.ts';
import { informing } from './interim.ts';
import { type Joining, join } from './join.ts';
import type { Line } from './lines.ts';
import { newExchange } from './new-exchange.ts';
import { noBody } from './no-body.ts';
import type { Outlet } from './outlet.ts';
import { outletH1 } from './outlet-h1.ts';
import { internalError, type Refusal, tooManyConnections, tooManyTunnels } from './problem.ts';
import { lingerThenDestroy } from './reject.ts';
import { type Asked, readRequest } from './request.ts';
import { visitOf } from './serve.ts';
import { turnAway } from './visit.ts';

/**
 * Whether a request's wish for another protocol is heard. If not, it is served without (RFC 9110 section 7.8):
 * HTTP/2 is not spoken here, a body would have to be told from the other protocol, and replies that are still
 * owed on the connection come first.
 */
export function mayUpgrade(request: IncomingMessage, line: Line | undefined): boolean {
  const { headers, rawHeaders, httpVersion } = request;
  const hasBody =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (line === undefined || line.pending > 0 || httpVersion !== '1.1' || hasBody) return false;
  return asksForSwitch(rawHeaders);
}

/** A request to switch protocols, on a connection that no HTTP parser reads any more. */
interface Wish {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** What the client said right behind its request. */
  readonly head: Buffer;
  readonly line: Line;
}

/** Takes a request to switch protocols; whatever comes of it, the connection carries no other request. Never rejects. */
export async function onUpgrade(
  request: IncomingMessage,
  { socket, head }: { readonly socket: Socket; readonly head: Buffer },
  gate: Gate,
): Promise<void> {
  const { deps, lines } = gate;
  const line = lines.of(socket);
  if (line === undefined || line.condemned) return void socket.destroy();
  line.condemned = true;
  const response = responseOn(request, socket);
  const wish: Wish = { request, response, socket, head, line };
  try {
    await serveWish(wish, gate);
  } catch (error) {
    const message = `An upgrade could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    if (response.headersSent || response.socket === null) socket.destroy();
    else await refuseWish(wish, internalError, gate);
  }
  if (response.socket === null) return;
  response.detachSocket(socket);
  socket.end();
  const { lingerMs } = deps.config().policy.timeouts;
  if (!socket.destroyed) lingerThenDestroy(socket, { clock: deps.clock, lingerMs });
}

async function serveWish(wish: Wish, gate: Gate): Promise<void> {
  const { request, line } = wish;
  const { deps, lines } = gate;
  const config = deps.config();
  const read = readRequest(request, line, config);
  if (read.kind === 'refused') return refuseWish(wish, read.refusal, gate);
  if (line.channel === undefined) {
    const { clientConnections, tunnels } = config.limits;
    const open = lines.claim(line, read.value.caller.client.name);
    if (open > clientConnections) return refuseWish(wish, tooManyConnections, gate);
    if (lines.tunnels >= tunnels) return refuseWish(wish, tooManyTunnels, gate);
    lines.addTunnel(line.raw);
  }
  const controller = new AbortController();
  const leave = () => controller.abort();
  line.running.add(leave);
  wish.socket.once('end', leave);
  wish.socket.read(0); // An end is only noticed by reading.
  try {
    const exchange = exchangeFor(wish, read.value, { deps, signal: controller.signal });
    await conduct(wish, exchange, {
      deps,
      asked: read.value,
      settled: () => wish.socket.off('end', leave),
    });
  } finally {
    line.running.delete(leave);
    wish.socket.off('end', leave);
  }
}

function exchangeFor(
  wish: Wish,
  asked: Asked,
  { deps, signal }: { readonly deps: Gate['deps']; readonly signal: AbortSignal },
): Exchange {
  const { policy, lane } = deps.policyFor({
    host: asked.target.host,
    authority: asked.target.authority,
    path: asked.target.path,
    method: asked.method,
    client: asked.caller.client.name,
    profile: asked.caller.directives.profile,
  });
  const rawHeaders = switchingHeaders(wish.request.rawHeaders, asked.rawHeaders);
  const inform = informing(outletOf(wish));
  return newExchange({ ...asked, rawHeaders, body: noBody, policy, lane, signal, inform }, deps);
}

async function conduct(
  wish: Wish,
  exchange: Exchange,
  { deps, asked, settled }: { deps: Gate['deps']; asked: Asked; settled: () => void },
): Promise<void> {
  const { clock, emit } = deps;
  emit({ type: 'exchange_started', at: clock.now(), exchange });
  const delivery = await deps.runUpgrade(exchange);
  const { switched, received } = delivery;
  let answered: Answered = 'client_gone';
  let carried = {
    sentBytes: received?.sentBytes ?? 0,
    receivedBytes: received?.receivedBytes ?? 0,
  };
  if (exchange.signal.aborted || wish.socket.destroyed) {
    received?.discard();
  } else if (switched === undefined) {
    answered = await reply(wish, exchange, { delivery, asked, deps });
  } else {
    settled();
    answered = 101;
    const silentMs = deps.config().limits.tunnelIdleMs;
    carried = await carry(wish, switched, { exchange, clock, silentMs });
  }
  emit({ type: 'exchange_finished', at: clock.now(), exchange, delivery, answered, ...carried });
}

/** The 101 as it came, then bytes of which nothing is known, both ways, until both ends are done. */
async function carry(
  { response, socket, head }: Wish,
  switched: Switched,
  { exchange, clock, silentMs }: Joining,
) {
  const far = switched.socket;
  response.detachSocket(socket);
  socket.write(switched.head);
  if (switched.rest.length > 0) far.unshift(switched.rest);
  if (head.length > 0) far.write(head);
  const carried = await join(socket, far, { clock, exchange, silentMs });
  return { ...carried, sentBytes: carried.sentBytes + head.length };
}

const outletOf = ({ request, response, line }: Wish): Outlet =>
  outletH1(request, response, () => line.raw.resetAndDestroy());

function reply(
  wish: Wish,
  exchange: Exchange,
  { delivery, asked, deps }: { delivery: Delivery; asked: Asked; deps: Gate['deps'] },
): Promise<Answered> {
  const { session } = asked.caller.directives;
  const recipient: Recipient = {
    outlet: outletOf(wish),
    clock: deps.clock,
    stallMs: stallMsUnder(exchange.policy),
    sessionId: session,
    sessionState: session === undefined ? undefined : deps.sessionState(exchange),
    onHead: () => {},
    beforeEnd: async () => {},
  };
  return deliver(delivery, exchange, recipient);
}

async function refuseWish(
  { request, response, line }: Wish,
  refusal: Refusal,
  { deps }: Gate,
): Promise<void> {
  const turn = { request, response, line, expects: 'nothing', isDraining: () => true } as const;
  await turnAway(visitOf(turn, deps.clock), refusal, deps);
}

/** An ordinary reply on a socket that the HTTP server has let go; it is the last one there. */
function responseOn(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.sendDate = false;
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  // Node's server would have told it.
  socket.on('drain', () => response.emit('drain'));
  return response;
}
