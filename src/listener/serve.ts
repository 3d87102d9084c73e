import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { Line, Lines } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { outletH1 } from './outlet-h1.ts';
import { tooManyConnections, tooManyPipelined, unknownExpectation } from './problem.ts';
import { readRequest } from './request.ts';
import { attend, turnAway, type Visit } from './visit.ts';

/** One HTTP/1 request on one line, with the reply that belongs to it. */
export interface Turn {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly line: Line;
  readonly expects: Visit['expects'];
  /** Whether connections end with the reply that is next. */
  readonly isDraining: () => boolean;
}

/** Requests that may wait on one connection behind the one that is being served. */
const MAX_PENDING = 100;
/** What is sent ahead beyond that is read on, so that the client gets its answers; not for ever. */
const MAX_SURPLUS = 1000;

/**
 * Serves one HTTP/1 request, whichever way it came in. Those of one connection go one after the other:
 * only safe ones might run at once (RFC 9112 section 9.3.2), and no usual client sends ahead. Never rejects.
 */
export async function serve(turn: Turn, lines: Lines, deps: ListenerDeps): Promise<void> {
  const { request, line } = turn;
  const before = line.turn;
  const { promise, resolve: done } = Promise.withResolvers<void>();
  line.turn = promise;
  line.before = before;
  line.latest = request;
  line.pending += 1;
  const isExcess = line.pending > MAX_PENDING;
  if (line.pending > MAX_SURPLUS) line.raw.destroy();
  if (line.pending > 1) await before;
  // What broke off while it waited is answered by whoever found it broken.
  const isBroken = line.spoilt && line.latest === request && !request.complete;
  if (line.condemned || isBroken) request.resume();
  else if (isExcess) await turnAway(visitOf(turn, deps.clock), tooManyPipelined, deps);
  else await answer(turn, lines, deps);
  line.pending -= 1;
  done();
}

async function answer(turn: Turn, lines: Lines, deps: ListenerDeps): Promise<void> {
  const { request, response, line } = turn;
  const visit = visitOf(turn, deps.clock);
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
  return attend(visit, read.value, deps);
}

/** The same as a visit like any other. */
export function visitOf(turn: Turn, clock: Pick<Clock, 'after'>): Visit {
  const { request, response, line, expects } = turn;
  return {
    line,
    source: request,
    outlet: outletH1(request, response, () => line.raw.resetAndDestroy()),
    overH2: false,
    expects,
    onGone: (leave) => {
      line.running.add(leave);
      return () => void line.running.delete(leave);
    },
    onHead: () => {
      line.told = request;
      line.answering += 1;
      response.once('close', () => {
        line.answering -= 1;
      });
      if (turn.isDraining()) response.shouldKeepAlive = false;
      // Whether the body still comes is the client's choice now, so the next request could not be told from it.
      if (expects !== 'nothing' && !request.complete) response.shouldKeepAlive = false;
    },
    beforeEnd: async (lingerMs) => {
      if (!response.shouldKeepAlive && expects === 'nothing') {
        await settleUpload(turn, clock, lingerMs);
      }
    },
    settle: (lingerMs) => settleUpload(turn, clock, lingerMs),
  };
}

/**
 * Lets the rest of an upload go by, for a while: closing on a client that still sends resets the connection,
 * and takes the reply away from it; and a connection is of no use before the request on it has ended.
 */
function settleUpload(turn: Turn, clock: Pick<Clock, 'after'>, lingerMs: number): Promise<void> {
  const { request, line } = turn;
  if (request.complete || request.socket.destroyed) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const settle = () => {
    cancel();
    request.off('end', settle);
    line.running.delete(settle);
    resolve();
  };
  const cancel = clock.after(lingerMs, () => {
    if (turn.response.writableEnded) line.raw.destroy();
    settle();
  });
  request.once('end', settle);
  line.running.add(settle);
  request.resume();
  return promise;
}
