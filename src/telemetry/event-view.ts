import { explain, explainStop, sight } from '../core/explain.ts';
import type { Evidence } from '../core/verdict.ts';
import type { Delivery, Exchange, Route, Stage } from '../exchange/ports.ts';
import type { ProxyEvent } from './events.ts';
import { laneOf } from './lane-labels.ts';
import { cleanText } from './log-text.ts';

/** An event as it is shown to the outside: plain JSON without credentials, bodies and query strings. Times are ISO 8601. */
export interface EventView {
  readonly type: ProxyEvent['type'];
  readonly at: string;
  readonly [field: string]: unknown;
}

/** One attempt as it is shown. */
export interface AttemptView {
  readonly n: number;
  /** When it ended. */
  readonly at: string;
  readonly route: string;
  readonly upstream: string;
  readonly status: number | null;
  /** `fault/reason`. */
  readonly verdict: string;
  /** What the verdict rests on, as facts. */
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly action: string;
  /** The wait that followed it; null where there was none. */
  readonly delay_ms: number | null;
  /** Whether the retry budget paid for what followed. */
  readonly charged: boolean;
  /** Retries that the lane's budget still paid for when it was decided; null where that was not asked. */
  readonly budget_left: number | null;
  readonly explain: string;
  readonly duration_ms: number;
  readonly sent_bytes: number;
  readonly received_bytes: number;
}

/** Every kind of event, and when it happens. */
export const EVENT_TYPES: Readonly<Record<ProxyEvent['type'], string>> = {
  exchange_started: 'a client request, or the redrive of a letter, begins',
  attempt_finished: 'one try was judged, and it was decided what follows',
  attempt_closed: 'all bytes of an attempt have passed',
  suspicious_reply: 'a good-looking reply that may be none',
  site_changed: 'a site looks different for everybody from now on',
  heartbeat: 'an exchange still waits, or is silent',
  exchange_finished: 'a client has its one final answer',
  download_resumed: 'a body that broke off goes on where it ended',
  download_lost: 'a body broke off for good',
  early_warning: 'what the attempts of a lane come to has changed, or is as before again',
  lane_paused: 'a site asked for less',
  lane_isolated: 'the operator isolated a host, or resumed it',
  breaker_changed: 'the circuit breaker of a host has another state',
  fuse_changed: 'credentials are refused locally from now on, or no longer',
  route_ejected: 'a route is out, for one lane or (lane null) everywhere',
  route_restored: 'the operator took a route back in',
  upstream_out: "an upstream's account is out",
  session_ended: 'a session is burned or has expired',
  request_refused: 'a request never became an exchange',
  client_tls_failed: 'a client broke off TLS',
  dead_letter_parked: 'an exchange that ended badly is kept',
  dead_letter_closed: 'the client got there by itself later',
  dead_letter_redriven: 'a redrive has ended',
  store_trouble: 'something could not be kept, or not read',
  notice: 'something else that the log tells',
};

type Of<T extends ProxyEvent['type']> = Extract<ProxyEvent, { type: T }>;

/** Puts an event into the form in which it is shown. Only named facts are taken out of it. */
export function eventView(event: ProxyEvent): EventView {
  return { type: event.type, at: iso(event.at), ...facts(event) };
}

function facts(event: ProxyEvent): Record<string, unknown> {
  switch (event.type) {
    case 'exchange_started':
      return requestView(event.exchange);
    case 'attempt_finished':
      return {
        exchange: event.exchange.id,
        lane: event.lane,
        ...attemptView(attemptFacts(event)),
      };
    case 'attempt_closed':
      return closedView(event);
    case 'suspicious_reply':
      return suspicion(event);
    case 'site_changed':
      return { lane: event.lane, exchange: event.exchange.id };
    case 'heartbeat':
      return { ...requestView(event.exchange), stage: stageView(event.stage) };
    case 'exchange_finished':
      return { ...requestView(event.exchange), ...endView(event) };
    case 'download_resumed':
    case 'download_lost':
      return download(event);
    case 'early_warning':
      return warningView(event);
    case 'lane_paused':
      return { lane: event.lane, until: iso(event.untilAt) };
    case 'lane_isolated':
      return { lane: event.lane, isolated: event.isolated };
    case 'breaker_changed':
      return { lane: event.lane, state: event.state, until: isoOrNull(event.untilAt) };
    case 'fuse_changed':
      return { lane: event.lane, state: event.state, finding: event.finding ?? null };
    case 'route_ejected':
      return { ...way(event.route), lane: event.lane ?? null, until: iso(event.untilAt) };
    case 'route_restored':
      return way(event.route);
    case 'upstream_out':
      return outage(event);
    case 'session_ended':
      return { session: event.session, end: event.end };
    case 'request_refused':
      return { status: event.status, reason: event.reason, detail: cleanText(event.detail) };
    case 'client_tls_failed':
      return { host: cleanText(event.host), detail: cleanText(event.detail) };
    case 'dead_letter_parked':
    case 'dead_letter_closed':
    case 'dead_letter_redriven':
      return letter(event);
    case 'store_trouble':
      return { doing: event.doing, code: event.code, detail: cleanText(event.message) };
    case 'notice':
      return { level: event.level, message: cleanText(event.message) };
  }
}

/** Which request it is. */
export function requestView(exchange: Exchange) {
  const { id, client, method, session, priority } = exchange;
  return {
    exchange: id,
    lane: laneOf(exchange),
    client: client.name,
    session: session ?? null,
    method,
    url: urlOf(exchange),
    redrive: priority === 'redrive',
  };
}

