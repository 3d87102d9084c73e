import { createHash } from 'node:crypto';
import type { ServerHttp2Stream } from 'node:http2';
import type { Random } from '../clock.ts';
import { fieldValue, type RawHeaders } from '../core/fields.ts';
import { keep, replyHeaders } from '../exchange/headers.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Switched } from '../exchange/upgrade.ts';
import { type Answered, deliver, refuse, stallMsUnder } from './deliver.ts';
import { informing } from './interim.ts';
import { join } from './join.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { newExchange } from './new-exchange.ts';
import { noBody } from './no-body.ts';
import { badHandshake, internalError, unknownProtocol } from './problem.ts';
import type { Asked } from './request.ts';
import { turnAway, type Visit } from './visit.ts';

/** An extended CONNECT: a stream that is to become a socket (RFC 8441). */
export interface H2Wish {
  readonly stream: ServerHttp2Stream;
  readonly visit: Visit;
  readonly asked: Asked;
  readonly protocol: string;
  /** Resets the stream at once, whatever is not written yet. */
  readonly reset: () => void;
}

/** Made into an accept by both ends (RFC 6455 section 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** Opens a WebSocket for a stream; towards the site it is the upgrade of HTTP/1.1. Never rejects. */
export async function serveSocket(wish: H2Wish, deps: ListenerDeps): Promise<void> {
  const { visit, asked } = wish;
  if (wish.protocol.toLowerCase() !== 'websocket') return turnAway(visit, unknownProtocol, deps);
  const { target, caller } = asked;
  const { policy, lane } = deps.policyFor({
    host: target.host,
    authority: target.authority,
    path: target.path,
    method: 'GET',
    client: caller.client.name,
    profile: caller.directives.profile,
  });
  const controller = new AbortController();
  const stay = visit.onGone(() => controller.abort());
  try {
    const key = newKey(deps.random);
    const exchange = newExchange(
      {
        ...asked,
        method: 'GET',
        rawHeaders: handshakeOf(asked.rawHeaders, key),
        wording: undefined,
        body: noBody,
        policy,
        lane,
        signal: controller.signal,
        inform: informing(visit.outlet),
      },
      deps,
    );
    await conduct(wish, exchange, key, deps);
  } catch (error) {
    controller.abort();
    const message = `An upgrade could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    if (visit.outlet.headSent) visit.outlet.cutOff();
    else await turnAway(visit, internalError, deps);
  } finally {
    stay();
    await visit.settle(policy.timeouts.lingerMs);
  }
}

/** 16 bytes that nobody could have known before (RFC 6455 section 4.1). */
function newKey(random: Random): string {
  return Buffer.from(Array.from({ length: 16 }, () => Math.floor(random() * 256))).toString(
    'base64',
  );
}

/** The fields of the stream's head as HTTP/1.1 asks for the same. */
function handshakeOf(rawHeaders: RawHeaders, key: string): string[] {
  const own = keep(rawHeaders, (name) => !/^sec-websocket-(?:key|accept)$/.test(name));
  const version = fieldValue(own, 'sec-websocket-version') === undefined;
  return [
    ...own.slice(0, 2),
    ...['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Key', key],
    ...(version ? ['Sec-WebSocket-Version', '13'] : []),
    ...own.slice(2),
  ];
}

async function conduct(
  wish: H2Wish,
  exchange: Exchange,
  key: string,
  deps: ListenerDeps,
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
  if (exchange.signal.aborted) {
    switched?.socket.destroy();
    received?.discard();
  } else if (switched === undefined) {
    answered = await reply(wish, exchange, delivery, deps);
  } else {
    const fields = headOf(delivery);
    if (fieldValue(fields, 'sec-websocket-accept') === acceptOf(key)) {
      answered = 200;
      carried = await carry(wish, switched, { exchange, fields, deps });
    } else {
      switched.socket.destroy();
      answered = await refuse(recipientOf(wish, exchange, deps), badHandshake, undefined);
    }
  }
  emit({ type: 'exchange_finished', at: clock.now(), exchange, delivery, answered, ...carried });
}

const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}${GUID}`).digest('base64');

function headOf({ received }: Delivery): RawHeaders {
  return received?.reply.kind === 'response' ? received.reply.rawHeaders : [];
}

/** The 101 as HTTP/2 says it, then bytes of which nothing is known, until both ends are done. */
function carry(
  { stream, visit, reset }: H2Wish,
  { socket, rest }: Switched,
  { exchange, fields, deps }: Carrying,
) {
  const kept = keep(
    replyHeaders(fields, 101),
    (name) => !/^(?:sec-websocket-accept|content-length)$/.test(name),
  );
  visit.outlet.head(200, undefined, kept);
  if (rest.length > 0) socket.unshift(rest);
  // A reset on one side is one on the other (RFC 8441 section 5.3).
  socket.on('error', reset);
  stream.on('aborted', () => socket.destroy());
  const silentMs = deps.config().limits.tunnelIdleMs;
  return join(stream, socket, { clock: deps.clock, exchange, silentMs });
}

interface Carrying {
  readonly exchange: Exchange;
  readonly fields: RawHeaders;
  readonly deps: ListenerDeps;
}

function reply(
  wish: H2Wish,
  exchange: Exchange,
  delivery: Delivery,
  deps: ListenerDeps,
): Promise<Answered> {
  const { session } = wish.asked.caller.directives;
  return deliver(delivery, exchange, {
    ...recipientOf(wish, exchange, deps),
    sessionId: session,
    sessionState: session === undefined ? undefined : deps.sessionState(exchange),
  });
}

function recipientOf({ visit }: H2Wish, { policy }: Exchange, { clock }: ListenerDeps) {
  return {
    outlet: visit.outlet,
    clock,
    stallMs: stallMsUnder(policy),
    sessionId: undefined,
    sessionState: undefined,
    onHead: () => {},
    beforeEnd: async () => {},
  };
}
