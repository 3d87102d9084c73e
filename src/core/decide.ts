import type { Action, Progress, Rotate, Stop, Wait } from './action.ts';
import { backoff } from './backoff.ts';
import type { Policy } from './policy.ts';
import type {
  AccountVerdict,
  RateVerdict,
  RouteVerdict,
  SelfVerdict,
  TransientVerdict,
  Verdict,
} from './verdict.ts';

type Fail = Extract<Action, { kind: 'fail' }>;
type Burn = Extract<Action, { kind: 'burn' }>;

/** Chooses the next step after an attempt: the whole retry discipline. Pure. */
export function decide(verdict: Verdict, progress: Progress, policy: Policy): Action {
  switch (verdict.fault) {
    case 'none':
    case 'client':
      return { kind: 'deliver' };
    case 'host':
      return verdict.kind === 'rate'
        ? afterRate(verdict, progress, policy)
        : afterTransient(verdict, progress, policy);
    case 'route':
      return progress.inSession
        ? afterRouteInSession(verdict, progress, policy)
        : afterRoute(verdict, progress, policy);
    case 'account':
      return afterAccount(verdict, progress, policy);
    case 'self':
      return afterSelf(verdict, progress, policy);
  }
}

/**
 * A throttle is answered by waiting on the same route, or not at all. The return type has no
 * rotation in it, and `Rotate` cannot be made from a `RateVerdict`.
 */
function afterRate(verdict: RateVerdict, progress: Progress, policy: Policy): Wait | Fail {
  const stop = notRepeatable(progress);
  if (stop) return fail(stop);
  if (progress.ledger.rateWaits >= policy.maxRateWaits) return fail('rate_waits_exhausted');
  const delayMs = Math.max(verdict.waitMs ?? 0, progress.pausedUntil - progress.now, 0);
  if (delayMs > policy.retryAfter.maxMs) return fail('wait_too_long');
  if (!fits(delayMs, progress)) return fail('patience_exceeded');
  return { kind: 'wait', ledger: 'rate', delayMs, charged: false };
}

function afterTransient(
  verdict: TransientVerdict,
  progress: Progress,
  policy: Policy,
): Wait | Fail {
  const stop = notRepeatable(progress) ?? noAttemptLeft(progress, policy);
  if (stop) return fail(stop);
  if (!progress.budgetLeft) return fail('retry_budget_spent');
  const action = backOff('transient', progress, policy, true);
  const asksElsewhere = verdict.ambiguous === true && mayAskElsewhere(progress, policy);
  return action.kind === 'wait' && asksElsewhere ? { ...action, elsewhere: true } : action;
}

/** What site and upstream may both have said is told apart by another address of the same upstream. */
function mayAskElsewhere({ inSession, routesLeft, ledger }: Progress, policy: Policy): boolean {
  return !inSession && routesLeft && ledger.addresses.length < policy.maxAddresses;
}

/** The address is at fault: another one, at once. What the host never saw is not charged to its budget. */
function afterRoute(
  verdict: RouteVerdict,
  progress: Progress,
  policy: Policy,
): Rotate | Wait | Fail {
  const stop = notRepeatable(progress) ?? noAttemptLeft(progress, policy);
  if (stop) return fail(stop);
  const charged = seenByHost(verdict);
  if (!progress.routesLeft && !progress.upstreamsLeft) {
    // The only address there is: one that refuses this host will go on doing so, one that is away may come back.
    if (charged || verdict.reason === 'refused') return fail('no_route');
    return backOff('transient', progress, policy, false);
  }
  if (progress.ledger.addresses.length >= policy.maxAddresses) return fail('addresses_exhausted');
  if (charged && !progress.budgetLeft) return fail('retry_budget_spent');
  if (!fits(0, progress)) return fail('patience_exceeded');
  return { kind: 'rotate', because: verdict, charged };
}