/** What is shown of an attempt, before it is put into words; nothing of its reply is held on to. */
export function attemptFacts(event: Of<'attempt_finished'>) {
  const { n, at, route, reply, verdict, action, basis, durationMs } = event;
  return {
    ...{ n, at, route, verdict, action, durationMs },
    status: reply.kind === 'response' ? reply.status : null,
    retriesLeft: basis?.retriesLeft ?? null,
    sentBytes: event.sentBytes,
    receivedBytes: event.receivedBytes,
  };
}

/** What an attempt brought. */
export function attemptView(event: ReturnType<typeof attemptFacts>): AttemptView {
  const { verdict, action, route } = event;
  return {
    n: event.n,
    at: iso(event.at),
    route: route.label,
    upstream: route.upstream,
    status: event.status,
    verdict: `${verdict.fault}/${verdict.reason}`,
    evidence: evidenceView(verdict.evidence),
    action: action.kind,
    delay_ms: action.kind === 'wait' ? Math.round(action.delayMs) : null,
    charged: 'charged' in action && action.charged,
    budget_left: event.retriesLeft,
    explain: cleanText(explain(verdict, action)),
    duration_ms: Math.round(event.durationMs),
    sent_bytes: event.sentBytes,
    received_bytes: event.receivedBytes,
  };
}

/** Evidence as it is shown: facts by name, each text made safe. */
function evidenceView(evidence: Evidence): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(evidence).map(([key, fact]) => {
      const name = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (Array.isArray(fact)) return [name, fact.map((one) => cleanText(String(one)))];
      return [name, typeof fact === 'string' ? cleanText(fact) : fact];
    }),
  );
}

/** How an exchange ended. */
export function endView({ exchange, delivery, answered, at, ...bytes }: Of<'exchange_finished'>) {
  const { ledger, route, stop, deadLetter } = delivery;
  return {
    answered,
    verdict: verdictOf(delivery),
    stop: stop ?? null,
    stopped_because: stop === undefined ? null : explainStop(stop),
    attempted: ledger.attempts,
    waited_ms: Math.round(ledger.waitedMs),
    route: route?.label ?? null,
    dead_letter: deadLetter ?? null,
    duration_ms: Math.round(at - exchange.startedAt),
    sent_bytes: bytes.sentBytes,
    received_bytes: bytes.receivedBytes,
  };
}

/** What an exchange is doing, or waits for. */
export function stageView({ kind, sinceAt, untilAt }: Stage) {
  return { kind, since: iso(sinceAt), until: isoOrNull(untilAt) };
}

/** An instant as ISO 8601. */
export function iso(at: number): string {
  return new Date(Math.min(MAX_DATE_MS, Math.max(-MAX_DATE_MS, at))).toISOString();
}

/** The same, where there may be none. */
export const isoOrNull = (at: number | undefined): string | null =>
  at === undefined ? null : iso(at);

const MAX_DATE_MS = 8.64e15;

const verdictOf = ({ verdict }: Delivery): string | null =>
  verdict ? `${verdict.fault}/${verdict.reason}` : null;

/** Without the query, as in the log. */
function urlOf({ target }: Exchange): string {
  if (target.path === '') return target.authority;
  return `${target.scheme}://${target.authority}${target.path.split(/[?#]/, 1)[0] ?? ''}`;
}

const way = (route: Route) => ({
  route: route.label,
  route_id: route.id,
  upstream: route.upstream,
});

function warningView({ lane, raised, signal, ...event }: Of<'early_warning'>) {
  const { before, now, since, badRoutes, routes, sentence } = event;
  return {
    ...{ lane, raised, signal, before, now, since: iso(since) },
    ...{ bad_routes: badRoutes, routes, sentence },
  };
}

function closedView(event: Of<'attempt_closed'>): Record<string, unknown> {
  const { exchange, lane, n, route, cause } = event;
  return {
    ...{ exchange: exchange.id, lane, n, route: route.label, upstream: route.upstream, cause },
    ...{ sent_bytes: event.sentBytes, received_bytes: event.receivedBytes },
  };
}

function suspicion(event: Of<'suspicious_reply'>): Record<string, unknown> {
  const { exchange, lane, route, sign, score, enforced } = event;
  return {
    ...{ exchange: exchange.id, lane, route: route.label, sign, score, enforced },
    for: event.for.map(cleanText),
    against: event.against.map(cleanText),
  };
}

function download(event: Of<'download_resumed' | 'download_lost'>): Record<string, unknown> {
  const { exchange, lane, route, offset } = event;
  const common = { exchange: exchange.id, lane, route: route.label, offset_bytes: offset };
  return event.type === 'download_resumed'
    ? { ...common, n: event.n, total_bytes: event.totalBytes }
    : { ...common, reason: event.reason, detail: cleanText(event.detail) };
}

function outage({ upstream, verdict, untilAt }: Of<'upstream_out'>): Record<string, unknown> {
  return {
    upstream,
    verdict: `${verdict.fault}/${verdict.reason}`,
    until: iso(untilAt),
    detail: cleanText(sight(verdict.evidence)),
  };
}

function letter(
  event: Of<'dead_letter_parked' | 'dead_letter_closed' | 'dead_letter_redriven'>,
): Record<string, unknown> {
  switch (event.type) {
    case 'dead_letter_closed':
      return { dead_letter: event.id };
    case 'dead_letter_redriven':
      return {
        ...{ dead_letter: event.id, lane: event.lane, outcome: event.outcome },
        detail: cleanText(event.detail),
      };
    case 'dead_letter_parked':
      return {
        ...{ dead_letter: event.id, exchange: event.exchange.id, lane: event.lane },
        ...{ count: event.count, state: event.state, reason: event.reason },
        ...{ due: iso(event.dueAt), kept: event.kept },
      };
  }
}
