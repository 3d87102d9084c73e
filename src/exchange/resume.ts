import type { Action, Ledger, Stop } from '../core/action.ts';
import { decide } from '../core/decide.ts';
import { explainStop, sight } from '../core/explain.ts';
import { begin, charge, newLedger } from '../core/ledger.ts';
import {
  askingForRest,
  type Beginning,
  beginningOf,
  explainMisfit,
  type Fit,
  fitOf,
} from '../core/resume.ts';
import type { Verdict } from '../core/verdict.ts';
import { accountFor } from './account.ts';
import { type Break, Download, type Rest } from './download.ts';
import { untilStopped } from './drain.ts';
import type { Attempted } from './ending.ts';
import type { Watch } from './evidence.ts';
import { judge, progressOf } from './judgement.ts';
import type { Admission, Delivery, Exchange, Lane, Received, Route } from './ports.ts';
import type { Deps } from './run.ts';

interface Context extends Deps {
  readonly exchange: Exchange;
  readonly lane: Lane;
}

/** Lets a download that breaks off under way go on where it ended, if that can be done without a doubt. */
export function resuming(delivery: Delivery, context: Context): Delivery {
  const { received, route, stop, ledger } = delivery;
  const { exchange, wall, clock } = context;
  const { reply, response } = received ?? {};
  if (reply?.kind !== 'response' || !response || !received || !route) return delivery;
  if (stop !== undefined || !exchange.policy.resumeDownloads) return delivery;
  if (exchange.retry === 'off' || exchange.body.present) return delivery;
  // What has come as a whole cannot break off any more.
  if (reply.body.kind === 'seen' && reply.body.end === 'complete') return delivery;
  const beginning = beginningOf(exchange, reply, wall());
  if (beginning === undefined) return delivery;

  const resumption = new Resumption({ ...context, beginning, route, attempts: ledger.attempts });
  const download: Download = new Download({
    first: received,
    response,
    totalBytes: beginning.totalBytes,
    now: clock.now,
    findRest: (broke) => resumption.find(broke, (part) => download.count(part)),
  });
  return {
    ...delivery,
    received: download,
    // As far as the books go by when they are read: the head goes out long before the end.
    get ledger() {
      return resumption.added(ledger);
    },
  };
}

type Wait = Extract<Action, { kind: 'wait' }>;
type Place =
  | {
      readonly kind: 'yes';
      readonly admission: Admitted;
      readonly route: Route;
      readonly waitedMs: number;
    }
  | { readonly kind: 'no'; readonly stop: Stop };
type Admitted = Extract<Admission, { kind: 'admitted' }>;

/**
 * The search for the rest of one download, under the whole discipline of the loop: the break is a
 * transient failure, each question for the rest waits for the lane and is charged like a retry. The
 * address is never swapped: what another one would send need not be the same document.
 */
