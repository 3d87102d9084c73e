import type { Clock, Random } from '../clock.ts';
import type { Ledger, Progress } from '../core/action.ts';
import { classify, type Judge, wasUnprocessed } from '../core/classify.ts';
import { fieldValue } from '../core/fields.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Attempted } from './ending.ts';
import type { Watch } from './evidence.ts';
import type { Pages } from './pages.ts';
import type { Exchange, Lane, Received, Route, Routes } from './ports.ts';

/** Judges what an attempt brought, in the light of what was seen around it, and lets it count as evidence itself. */
export function judge(
  { reply }: Received,
  watch: Watch,
  of: { readonly exchange: Exchange; readonly lane: Lane; readonly route: Route },
  deps: { readonly tools: Judge['tools']; readonly wall: () => number; readonly pages?: Pages },
): { readonly verdict: Verdict; readonly by: Judge } {
  const suspicion = deps.pages?.look({ ...of, reply });
  const base = { ...judgeFor(of.exchange, of.lane, of.route, deps), suspicion };
  const by = needsSighting(reply) ? { ...base, seen: watch.sighting() } : base;
  const verdict = classify(reply, by);
  watch.judged(reply, verdict);
  deps.pages?.record({ ...of, reply }, verdict);
  return { verdict, by };
}

/** Failures and silences only: what was seen around a good answer does not matter. */
const needsSighting = (reply: Received['reply']): boolean =>
  reply.kind === 'failure' || (reply.body.kind === 'seen' && reply.body.end === 'stalled');

/** What `classify` may know besides the reply. */
export function judgeFor(
  exchange: Exchange,
  lane: Lane,
  route: Route,
  deps: { readonly tools: Judge['tools']; readonly wall: () => number },
): Judge {
  const { target, method, policy, expectText } = exchange;
  return {
    request: { method, scheme: target.scheme, host: target.host, path: target.path },
    policy,
    expectText,
    nowWall: deps.wall(),
    routeId: route.id,
    blockedAddresses: lane.blockedAddresses(target.path),
    tools: deps.tools,
  };
}

/** Where the exchange stands after an attempt, for `decide`. */
export function progressOf(
  exchange: Exchange,
  lane: Lane,
  ledger: Ledger,
  last: Attempted,
  deps: { readonly routes: Routes; readonly clock: Clock; readonly random: Random },
): Progress {
  const { route, received } = last;
  const left = deps.routes.left(exchange, lane.id, {
    ...ledger,
    avoidRoutes: [...ledger.avoidRoutes, route.id],
  });
  return {
    ledger,
    now: deps.clock.now(),
    deadline: exchange.deadline,
    roll: deps.random(),
    replay: {
      bodyKept: exchange.body.replayable,
      repeatable: repeatable(exchange),
      sent: received.reply.kind === 'response' || received.reply.sent,
      unprocessed: wasUnprocessed(received.reply),
    },
    retry: exchange.retry,
    inSession: exchange.session !== undefined,
    budgetLeft: lane.budgetLeft,
    bytesLeft: lane.bytesLeft === 'all',
    laneFailures: lane.failuresInRow,
    pausedUntil: lane.pausedUntil,
    routesLeft: left.routes,
    upstreamsLeft: left.upstreams,
  };
}

function repeatable({ method, policy, rawHeaders }: Exchange): boolean {
  return (
    policy.replayMethods.includes(method.toUpperCase()) ||
    fieldValue(rawHeaders, 'idempotency-key') !== undefined
  );
}
