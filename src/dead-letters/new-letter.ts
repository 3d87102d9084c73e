import type { Stop } from '../core/action.ts';
import { fieldValue } from '../core/fields.ts';
import type { DeadLettersPolicy, Policy } from '../core/policy.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { LetterNeed, NewLetter } from '../store/letter.ts';
import { urlOf } from './request-key.ts';
import { blankFields, blankUrl } from './secrets.ts';
import type { Trail } from './trail.ts';

/** What a letter is made of. */
export interface Parted {
  readonly exchange: Exchange;
  readonly delivery: Delivery;
  readonly trail: Trail;
  readonly lane: string;
  readonly key: string;
  /** undefined where it was not kept whole. */
  readonly body: Uint8Array | undefined;
  /** Whether its session had begun, as far as it is in one. */
  readonly sessionBegan: boolean;
  readonly now: number;
}

/** Whether an exchange that ended so is kept: it was given up, and neither its client nor the request is the reason. */
export function isGivenUp({ retry, policy, signal }: Exchange, { stop }: Delivery): boolean {
  if (stop === undefined || stop === 'client_gone' || stop === 'retry_off') return false;
  return retry === 'on' && policy.deadLetters.enabled && !signal.aborted;
}

/** The letter that an exchange becomes. */
export function newLetter(parted: Parted): NewLetter {
  const { exchange, delivery, trail, body, now } = parted;
  const { policy, target, rawHeaders } = exchange;
  const kept = blankedUnless(policy.deadLetters.keepSecrets, urlOf(exchange), rawHeaders);
  const needs = needOf(parted, kept.changed);
  const dueAt = firstDueAt(delivery, policy.deadLetters, now);
  return {
    id: exchange.id,
    key: parted.key,
    state: needs === undefined ? 'parked' : 'needs_client',
    ...(needs && { needs }),
    count: 1,
    lane: parted.lane,
    host: target.authority,
    ...whyOf(delivery),
    client: exchange.client.name,
    session: exchange.session,
    method: exchange.method,
    url: kept.url,
    rawHeaders: kept.rawHeaders,
    rawTrailers: exchange.body.rawTrailers,
    wishes: wishesOf(exchange, parted.sessionBegan),
    bodyBytes: body?.byteLength ?? exchange.body.length ?? 0,
    secretsBlanked: kept.changed,
    parkedAt: now,
    dueAt,
    keepUntil: Math.min(LAST_INSTANT, Math.max(now, dueAt) + policy.deadLetters.keepMs),
    attempts: trail.attempts,
  };
}

const LAST_INSTANT = 8.64e15;

/** Reason, stop and fault of an ending, as a letter has them. */
export function whyOf({ verdict, stop }: Delivery) {
  const judged = verdict?.fault === 'none' ? undefined : verdict;
  return { reason: judged?.reason ?? stop ?? 'internal', stop, fault: judged?.fault };
}

/** Whether it may have been executed although nobody knows: then it must not be sent again by itself. */
export function mayHaveRun(exchange: Exchange, { ledger }: Delivery, trail: Trail): boolean {
  if (isRepeatable(exchange, exchange.policy)) return false;
  // One that was cut off under way is in no trail: it may have got through.
  return trail.reached || ledger.attempts > trail.judged;
}

/** Whether it may be sent twice, by its method or by its own word. */
export function isRepeatable(
  { method, rawHeaders }: Pick<Exchange, 'method' | 'rawHeaders'>,
  { replayMethods }: Policy,
): boolean {
  const isIdempotent = replayMethods.includes(method.toUpperCase());
  return isIdempotent || fieldValue(rawHeaders, 'idempotency-key') !== undefined;
}

/** How long the site, or the state of its lane, asks to be left alone; undefined where nobody named a time. */
export function namedWaitMs({ stop, retryAfterMs, verdict }: Delivery): number | undefined {
  if (retryAfterMs !== undefined && stop && NAMES_A_TIME.has(stop)) return retryAfterMs;
  if (verdict?.fault === 'account') return verdict.waitMs;
  return verdict?.fault === 'host' && verdict.kind === 'rate' ? verdict.waitMs : undefined;
}

/** Other times are for a client that waits: how long the queue may take, or the proxy's own restart. */
const NAMES_A_TIME: ReadonlySet<Stop> = new Set(['lane_paused', 'breaker_open', 'no_route']);

function firstDueAt(delivery: Delivery, policy: DeadLettersPolicy, now: number): number {
  // Never by itself.
  if (policy.maxRedrives === 0) return Math.min(LAST_INSTANT, now + policy.keepMs);
  return Math.min(LAST_INSTANT, now + (namedWaitMs(delivery) ?? policy.cooldownMs));
}

function needOf(parted: Parted, secretsBlanked: boolean): LetterNeed | undefined {
  const { exchange, delivery, trail, body } = parted;
  if (body === undefined) return 'body';
  if (secretsBlanked) return 'secrets';
  if (mayHaveRun(exchange, delivery, trail)) return 'consent';
  if (delivery.stop === 'auth_fuse') return 'credentials';
  const ended = delivery.stop === 'session_burned' || delivery.stop === 'session_expired';
  if (ended && exchange.policy.deadLetters.redrive === 'same_session') return 'session';
  return delivery.stop === 'session_unsupported' ? 'session' : undefined;
}

function blankedUnless(keep: boolean, url: string, rawHeaders: readonly string[]) {
  if (keep) return { url, rawHeaders, changed: false };
  const fields = blankFields(rawHeaders);
  const address = blankUrl(url);
  return {
    url: address.value,
    rawHeaders: fields.value,
    changed: fields.changed || address.changed,
  };
}

function wishesOf(exchange: Exchange, sessionBegan: boolean): Record<string, string> {
  const { country, profile, expectText, overH2, client } = exchange;
  const wishes = {
    country,
    profile,
    expect: expectText,
    address: client.address,
    h2: overH2 ? 'yes' : undefined,
    session_began: sessionBegan ? 'yes' : undefined,
  };
  const said = Object.entries(wishes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(said) as Record<string, string>;
}
