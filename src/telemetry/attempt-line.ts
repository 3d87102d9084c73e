import type { Action, Ledger, Progress, Stop } from '../core/action.ts';
import type { Sighting } from '../core/diagnose.ts';
import { findMarker } from '../core/find-marker.ts';
import type { Policy } from '../core/policy.ts';
import type { Suspicion } from '../core/soft-block.ts';
import type { BodySight, FailureReply, ResponseReply, Verdict } from '../core/verdict.ts';
import { blankFields, blankUrl } from '../dead-letters/secrets.ts';
import type { Basis, ProxyEvent } from './events.ts';

/** The version of the attempt log's format; readers refuse others. */
export const LOG_VERSION = 1;

/** One line of the attempt log (docs/attempt-log.md). */
export type LogEntry = HeadLine | PolicyLine | AttemptLine | EndLine | GapLine;

/** A file, or a process's part of it, begins. */
export interface HeadLine {
  readonly v: typeof LOG_VERSION;
  readonly kind: 'head';
  readonly at: number;
  readonly forbear: string;
}

/** The rules that the attempts with this id were made under. */
export interface PolicyLine {
  readonly v: typeof LOG_VERSION;
  readonly kind: 'policy';
  readonly id: string;
  readonly policy: LoggedPolicy;
}

/** One try, with all that its verdict and the step after it rest on. */
export interface AttemptLine {
  readonly v: typeof LOG_VERSION;
  readonly kind: 'attempt';
  /** When it ended, epoch ms. */
  readonly at: number;
  readonly exchange: string;
  readonly n: number;
  readonly lane: string;
  readonly authority: string;
  readonly request: LoggedRequest;
  readonly route: { readonly id: string; readonly label: string; readonly upstream: string };
  readonly policy: string;
  readonly reply: LoggedReply;
  readonly ms: number;
  readonly sent: number;
  readonly received: number;
  readonly verdict: Verdict;
  readonly action: LoggedAction;
  /** Absent where the rest of a body was asked for: that is decided by other rules. */
  readonly basis?: LoggedBasis;
}

export interface LoggedRequest {
  readonly method: string;
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** Path and query; values of parameters that are credentials by their name are blanked. */
  readonly path: string;
  readonly client: string;
  readonly profile?: string;
  readonly session: boolean;
  readonly redrive: boolean;
  readonly startedAt: number;
  readonly wished?: { readonly patienceMs?: number; readonly maxAttempts?: number };
}

export type LoggedReply =
  | FailureReply
  | (Omit<ResponseReply, 'body'> & { readonly body: LoggedBody });

/** A body of which no more is kept than the settings say. */
export type LoggedBody =
  | Exclude<BodySight, { kind: 'seen' }>
  | (Extract<BodySight, { kind: 'seen' }> & {
      /** How long the text was; present when this is only its beginning. */
      readonly chars?: number;
      /** The challenge, block or throttle page that the whole of it is; absent where nobody looked. */
      readonly marker?: { readonly id: string; readonly signs: readonly string[] } | null;
    });

/** No more of a body's text is kept. */
export interface BodyLimits {
  /** Of replies that were judged good. */
  readonly goodChars: number;
  /** Of all others. */
  readonly otherChars: number;
}

/** An action, without the verdict that the line has anyway. */
export type LoggedAction =
  | Exclude<Action, { kind: 'rotate' }>
  | { readonly kind: 'rotate'; readonly charged: boolean };

export interface LoggedBasis {
  readonly progress: LoggedProgress;
  readonly retriesLeft: number;
  readonly nowWall: number;
  readonly blockedAddresses: readonly string[];
  readonly expectText?: string;
  readonly suspicion?: Suspicion;
  readonly seen?: Sighting;
}

/** Where the exchange stood; of its books only what is not empty. */
export interface LoggedProgress extends Omit<Progress, 'ledger'> {
  readonly ledger: Partial<Ledger>;
}

/** An exchange has ended. */
export interface EndLine {
  readonly v: typeof LOG_VERSION;
  readonly kind: 'end';
  readonly at: number;
  readonly exchange: string;
  readonly lane: string;
  readonly attempts: number;
  readonly waitedMs: number;
  readonly stop?: Stop;
  readonly answered: number | 'client_gone' | 'broken_off';
}

/** Lines are missing here: they could not be written in time. */
export interface GapLine {
  readonly v: typeof LOG_VERSION;
  readonly kind: 'gap';
  readonly at: number;
  readonly lines: number;
}

const POLICY_KEYS = [
  ...(['patienceMs', 'maxAttempts', 'maxAddresses', 'maxRateWaits', 'backoff'] as const),
  ...(['transientStatuses', 'retryAfter', 'budget', 'breaker', 'pace', 'timeouts'] as const),
  ...(['replayMethods', 'softBlocks', 'markers', 'authFuse', 'replies', 'expect'] as const),
  ...(['byteBudget', 'routes', 'sessions', 'upstreams', 'inspect', 'replayBodyBytes'] as const),
  ...(['resumeDownloads', 'http2', 'lenient', 'controlRequests'] as const),
] as const;

/** The rules that attempts are made, judged and repeated under: nothing secret is in them. */
export type LoggedPolicy = Pick<Policy, (typeof POLICY_KEYS)[number]>;

/** Takes out of the rules what is logged of them. */
export function loggedPolicy(policy: Policy): LoggedPolicy {
  return Object.fromEntries(POLICY_KEYS.map((key) => [key, policy[key]])) as LoggedPolicy;
}

/** The same parts as a list, to recognise rules that are made of the same parts. */
export const policyParts = (policy: Policy): readonly unknown[] =>
  POLICY_KEYS.map((key) => policy[key]);

