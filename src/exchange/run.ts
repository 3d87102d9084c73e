import type { Clock, Random } from '../clock.ts';
import type { Action, Ledger } from '../core/action.ts';
import type { Judge } from '../core/classify.ts';
import { decide } from '../core/decide.ts';
import { begin, charge, newLedger } from '../core/ledger.ts';
import type { Emit } from '../telemetry/events.ts';
import { accountFor } from './account.ts';
import { untilStopped } from './drain.ts';
import { type Attempted, endOf, gaveUp, interrupted } from './ending.ts';
import type { Evidence } from './evidence.ts';
import { judge, progressOf } from './judgement.ts';
import type { Pages } from './pages.ts';
import { placeFor } from './place.ts';
import type { Attempt, Delivery, Exchange, Lane, Received, Routes } from './ports.ts';
import { resuming } from './resume.ts';

export interface Deps {
  readonly laneFor: (exchange: Exchange) => Lane;
  readonly routes: Routes;
  readonly attempt: Attempt;
  readonly evidence: Evidence;
  readonly tools: Judge['tools'];
  /** What lanes remember of their pages; without it nothing is learned. */
  readonly pages?: Pages;
  readonly clock: Clock;
  /** Wall time in epoch ms, for the dates that sites send. */
  readonly wall: () => number;
  readonly random: Random;
  readonly emit: Emit;
  /** Fires when the proxy stops: no backoff is sat out any more. */
  readonly stopping?: AbortSignal;
}

/**
 * Carries one client request to one final answer: admit, route, attempt, classify, decide, again.
 * Every judgement is made in core/; this loop only does what was decided.
 */
export async function runExchange(exchange: Exchange, deps: Deps): Promise<Delivery> {
  const { routes, clock } = deps;
  const lane = deps.laneFor(exchange);
  let ledger = newLedger;
  let last: Attempted | undefined;
  let refund: (() => void) | undefined;

  for (;;) {
    const askedAt = clock.now();
    const start = await placeFor(exchange, lane, routes, ledger);
    if (start.kind === 'no') {
      refund?.();
      return gaveUp(start.why.stop, last, ledger, start.why);
    }
    const { place, route } = start;
    const sentAt = clock.now();
    ledger = begin(ledger, route.id, sentAt - askedAt);
    const watch = deps.evidence.begin(exchange, lane.id, route);
    const received = await deps.attempt(exchange, route, place.again);
    watch.end(received.reply);
    void (received.released ?? received.closed).then(place.release); // The slot is held until the body ends.
    const n = ledger.attempts;
    const account = accountFor({ exchange, lane, route, n, received }, deps);
    const cutOff = interrupted(exchange, { received, route, verdict: undefined }, last, ledger);
    if (cutOff) return cutOff;

    last?.received.discard();
    const { verdict, by } = judge(received, watch, { exchange, lane, route }, deps);
    account(verdict);
    last = { received, route, verdict };
    lane.record({ exchange, admission: place.admission, verdict, route });
    routes.record({ exchange, laneId: lane.id, route, verdict, headMs: headMs(received) });

    const progress = progressOf(exchange, lane, ledger, last, deps);
    const action = decide(verdict, progress, exchange.policy);
    deps.emit({
      type: 'attempt_finished',
      at: clock.now(),
      exchange,
      lane: lane.id,
      n,
      route,
      ...told(received),
      verdict,
      action,
      basis: { judge: by, progress, retriesLeft: lane.retriesLeft },
      durationMs: clock.now() - sentAt,
    });
    if (action.kind === 'burn') routes.burn(exchange);
    if (action.kind !== 'wait' && action.kind !== 'rotate') {
      return resuming(endOf(action, last, ledger), { ...deps, exchange, lane });
    }
    refund = action.charged ? lane.withdraw() : undefined;
    ledger = await again(action, exchange, ledger, last, deps);
  }
}

/** Books the action, lets the failed reply go, and sits out a backoff; a throttle is sat out in the lane's pause. */
async function again(
  action: Extract<Action, { kind: 'wait' | 'rotate' }>,
  exchange: Exchange,
  ledger: Ledger,
  last: Attempted,
  deps: Deps,
): Promise<Ledger> {
  const { reply } = last.received;
  // A failure that says so itself may still become the answer; a page that lies may not.
  if (reply.kind === 'response' && reply.status >= 400) last.received.keep();
  else last.received.discard();

  const charged = charge(ledger, action, last.route);
  if (action.kind === 'rotate' || action.ledger === 'rate') return charged;
  const { clock } = deps;
  const sinceAt = clock.now();
  exchange.stage = { kind: 'backoff', sinceAt, untilAt: sinceAt + action.delayMs };
  await clock.sleep(action.delayMs, untilStopped(exchange.signal, deps.stopping));
  return { ...charged, waitedMs: charged.waitedMs + clock.now() - sinceAt };
}

const told = ({ reply, sentBytes, receivedBytes }: Received) => ({
  reply,
  sentBytes,
  receivedBytes,
});

const headMs = ({ reply }: Received): number | undefined =>
  reply.kind === 'response' ? reply.headMs : undefined;
