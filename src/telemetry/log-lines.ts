import type { Stop } from '../core/action.ts';
import { explain, explainStop, seconds, sight } from '../core/explain.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Stage } from '../exchange/ports.ts';
import { deadLetterLine } from './dead-letter-lines.ts';
import type { ProxyEvent } from './events.ts';
import { operatorLine } from './operator-line.ts';
import { request, requestFields } from './request-words.ts';
import { siteLine } from './site-line.ts';
import { suspicionLine } from './suspicion-line.ts';

/** One log line before it is cleaned and written. Field names nest as OpenTelemetry's dotted names do. */
export interface LogLine {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

type Of<T extends ProxyEvent['type']> = Extract<ProxyEvent, { type: T }>;

/**
 * Puts an event into words and fields. Only named facts are taken out of it: never headers, never a
 * query string, never a route's way (which holds the upstream's credentials).
 */
export function logLine(event: ProxyEvent): LogLine {
  switch (event.type) {
    case 'exchange_started':
    case 'attempt_closed':
      return traceLine(event);
    case 'attempt_finished':
      return attempt(event);
    case 'suspicious_reply':
      return suspicionLine(event);
    case 'site_changed':
    case 'early_warning':
      return siteLine(event);
    case 'heartbeat':
      return heartbeat(event);
    case 'exchange_finished':
      return exchange(event);
    case 'download_resumed':
    case 'download_lost':
      return download(event);
    case 'dead_letter_parked':
    case 'dead_letter_closed':
    case 'dead_letter_redriven':
    case 'store_trouble':
      return deadLetterLine(event);
    case 'lane_paused':
      return line('info', `${event.lane} asks for less: paused for ${until(event)}`, {
        forbear: { lane: event.lane, paused_ms: left(event) },
      });
    case 'lane_isolated':
    case 'route_restored':
      return operatorLine(event);
    case 'breaker_changed':
      return breaker(event);
    case 'fuse_changed':
      return fuse(event);
    case 'route_ejected':
      return ejection(event);
    case 'upstream_out':
      return line(
        'warn',
        `upstream ${event.upstream} is out for ${until(event)}: ${sight(event.verdict.evidence)}`,
        {
          forbear: { upstream: event.upstream, verdict: word(event.verdict), out_ms: left(event) },
        },
      );
    case 'session_ended':
      return line(
        event.end === 'burned' ? 'warn' : 'info',
        `session ${event.session} ${event.end === 'burned' ? 'is burned: its address went bad' : 'has expired'}`,
        { session: { id: event.session }, forbear: { session_end: event.end } },
      );
    case 'request_refused':
      return line('info', `refused a request with ${event.status}: ${event.detail}`, {
        http: { response: { status_code: event.status } },
        error: { type: event.reason },
      });
    case 'client_tls_failed':
      return line(
        'warn',
        `a client broke off TLS for ${event.host} (${event.detail}); ` +
          'if it does not trust the CA yet: forbear ca install-help',
        { server: { address: event.host }, error: { type: 'client_tls' } },
      );
    case 'notice':
      return line(event.level, event.message, {});
  }
}

function traceLine(event: Of<'exchange_started' | 'attempt_closed'>): LogLine {
  const { exchange } = event;
  if (event.type === 'exchange_started') {
    return line('trace', `${request(exchange)} begins`, requestFields(exchange));
  }
  const { lane, n, route, cause, sentBytes, receivedBytes } = event;
  return line('trace', `${lane}: attempt ${n} over ${route.label} has let its wire go`, {
    ...requestFields(exchange),
    forbear: { exchange: exchange.id, cause, sent_bytes: sentBytes, received_bytes: receivedBytes },
  });
}

function line(level: LogLine['level'], message: string, fields: LogLine['fields']): LogLine {
  return { level, message, fields };
}

function exchange(event: Of<'exchange_finished'>): LogLine {
  const { delivery, exchange: done, answered } = event;
  const { ledger, verdict, stop, route } = delivery;
  const durationMs = Math.round(event.at - done.startedAt);
  const parts = [
    `${request(done)} ${ANSWERS[answered] ?? answered}`,
    verdict && word(verdict),
    stop && `not tried again: ${explainStop(stop)}`,
    ledger.attempts === 1 ? '1 attempt' : `${ledger.attempts} attempts`,
    ledger.waitedMs >= 1 && `waited ${seconds(ledger.waitedMs)}`,
    route?.label,
    done.session !== undefined && `session ${done.session}`,
    seconds(durationMs),
  ];
  return line('info', parts.filter(Boolean).join(' · '), {
    ...requestFields(done),
    http: {
      request: {
        method: done.method,
        resend_count: Math.max(0, ledger.attempts - 1),
        body: { size: event.sentBytes },
      },
      response: {
        ...(typeof answered === 'number' ? { status_code: answered } : {}),
        body: { size: event.receivedBytes },
      },
    },
    ...errorField(verdict, stop, answered),
    forbear: {
      exchange: done.id,
      verdict: verdict && word(verdict),
      stop,
      answered: typeof answered === 'number' ? undefined : answered,
      attempts: ledger.attempts,
      waited_ms: Math.round(ledger.waitedMs),
      route: route?.label,
      client: done.client.name,
      duration_ms: durationMs,
    },
  });
}

const ANSWERS: Readonly<Record<string, string>> = {
  client_gone: 'the client has gone',
  broken_off: 'broken off',
};

function attempt(event: Of<'attempt_finished'>): LogLine {
  const { exchange: done, verdict, action, reply } = event;
  const why = explain(verdict, action);
  return line('debug', `${request(done)} attempt ${event.n} over ${event.route.label}: ${why}`, {
    ...requestFields(done),
    http: {
      request: { method: done.method, resend_count: event.n - 1 },
      ...(reply.kind === 'response' ? { response: { status_code: reply.status } } : {}),
    },
    ...errorField(verdict, undefined, 0),
    forbear: {
      exchange: done.id,
      lane: event.lane,
      attempt: event.n,
      route: event.route.label,
      verdict: word(verdict),
      action: action.kind,
      explain: why,
      client: done.client.name,
      duration_ms: Math.round(event.durationMs),
    },
  });
}

function download(event: Of<'download_resumed' | 'download_lost'>): LogLine {
  const { exchange: broken, offset, route, lane } = event;
  const resumed = event.type === 'download_resumed';
  const message = resumed
    ? `${request(broken)} broke off and goes on at byte ${offset} of ${event.totalBytes}`
    : `${request(broken)} broke off for good after ${offset} bytes: ${event.detail}`;
  return line(resumed ? 'info' : 'warn', message, {
    ...requestFields(broken),
    ...(resumed ? {} : { error: { type: event.reason } }),
    forbear: {
      exchange: broken.id,
      lane,
      route: route.label,
      client: broken.client.name,
      resumption: resumed ? event.n : undefined,
      offset_bytes: offset,
      total_bytes: resumed ? event.totalBytes : undefined,
    },
  });
}

function heartbeat(event: Of<'heartbeat'>): LogLine {
  const { exchange: waiting, stage, at } = event;
  const soFarMs = Math.max(0, at - stage.sinceAt);
  const leftMs = stage.untilAt === undefined ? undefined : Math.max(0, stage.untilAt - at);
  const rest = leftMs === undefined ? '' : `, ${seconds(leftMs)} to go`;
  return line(
    'info',
    `still waiting: ${request(waiting)} ${STAGES[stage.kind]}, for ${seconds(soFarMs)} so far${rest}`,
    {
      ...requestFields(waiting),
      forbear: {
        exchange: waiting.id,
        stage: stage.kind,
        waiting_ms: Math.round(soFarMs),
        left_ms: leftMs === undefined ? undefined : Math.round(leftMs),
        client: waiting.client.name,
      },
    },
  );
}

/** What an exchange does in each stage, as the predicate of a sentence. */
export const STAGES: Record<Stage['kind'], string> = {
  queued: 'is queued for a free place',
  paused: 'is held by a pause the site asked for',
  pacing: 'waits for its turn under the pace',
  breaker: 'is held by the open circuit breaker',
  backoff: 'backs off before the next attempt',
  dialling: 'is being connected',
  awaiting_reply: 'has been sent, and there is no reply yet',
  receiving: 'is being received and checked',
  streaming: 'has a silent stream',
};

function breaker(event: Of<'breaker_changed'>): LogLine {
  const { lane, state, untilAt, at } = event;
  const fields = { forbear: { lane, breaker: state } };
  switch (state) {
    case 'open': {
      const span = untilAt === undefined ? '' : ` for ${seconds(Math.max(0, untilAt - at))}`;
      return line('warn', `breaker of ${lane} is open: nothing is sent${span}`, fields);
    }
    case 'half_open':
      return line('info', `breaker of ${lane} is half open: probing`, fields);
    case 'closed':
      return line('info', `breaker of ${lane} is closed: the site answers again`, fields);
  }
}

function fuse(event: Of<'fuse_changed'>): LogLine {
  const { lane, state, finding } = event;
  const found = finding === undefined ? '' : `; the probe says: ${FINDINGS[finding]}`;
  const message =
    state === 'blown'
      ? `auth fuse of ${lane} has blown: the same credentials were refused several times in a row${found}`
      : `auth fuse of ${lane} is mended${found}`;
  return line(state === 'blown' ? 'warn' : 'info', message, {
    forbear: { lane, fuse: state, finding },
  });
}

const FINDINGS: Record<NonNullable<Of<'fuse_changed'>['finding']>, string> = {
  credentials: 'the credentials are at fault',
  all_well: 'the credentials work',
  unreachable: 'the site cannot be reached',
};

function ejection(event: Of<'route_ejected'>): LogLine {
  const where = event.lane === undefined ? 'everywhere' : `for ${event.lane}`;
  return line('info', `route ${event.route.label} is ejected ${where} for ${until(event)}`, {
    forbear: { route: event.route.label, lane: event.lane, ejected_ms: left(event) },
  });
}

function errorField(
  verdict: Verdict | undefined,
  stop: Stop | undefined,
  answered: number | string,
) {
  const type =
    stop ??
    (verdict && verdict.fault !== 'none' ? verdict.reason : undefined) ??
    (typeof answered === 'string' ? answered : undefined);
  return type === undefined ? {} : { error: { type } };
}

const word = (verdict: Verdict): string => `${verdict.fault}/${verdict.reason}`;

const left = (event: { readonly at: number; readonly untilAt: number }): number =>
  Math.round(Math.max(0, event.untilAt - event.at));

const until = (event: { readonly at: number; readonly untilAt: number }): string =>
  seconds(left(event));