type Of<T extends ProxyEvent['type']> = Extract<ProxyEvent, { type: T }>;

/** The line of one attempt. */
export function attemptLine(
  event: Of<'attempt_finished'>,
  policyId: string,
  limits: BodyLimits,
): AttemptLine {
  const { exchange, route, basis } = event;
  return {
    v: LOG_VERSION,
    kind: 'attempt',
    at: event.at,
    exchange: exchange.id,
    n: event.n,
    lane: event.lane,
    authority: exchange.target.authority,
    request: requestOf(event),
    route: { id: route.id, label: route.label, upstream: route.upstream },
    policy: policyId,
    reply: loggedReply(
      event,
      event.verdict.fault === 'none' ? limits.goodChars : limits.otherChars,
    ),
    ms: Math.round(event.durationMs),
    sent: event.sentBytes,
    received: event.receivedBytes,
    verdict: event.verdict,
    action:
      event.action.kind === 'rotate'
        ? { kind: 'rotate', charged: event.action.charged }
        : event.action,
    ...(basis === undefined ? {} : { basis: basisOf(basis) }),
  };
}

/** The line of an exchange's end. */
export function endLine({ exchange, delivery, answered, at }: Of<'exchange_finished'>): EndLine {
  const { authority } = exchange.target;
  return {
    v: LOG_VERSION,
    kind: 'end',
    at,
    exchange: exchange.id,
    lane: exchange.lane === undefined ? authority : `${authority}#${exchange.lane}`,
    attempts: delivery.ledger.attempts,
    waitedMs: Math.round(delivery.ledger.waitedMs),
    ...(delivery.stop === undefined ? {} : { stop: delivery.stop }),
    answered,
  };
}

function requestOf({ exchange }: Of<'attempt_finished'>): LoggedRequest {
  const { target, profile, wished } = exchange;
  return {
    method: exchange.method,
    scheme: target.scheme,
    host: target.host,
    path: blankUrl(target.path).value,
    client: exchange.client.name,
    ...(profile === undefined ? {} : { profile }),
    session: exchange.session !== undefined,
    redrive: exchange.priority === 'redrive',
    startedAt: exchange.startedAt,
    ...(wished === undefined ? {} : { wished }),
  };
}

function basisOf({ judge, progress, retriesLeft }: Basis): LoggedBasis {
  const { nowWall, blockedAddresses, expectText, suspicion, seen } = judge;
  return {
    progress: { ...progress, ledger: filledIn(progress.ledger) },
    ...{ retriesLeft, nowWall, blockedAddresses },
    ...(expectText === undefined ? {} : { expectText: expectText.slice(0, LONGEST_VALUE) }),
    ...(suspicion === undefined ? {} : { suspicion }),
    ...(seen === undefined ? {} : { seen }),
  };
}

const filledIn = (ledger: Ledger): Partial<Ledger> =>
  Object.fromEntries(
    Object.entries(ledger).filter(
      ([, value]) => value !== 0 && !(Array.isArray(value) && value.length === 0),
    ),
  );

/** A field's value is cut there: what is judged stands well before. */
const LONGEST_VALUE = 1_024;

function loggedReply(event: Of<'attempt_finished'>, bodyChars: number): LoggedReply {
  const { reply } = event;
  if (reply.kind === 'failure') {
    const { upstreamReply } = reply;
    if (upstreamReply === undefined) return reply;
    const { status, rawHeaders, text } = upstreamReply;
    const kept = { status, rawHeaders: shownFields(rawHeaders), text: text.slice(0, bodyChars) };
    return { ...reply, upstreamReply: kept };
  }
  const { body, rawHeaders } = reply;
  return { ...reply, rawHeaders: shownFields(rawHeaders), body: shownBody(body, event, bodyChars) };
}

function shownFields(rawHeaders: readonly string[]): readonly string[] {
  return blankFields(rawHeaders).value.map((text, i) =>
    i % 2 === 0 || !text.includes('?')
      ? text.slice(0, LONGEST_VALUE)
      : blankUrl(text.slice(0, LONGEST_VALUE)).value,
  );
}

function shownBody(body: BodySight, event: Of<'attempt_finished'>, bodyChars: number): LoggedBody {
  if (body.kind !== 'seen') return body;
  const marker = judgedMarker(event);
  if (body.text.length <= bodyChars) return marker === undefined ? body : { ...body, marker };
  return {
    ...body,
    text: body.text.slice(0, bodyChars),
    chars: body.text.length,
    marker: marker === undefined ? soughtMarker(event) : marker,
  };
}

type NamedMarker = { readonly id: string; readonly signs: readonly string[] };

/** What the judgement found of known pages; undefined where it had no need to look. */
function judgedMarker({
  verdict,
  exchange,
}: Of<'attempt_finished'>): NamedMarker | null | undefined {
  const { evidence } = verdict;
  if (evidence.kind === 'marker' && evidence.marker !== 'throttle-text') {
    return { id: evidence.marker, signs: evidence.signs };
  }
  const { markers } = exchange.policy.softBlocks;
  return markers === 'enforce' && !SPOKE_FIRST.has(evidence.kind) ? null : undefined;
}

/** Looked for while all of it is at hand. */
function soughtMarker({ reply, exchange }: Of<'attempt_finished'>): NamedMarker | null {
  if (reply.kind !== 'response') return null;
  const { markers } = exchange.policy;
  const found = findMarker(reply, { path: exchange.target.path, markers });
  return found === undefined ? null : { id: found.marker.id, signs: found.signs };
}

/** Evidence that is asked before the markers. */
const SPOKE_FIRST: ReadonlySet<Verdict['evidence']['kind']> = new Set(['rule', 'upstream']);