/** Inside a session the address is never swapped: it comes back, or the session ends. */
function afterRouteInSession(
  verdict: RouteVerdict,
  progress: Progress,
  policy: Policy,
): Wait | Fail | Burn {
  if (seenByHost(verdict)) return { kind: 'burn' };
  const stop = notRepeatable(progress);
  if (stop) return fail(stop);
  if (noAttemptLeft(progress, policy)) return { kind: 'burn' };
  return backOff('session_route', progress, policy, false);
}

function afterAccount(
  verdict: AccountVerdict,
  progress: Progress,
  policy: Policy,
): Rotate | Wait | Fail | Burn {
  if (progress.inSession) return { kind: 'burn' };
  const stop = notRepeatable(progress);
  if (stop) return fail(stop);
  if (progress.upstreamsLeft) return { kind: 'rotate', because: verdict, charged: false };
  // Its own 429 is waited out on it; bad credentials and an empty account are not cured by time.
  if (verdict.reason !== 'upstream_rate_limited') return fail('no_route');
  if (progress.ledger.accountWaits >= policy.maxRateWaits) return fail('rate_waits_exhausted');
  const delayMs = verdict.waitMs ?? ownBackoff(progress, policy);
  if (delayMs > policy.retryAfter.maxMs) return fail('wait_too_long');
  if (!fits(delayMs, progress)) return fail('patience_exceeded');
  return { kind: 'wait', ledger: 'account', delayMs, charged: false };
}

/** Whoever waits for the network is held back by all lanes' common pause, and must be at hand when it ends. */
const MOST_NETWORK_WAIT_MS = 2_000;

/** Our own overload or our own network: nobody else pays, not even the budget. */
function afterSelf({ reason }: SelfVerdict, progress: Progress, policy: Policy): Wait | Fail {
  const stop = notRepeatable(progress);
  if (stop) return fail(stop);
  if (reason === 'overrun') return backOff('self', progress, policy, false);
  const delayMs = Math.min(ownBackoff(progress, policy), MOST_NETWORK_WAIT_MS);
  if (!fits(delayMs, progress)) return fail('patience_exceeded');
  return { kind: 'wait', ledger: 'self', delayMs, charged: false };
}

/** The first question before any repetition: may this request go out again at all, and is it worth its bytes? */
function notRepeatable({ retry, replay, bytesLeft }: Progress): Stop | undefined {
  if (retry === 'off') return 'retry_off';
  if (!replay.bodyKept) return 'body_not_replayable';
  if (replay.sent && !replay.repeatable && !replay.unprocessed) return 'maybe_executed';
  return bytesLeft ? undefined : 'byte_budget_spent';
}

/** `max_attempts` bounds transient retries and rotations together; rate waits have a bound of their own. */
function noAttemptLeft({ ledger }: Progress, policy: Policy): Stop | undefined {
  const used = 1 + ledger.transientRetries + ledger.rotations;
  return used >= policy.maxAttempts ? 'attempts_exhausted' : undefined;
}

function backOff(
  ledger: Wait['ledger'],
  progress: Progress,
  policy: Policy,
  charged: boolean,
): Wait | Fail {
  const delayMs = ownBackoff(progress, policy);
  if (!fits(delayMs, progress)) return fail('patience_exceeded');
  return { kind: 'wait', ledger, delayMs, charged };
}

function ownBackoff(progress: Progress, policy: Policy): number {
  const { ledger, laneFailures, roll } = progress;
  const n =
    policy.backoff.count === 'lane'
      ? Math.max(1, laneFailures)
      : ledger.transientRetries + ledger.accountWaits + 1;
  return backoff(policy.backoff, n, { roll, lastDelayMs: ledger.lastDelayMs });
}

const seenByHost = (verdict: RouteVerdict): boolean =>
  verdict.reason === 'blocked' || verdict.reason === 'challenged';

const fits = (delayMs: number, progress: Progress): boolean =>
  progress.now + delayMs < progress.deadline;

const fail = (stop: Stop): Fail => ({ kind: 'fail', stop });
