import type { Stop } from '../core/action.ts';
import type { Policy } from '../core/policy.ts';
import type { Admission } from '../exchange/ports.ts';
import type { Health } from './health.ts';
import { leastGapMs, type PacedLane } from './paced-lane.ts';
import type { Applicant } from './slot.ts';

/** An answer instead of a place. */
export type Refused = Extract<Admission, { kind: 'refused' }>;

/** A client told to come back sooner than this would only ask again. */
const LEAST_RETRY_AFTER_MS = 1_000;

/** Makes a refusal. `retryAfterMs` is from now; undefined when no time would help. */
export function refused(stop: Stop, retryAfterMs?: number): Refused {
  return { kind: 'refused', stop, retryAfterMs: retryAfterMs && Math.ceil(retryAfterMs) };
}

/** Why an exchange need not wait for its turn, told at once; undefined when it may. */
export function refusalOf(
  applicant: Applicant,
  lane: PacedLane,
  health: Health,
  now: number,
): Refused | undefined {
  const { exchange } = applicant;
  if (exchange.signal.aborted) return refused('client_gone');
  if (exchange.deadline <= now) {
    return refused('patience_exceeded', retryAfterMs(lane, health, now));
  }
  const standing = standingRefusal(applicant, health, now);
  if (standing) return standing;
  const ahead = lane.queue.ahead(exchange);
  const turnAt = earliestTurn(ahead, exchange.policy, lane, health, now);
  return turnAt >= exchange.deadline ? refused('patience_exceeded', turnAt - now) : undefined;
}

/** What the host's state denies an exchange wherever it stands: auth fuse, breaker, pause. */
export function standingRefusal(
  { exchange, credential }: Pick<Applicant, 'exchange' | 'credential'>,
  health: Health,
  now: number,
): Refused | undefined {
  const { policy, deadline } = exchange;
  const fuse = health.fuseState(credential, now, policy);
  if (fuse.kind === 'blown') {
    return { ...refused('auth_fuse', fuse.untilAt - now), status: fuse.status };
  }
  const breaker = breakerRefusal(policy, deadline, health, now);
  if (breaker) return breaker;
  const { pausedUntil } = health.pacing;
  if (pausedUntil <= now || pausedUntil < deadline) return undefined;
  return refused('lane_paused', pausedUntil - now);
}

/**
 * During the first cool-down exchanges wait, so that a short outage becomes back-pressure; from the
 * second trip in a row they are refused, so that a scraper's workers are free for its other sites.
 */
function breakerRefusal(
  policy: Policy,
  deadline: number,
  health: Health,
  now: number,
): Refused | undefined {
  const passage = health.passage(policy, now);
  if (passage.kind === 'granted') return undefined;
  const { retryAt, trips } = passage;
  const refusal = refused('breaker_open', Math.max(LEAST_RETRY_AFTER_MS, retryAt - now));
  switch (policy.breaker.whenOpen) {
    case 'refuse':
      return refusal;
    case 'auto':
      if (trips > 1) return refusal;
      break;
    case 'wait':
      break;
  }
  // While a probe is out its lease is the latest end of the wait, not the earliest.
  return health.breaker.state === 'open' && retryAt >= deadline ? refusal : undefined;
}

/** The earliest instant at which a newcomer with `ahead` before it could start, by what is known now. */
function earliestTurn(
  ahead: number,
  policy: Policy,
  lane: PacedLane,
  health: Health,
  now: number,
): number {
  const { hi } = health.pacing;
  const gapMs = Math.max(leastGapMs(policy.pace), hi === null ? 0 : 1000 / hi);
  return opensAt(lane, health, now) + ahead * gapMs;
}

/** When the next start is possible at all. */
function opensAt(lane: PacedLane, health: Health, now: number): number {
  const { pausedUntil, nextAt } = health.pacing;
  const { breaker } = health;
  const closedUntil = breaker.state === 'open' ? breaker.until : now;
  return Math.max(now, pausedUntil, nextAt, lane.nextAt, closedUntil);
}

/** When it may be worth coming back: all that wait in the lane have had their turn. */
export function retryAfterMs(lane: PacedLane, health: Health, now: number): number {
  const { rate } = health.pacing;
  const gapMs = Math.max(leastGapMs(lane.policy.pace), rate === null ? 0 : 1000 / rate);
  const waitMs = opensAt(lane, health, now) - now + lane.queue.size * gapMs;
  return Math.max(LEAST_RETRY_AFTER_MS, waitMs);
}
