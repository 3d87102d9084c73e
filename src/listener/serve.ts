import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock, Random } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Policy } from '../core/policy.ts';
import { type ClientBody, createRequestBody } from '../exchange/body.ts';
import type { Flight } from '../exchange/flight.ts';
import type { HeldMemory } from '../exchange/held-memory.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Switched } from '../exchange/upgrade.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Authority } from './authority.ts';
import { type Answered, deliver, type Recipient, refuse, stallMsUnder } from './deliver.ts';
import type { Line, Lines } from './lines.ts';
import { newExchange } from './new-exchange.ts';
import {
  internalError,
  type Refusal,
  requestTimedOut,
  tooManyConnections,
  tooManyPipelined,
  unknownExpectation,
} from './problem.ts';
import { type Asked, readRequest } from './request.ts';

/** What the client side is handed in. */
export interface ListenerDeps {
  /** The current one: a reload changes it. */
  readonly config: () => Config;
  readonly authority: Authority;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /** What request bodies hold, all together. */
  readonly memory: HeldMemory;
  readonly policyFor: (request: {
    readonly host: string;
    readonly authority: string;
    readonly path: string;
    readonly method: string;
    readonly client: string;
    readonly profile: string | undefined;
  }) => { readonly policy: Policy; readonly lane?: string | undefined };
  /** The loop for HTTP. */
  readonly run: (exchange: Exchange) => Promise<Delivery>;
  /** The loop for a blind tunnel; `socket` is its far end, when it stands. */
  readonly runTunnel: (
    exchange: Exchange,
    flight: Flight,
  ) => Promise<Delivery & { readonly socket?: Duplex | undefined }>;
  /** The loop for a request to switch protocols. */
  readonly runUpgrade: (
    exchange: Exchange,
  ) => Promise<Delivery & { readonly switched?: Switched | undefined }>;
  readonly sessionState: (exchange: Exchange) => 'active' | 'burned' | 'expired' | undefined;
}

/** One request on one line, with the reply that belongs to it. */
export interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly line: Line;
  readonly lines: Lines;
  /** `continue`: the client sends its body only after a `100 Continue`. */
  readonly expects: 'nothing' | 'continue' | 'unknown';
  /** Whether connections end with the reply that is next. */
  readonly isDraining: () => boolean;
}

/** Requests that may wait on one connection behind the one that is being served. */
const MAX_PENDING = 100;
/** What is sent ahead beyond that is read on, so that the client gets its answers; not for ever. */
const MAX_SURPLUS = 1000;

/**
 * Serves one HTTP request, whichever way it came in. Those of one connection go one after the other:
 * only safe ones might run at once (RFC 9112 section 9.3.2), and no usual client sends ahead. Never rejects.
 */
export async function serve(visit: Visit, deps: ListenerDeps): Promise<void> {
  const { request, line } = visit;
  const before = line.turn;
  const { promise, resolve: done } = Promise.withResolvers<void>();
  line.turn = promise;
  line.latest = request;
  line.pending += 1;
  const isExcess = line.pending > MAX_PENDING;
  if (line.pending > MAX_SURPLUS) line.raw.destroy();
  if (line.pending > 1) await before;
  if (line.condemned) request.resume();
  else if (isExcess) await turnAway(visit, tooManyPipelined, deps);
  else await answer(visit, deps);
  line.pending -= 1;
  done();
}