class Resumption {
  readonly #o: Context & {
    readonly beginning: Beginning;
    readonly route: Route;
    readonly attempts: number;
  };
  /** Of all resumptions of this download; the tries that led to its beginning are not counted in. */
  #ledger: Ledger = newLedger;

  constructor(o: Context & { beginning: Beginning; route: Route; attempts: number }) {
    this.#o = o;
  }

  /** The books of the exchange with those of its resumptions. */
  added(ledger: Ledger): Ledger {
    const { attempts, rateWaits, transientRetries, waitedMs } = this.#ledger;
    return {
      ...ledger,
      attempts: ledger.attempts + attempts,
      rateWaits: ledger.rateWaits + rateWaits,
      transientRetries: ledger.transientRetries + transientRetries,
      waitedMs: ledger.waitedMs + waitedMs,
    };
  }

  async find(broke: Break, count: (part: Received) => void): Promise<Rest> {
    const { exchange, routes, route, lane, beginning } = this.#o;
    const ask = askFor(exchange, beginning, broke);
    let last: Attempted = { received: broke.part, route, verdict: undefined };
    let verdict: Verdict = cutShort(broke.offset);
    let fit: Fit | undefined;
    let action = this.#decide(verdict, ask, last);
    while (action.kind === 'wait') {
      const place = await this.#place(action, ask);
      if (place.kind === 'no') return this.#lost(broke, place.stop, explainStop(place.stop));
      const { received, watch, account } = await this.#attempt(ask, place);
      count(received);
      const cutOff = interruption(ask, received);
      if (cutOff) return this.#lost(broke, cutOff, explainStop(cutOff));

      verdict = judge(received, watch, { exchange: ask, lane, route }, this.#o).verdict;
      account(verdict);
      last = { received, route, verdict };
      fit = fitOfReply(beginning, broke.offset, received);
      action = this.#record(ask, place, last, { verdict, fit });
      const rest = this.#accepted(broke, received, verdict, fit);
      if (rest) return rest;
      received.discard();
    }
    if (action.kind === 'burn') routes.burn(exchange);
    if (action.kind !== 'fail') return this.#refused(broke, last.received, verdict, fit);
    const seen = sight(verdict.evidence);
    return this.#lost(broke, action.stop, `${seen}; ${explainStop(action.stop)}`);
  }

  /** As inside a session: it is this address, or none. */
  #decide(verdict: Verdict, ask: Exchange, last: Attempted): Action {
    const progress = progressOf(ask, this.#o.lane, this.#ledger, last, this.#o);
    const action = decide(verdict, { ...progress, inSession: true }, ask.policy);
    if (action.kind !== 'burn' || ask.session !== undefined) return action;
    return { kind: 'fail', stop: 'no_route' };
  }

  /** Pays, backs off, and waits for the lane's word; what was paid for nothing is given back. */
  async #place(action: Wait, ask: Exchange): Promise<Place> {
    const { lane, routes, route, clock } = this.#o;
    const refund = action.charged ? lane.withdraw() : undefined;
    this.#ledger = charge(this.#ledger, action, route);
    const sinceAt = clock.now();
    if (action.ledger !== 'rate') {
      ask.stage = { kind: 'backoff', sinceAt, untilAt: sinceAt + action.delayMs };
      await clock.sleep(action.delayMs, untilStopped(ask.signal, this.#o.stopping));
    }
    const admission = await lane.admit(ask);
    if (admission.kind === 'refused') {
      refund?.();
      return { kind: 'no', stop: admission.stop };
    }
    const choice = routes.choose(ask, lane.id, this.#ledger);
    if (choice.kind === 'route' && choice.route.id === route.id) {
      return { kind: 'yes', admission, route: choice.route, waitedMs: clock.now() - sinceAt };
    }
    admission.release();
    refund?.();
    return { kind: 'no', stop: choice.kind === 'none' ? choice.stop : 'no_route' };
  }

  async #attempt(
    ask: Exchange,
    { admission, route, waitedMs }: Extract<Place, { kind: 'yes' }>,
  ): Promise<{ received: Received; watch: Watch; account: (verdict: Verdict) => void }> {
    const { attempt, evidence, lane } = this.#o;
    this.#ledger = begin(this.#ledger, route.id, waitedMs);
    const watch = evidence.begin(ask, lane.id, route);
    const received = await attempt(ask, route);
    watch.end(received.reply);
    void received.closed.then(admission.release);
    const n = this.#o.attempts + this.#ledger.attempts;
    const account = accountFor({ exchange: ask, lane, route, n, received }, this.#o);
    return { received, watch, account };
  }

  /** Charges whom it concerns, decides, and tells. */
  #record(
    ask: Exchange,
    { admission, route }: Extract<Place, { kind: 'yes' }>,
    last: Attempted,
    { verdict, fit }: { readonly verdict: Verdict; readonly fit: Fit | undefined },
  ): Action {
    const { lane, routes, clock, exchange, attempts, emit } = this.#o;
    const { reply } = last.received;
    const headMs = reply.kind === 'response' ? reply.headMs : undefined;
    lane.record({ exchange: ask, admission, verdict, route });
    routes.record({ exchange: ask, laneId: lane.id, route, verdict, headMs });
    const action: Action =
      fit?.kind === 'complete' ? { kind: 'deliver' } : this.#decide(verdict, ask, last);
    const n = attempts + this.#ledger.attempts;
    const at = clock.now();
    const durationMs = at - admission.startedAt;
    const { sentBytes, receivedBytes } = last.received;
    const told = { exchange, lane: lane.id, n, route, reply, sentBytes, receivedBytes };
    emit({ type: 'attempt_finished', at, ...told, verdict, action, durationMs });
    return action;
  }

  #accepted(
    { offset }: Break,
    part: Received,
    verdict: Verdict,
    fit: Fit | undefined,
  ): Rest | undefined {
    const { exchange, lane, route, clock, emit } = this.#o;
    if (fit?.kind === 'complete') {
      part.discard();
      return { kind: 'complete' };
    }
    const body = part.response?.body;
    if (fit?.kind !== 'rest' || verdict.fault !== 'none' || body === undefined) return undefined;
    const { totalBytes } = fit;
    const n = this.#ledger.transientRetries;
    const told = { exchange, lane: lane.id, route, n, offset, totalBytes };
    emit({ type: 'download_resumed', at: clock.now(), ...told });
    return { kind: 'part', part, body, totalBytes };
  }

  #refused(broke: Break, { reply }: Received, verdict: Verdict, fit: Fit | undefined): Rest {
    if (fit?.kind === 'misfit' && reply.kind === 'response') {
      return this.#lost(broke, fit.misfit, explainMisfit(fit.misfit, reply.status));
    }
    return this.#lost(broke, verdict.reason, sight(verdict.evidence));
  }

  #lost({ offset }: Break, reason: string, detail: string): Rest {
    const { exchange, lane, route, clock, emit } = this.#o;
    if (reason !== 'client_gone') {
      const told = { exchange, lane: lane.id, route, offset, reason, detail };
      emit({ type: 'download_lost', at: clock.now(), ...told });
    }
    return { kind: 'lost' };
  }
}

/** The same exchange, asking for the rest. Its silence must not outlast the patience; its stage stays one and the same. */
function askFor(exchange: Exchange, beginning: Beginning, broke: Break): Exchange {
  return {
    ...exchange,
    rawHeaders: askingForRest(exchange.rawHeaders, beginning, broke.offset),
    expectText: undefined,
    deadline: broke.silentSince + exchange.policy.patienceMs,
    signal: broke.signal,
    get stage() {
      return exchange.stage;
    },
    set stage(stage) {
      exchange.stage = stage;
    },
  };
}

function interruption(ask: Exchange, { reply }: Received): Stop | undefined {
  if (ask.signal.aborted) return 'client_gone';
  return reply.kind === 'failure' && reply.code === 'patience' ? 'patience_exceeded' : undefined;
}

function fitOfReply(beginning: Beginning, offset: number, { reply }: Received): Fit | undefined {
  return reply.kind === 'response' ? fitOf(beginning, offset, reply) : undefined;
}

const cutShort = (receivedBytes: number): Verdict => ({
  fault: 'host',
  kind: 'transient',
  reason: 'truncated',
  evidence: { kind: 'body', finding: 'cut_short', receivedBytes },
});
