import { type BodySource, type ClientBody, createRequestBody } from '../exchange/body.ts';
import type { Exchange } from '../exchange/ports.ts';
import { type Answered, deliver, type Recipient, refuse, stallMsUnder } from './deliver.ts';
import { informing } from './interim.ts';
import type { Line } from './lines.ts';
import type { ListenerDeps } from './listener-deps.ts';
import { newExchange } from './new-exchange.ts';
import type { Outlet } from './outlet.ts';
import { internalError, type Refusal, requestTimedOut } from './problem.ts';
import type { Asked } from './request.ts';

/** One request of a client with the reply that belongs to it, in whichever version of HTTP. */
export interface Visit {
  readonly line: Line;
  readonly source: BodySource;
  readonly outlet: Outlet;
  readonly overH2: boolean;
  /** `continue`: the client sends its body only after a `100 Continue`. */
  readonly expects: 'nothing' | 'continue' | 'unknown';
  /** Called with what ends the exchange when the client goes; returns how to call that off. */
  readonly onGone: (leave: () => void) => () => void;
  /** Called just before the head goes out. */
  readonly onHead: () => void;
  /** Settles when the reply may end. */
  readonly beforeEnd: (lingerMs: number) => Promise<void>;
  /** Settles when nothing of the request is under way any more. */
  readonly settle: (lingerMs: number) => Promise<void>;
}

/** Serves a request whose head has been read. Never rejects. */
export async function attend(visit: Visit, asked: Asked, deps: ListenerDeps): Promise<void> {
  try {
    await carry(visit, asked, deps);
  } catch (error) {
    const message = `A request could not be served: ${(error as Error).stack ?? error}`;
    deps.emit({ type: 'notice', at: deps.clock.now(), level: 'error', message });
    if (visit.outlet.headSent) visit.outlet.cutOff();
    else await turnAway(visit, internalError, deps);
  }
}

/** Answers a request that never becomes an exchange. */
export async function turnAway(visit: Visit, refusal: Refusal, deps: ListenerDeps): Promise<void> {
  const { status, reason, detail } = refusal;
  deps.emit({ type: 'request_refused', at: deps.clock.now(), status, reason, detail });
  // Streams have frames of their own: what is wrong with one is nothing to the others.
  if (refusal.closes === true && !visit.overH2) visit.line.condemned = true;
  const { policy } = deps.config();
  await refuse(recipientOf(visit, policy, { deps, body: undefined }), refusal, undefined);
  await visit.settle(policy.timeouts.lingerMs);
}

/** Takes the body in, runs the exchange and hands its answer back; whatever it held is let go at the end. */
async function carry(visit: Visit, asked: Asked, deps: ListenerDeps): Promise<void> {
  const { outlet } = visit;
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
  const stay = visit.onGone(leave);
  const body = createRequestBody(visit.source, {
    length: asked.bodyLength,
    capBytes: policy.replayBodyBytes,
    memory: deps.memory,
    clock: deps.clock,
    idleMs: policy.timeouts.idleMs,
    awaitsContinue: visit.expects === 'continue',
    onWanted: () => {
      if (visit.expects === 'continue' && !outlet.headSent) outlet.sendContinue();
    },
    onFailed: () => {
      if (!outlet.headSent) leave();
    },
  });
  try {
    // A client that never sends, or sends nonsense, must not cost an attempt.
    if (visit.expects === 'nothing') await body.started;
    if (body.state === 'stalled') return await turnAway(visit, requestTimedOut, deps);
    if (controller.signal.aborted) return;
    const { signal } = controller;
    const { overH2 } = visit;
    const inform = informing(outlet);
    const parts = { ...asked, body, policy, lane, signal, overH2, inform };
    await conduct(newExchange(parts, deps), { visit, body, asked }, deps);
  } catch (error) {
    leave(); // What the exchange still held is let go, whatever broke.
    throw error;
  } finally {
    stay();
    body.release();
    await visit.settle(policy.timeouts.lingerMs);
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

function recipientOf(
  visit: Visit,
  policy: Exchange['policy'],
  { deps, body }: { readonly deps: ListenerDeps; readonly body: ClientBody | undefined },
): Recipient {
  return {
    outlet: visit.outlet,
    clock: deps.clock,
    stallMs: stallMsUnder(policy),
    sessionId: undefined,
    sessionState: undefined,
    onHead: visit.onHead,
    beforeEnd: async () => {
      body?.release();
      await visit.beforeEnd(policy.timeouts.lingerMs);
    },
  };
}