async function answer(visit: Visit, deps: ListenerDeps): Promise<void> {
  const { request, response, line, lines } = visit;
  response.sendDate = false;
  if (visit.expects === 'unknown') return turnAway(visit, unknownExpectation, deps);
  if (request.httpVersion === '1.0') response.shouldKeepAlive = false;
  // Behind an upgrade that is not performed the parser drops what came in the same packet.
  if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
  const read = readRequest(request, line, deps.config());
  if (read.kind === 'refused') return turnAway(visit, read.refusal, deps);
  const { clientConnections } = deps.config().limits;
  if (line.channel === undefined) {
    const open = lines.claim(line, read.value.caller.client.name);
    if (open > clientConnections) return turnAway(visit, tooManyConnections, deps);
  }
  try {
    await carry(visit, read.value, deps);
  } catch (error) {
    const message = `A request could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    if (response.headersSent) line.raw.destroy();
    else await turnAway(visit, internalError, deps);
  }
}

/** Takes the body in, runs the exchange and hands its answer back; whatever it held is let go at the end. */
async function carry(visit: Visit, asked: Asked, deps: ListenerDeps): Promise<void> {
  const { request, response, line } = visit;
  const { policy, lane } = deps.policyFor({
    host: asked.target.host,
    authority: asked.target.authority,
    path: asked.target.path,
    method: asked.method,
    client: asked.caller.client.name,
    profile: asked.caller.directives.profile,
  });
  const controller = new AbortController();
  const leave = () => controller.abort();
  line.running.add(leave);
  const body = createRequestBody(request, {
    length: asked.bodyLength,
    capBytes: policy.replayBodyBytes,
    memory: deps.memory,
    clock: deps.clock,
    idleMs: policy.timeouts.idleMs,
    awaitsContinue: visit.expects === 'continue',
    onWanted: () => {
      if (visit.expects === 'continue' && !response.headersSent) response.writeContinue();
    },
    onFailed: () => {
      if (!response.headersSent) leave();
    },
  });
  try {
    // A client that never sends, or sends nonsense, must not cost an attempt.
    if (visit.expects === 'nothing') await body.started;
    if (body.state === 'stalled') return await turnAway(visit, requestTimedOut, deps);
    if (controller.signal.aborted) return;
    const { signal } = controller;
    const exchange = newExchange({ ...asked, body, policy, lane, signal }, deps);
    await conduct(exchange, { visit, body, asked }, deps);
  } catch (error) {
    leave(); // What the exchange still held is let go, whatever broke.
    throw error;
  } finally {
    line.running.delete(leave);
    body.release();
    await settleUpload(visit, deps.clock, policy.timeouts.lingerMs);
  }
}

interface Conduct {
  readonly visit: Visit;
  readonly body: ClientBody;
  readonly asked: Asked;
}

async function conduct(
  exchange: Exchange,
  { visit, body, asked }: Conduct,
  deps: ListenerDeps,
): Promise<void> {
  const { clock, emit } = deps;
  emit({ type: 'exchange_started', at: clock.now(), exchange });
  const delivery = await deps.run(exchange);
  let answered: Answered = 'client_gone';
  if (!exchange.signal.aborted) {
    const recipient = recipientOf(visit, exchange.policy, { deps, body });
    const { session } = asked.caller.directives;
    const sessionState = session === undefined ? undefined : deps.sessionState(exchange);
    answered = await deliver(delivery, exchange, {
      ...recipient,
      sessionId: session,
      sessionState,
    });
  } else {
    delivery.received?.discard();
    if (body.state === 'stalled') {
      const recipient = recipientOf(visit, exchange.policy, { deps, body });
      await refuse(recipient, requestTimedOut, undefined);
      answered = requestTimedOut.status;
    }
  }
  emit({
    type: 'exchange_finished',
    at: clock.now(),
    exchange,
    delivery,
    answered,
    sentBytes: delivery.received?.sentBytes ?? 0,
    receivedBytes: delivery.received?.receivedBytes ?? 0,
  });
}

/** Answers a request that never becomes an exchange. */
export async function turnAway(visit: Visit, refusal: Refusal, deps: ListenerDeps): Promise<void> {
  const { status, reason, detail } = refusal;
  deps.emit({ type: 'request_refused', at: deps.clock.now(), status, reason, detail });
  if (refusal.closes === true) visit.line.condemned = true;
  const { policy } = deps.config();
  await refuse(recipientOf(visit, policy, { deps, body: undefined }), refusal, undefined);
  await settleUpload(visit, deps.clock, policy.timeouts.lingerMs);
}

function recipientOf(
  visit: Visit,
  policy: Policy,
  { deps, body }: { readonly deps: ListenerDeps; readonly body: ClientBody | undefined },
): Recipient {
  const { clock } = deps;
  const { request, response, line } = visit;
  return {
    response,
    clock,
    stallMs: stallMsUnder(policy),
    sessionId: undefined,
    sessionState: undefined,
    onHead: () => {
      line.answering += 1;
      response.once('close', () => {
        line.answering -= 1;
      });
      if (visit.isDraining()) response.shouldKeepAlive = false;
      // Whether the body still comes is the client's choice now, so the next request could not be told from it.
      if (visit.expects !== 'nothing' && !request.complete) response.shouldKeepAlive = false;
    },
    beforeEnd: async () => {
      body?.release();
      if (!response.shouldKeepAlive && visit.expects === 'nothing') {
        await settleUpload(visit, clock, policy.timeouts.lingerMs);
      }
    },
    cutOff: () => line.raw.resetAndDestroy(),
  };
}

/**
 * Lets the rest of an upload go by, for a while: closing on a client that still sends resets the connection,
 * and takes the reply away from it; and a connection is of no use before the request on it has ended.
 */
function settleUpload(visit: Visit, clock: Pick<Clock, 'after'>, lingerMs: number): Promise<void> {
  const { request, line } = visit;
  if (request.complete || request.socket.destroyed) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const settle = () => {
    cancel();
    request.off('end', settle);
    line.running.delete(settle);
    resolve();
  };
  const cancel = clock.after(lingerMs, () => {
    if (visit.response.writableEnded) line.raw.destroy();
    settle();
  });
  request.once('end', settle);
  line.running.add(settle);
  request.resume();
  return promise;
}
