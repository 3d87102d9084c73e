import type { Action, Stop } from '../core/action.ts';
import type { Policy } from '../core/policy.ts';
import type { Verdict } from '../core/verdict.ts';
import { blankUrl } from '../dead-letters/secrets.ts';
import type { ProxyEvent } from './events.ts';
import { type LoggedBasis, loggedBasis } from './logged-basis.ts';
import { type BodyLimits, type LoggedReply, loggedReply } from './logged-reply.ts';

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
  readonly session?: true;
  readonly redrive?: true;
  readonly startedAt: number;
  readonly wished?: { readonly patienceMs?: number; readonly maxAttempts?: number };
}

/** An action, without the verdict that the line has anyway. */
export type LoggedAction =
  | Exclude<Action, { kind: 'rotate' }>
  | { readonly kind: 'rotate'; readonly charged: boolean };

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
    ...(basis === undefined
      ? {}
      : { basis: loggedBasis(basis, { n: event.n, routeId: route.id }) }),
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
    ...(exchange.session === undefined ? {} : { session: true }),
    ...(exchange.priority === 'redrive' ? { redrive: true } : {}),
    startedAt: exchange.startedAt,
    ...(wished === undefined ? {} : { wished }),
  };
}
