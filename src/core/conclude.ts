import type { Stop } from './action.ts';
import { explainStop, explainVerdict, sight } from './explain.ts';
import { fieldValue } from './fields.ts';
import type { FailureCode, FailureReply, Phase, Reply, Verdict } from './verdict.ts';

/** What the client gets at the end: the last reply as it came, or one of our own. */
export type Conclusion =
  | {
      readonly kind: 'pass';
      /** Set when the reply is marked: an RFC 9209 error token. */
      readonly token: string | undefined;
      readonly detail: string | undefined;
      /** A 429 whose wait came from another header gets a Retry-After added. */
      readonly addRetryAfterMs: number | undefined;
    }
  | {
      readonly kind: 'own';
      readonly status: number;
      /** RFC 9209 section 2.3. */
      readonly token: string;
      /** The stop, or else the verdict's reason. */
      readonly reason: string;
      readonly detail: string;
      readonly retryAfterMs: number | undefined;
      /** The status of the reply that is not passed on, if there was one. */
      readonly receivedStatus: number | undefined;
    };

export interface Ending {
  readonly verdict: Verdict | undefined;
  readonly stop: Stop | undefined;
  readonly reply: Reply | undefined;
  /** Whether the reply's body is still at hand. */
  readonly deliverable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly fuseStatus?: number | undefined;
  /** Nothing could be sent, because every upstream is out for want of credentials or quota. */
  readonly accountsOut?: boolean | undefined;
}

/** Chooses the one final answer. A 2xx or 3xx that failed validation never passes. */
export function conclude(ending: Ending): Conclusion {
  const { verdict, stop, reply, deliverable } = ending;
  if (reply?.kind === 'response' && deliverable && verdict && maySee(reply.status, verdict, stop)) {
    return {
      kind: 'pass',
      token: stop === undefined ? undefined : tokenFor(ending),
      detail: stop === undefined ? undefined : detailFor(ending),
      addRetryAfterMs: missingRetryAfter(reply, verdict),
    };
  }
  return {
    kind: 'own',
    status: statusFor(ending),
    token: tokenFor(ending),
    reason: stop ?? verdict?.reason ?? 'internal',
    detail: detailFor(ending),
    retryAfterMs: ending.retryAfterMs ?? waitOf(verdict),
    receivedStatus: reply?.kind === 'response' ? reply.status : undefined,
  };
}

/** Good replies, final ones, and failures that say so themselves; never the provider's own 407. */
function maySee(status: number, verdict: Verdict, stop: Stop | undefined): boolean {
  if (verdict.fault === 'none' || verdict.fault === 'client') return true;
  if (verdict.fault === 'account') return false;
  return status >= 400 && stop !== undefined && !OWN_ONLY.has(stop);
}

/** These are told about the exchange as it stands, even when an earlier try had a reply. */
const OWN_ONLY: ReadonlySet<Stop> = new Set([
  'auth_fuse',
  'draining',
  'session_expired',
  'session_unsupported',
]);

function missingRetryAfter(reply: Reply, verdict: Verdict): number | undefined {
  if (reply.kind !== 'response' || reply.status !== 429) return undefined;
  return fieldValue(reply.rawHeaders, 'retry-after') === undefined ? waitOf(verdict) : undefined;
}

function waitOf(verdict: Verdict | undefined): number | undefined {
  if (verdict?.fault === 'account') return verdict.waitMs;
  return verdict?.fault === 'host' && verdict.kind === 'rate' ? verdict.waitMs : undefined;
}

function statusFor(ending: Ending): number {
  switch (ending.stop) {
    case 'lane_paused':
      return ending.reply === undefined ? 429 : statusOfFailure(ending);
    case 'breaker_open':
    case 'queue_full':
    case 'draining':
    case 'isolated':
      return 503;
    case 'session_burned':
      return ending.reply === undefined ? 409 : statusOfFailure(ending);
    case 'session_expired':
    case 'session_unsupported':
      return 409;
    case 'auth_fuse':
      return ending.fuseStatus ?? 401;
    case 'no_route':
    case 'patience_exceeded':
    case 'byte_budget_spent':
      return ending.reply === undefined ? 503 : statusOfFailure(ending);
    case 'attempts_exhausted':
    case 'addresses_exhausted':
    case 'rate_waits_exhausted':
    case 'retry_budget_spent':
    case 'wait_too_long':
    case 'body_not_replayable':
    case 'maybe_executed':
    case 'retry_off':
    case 'client_gone':
    case undefined:
      return statusOfFailure(ending);
  }
}

function statusOfFailure({ verdict, reply }: Ending): number {
  switch (verdict?.reason) {
    case 'bad_request':
      return 400;
    case 'prohibited':
      return 403;
    case undefined:
      return reply === undefined ? 500 : 504;
    default:
      return timedOut(reply) ? 504 : 502;
  }
}

function timedOut(reply: Reply | undefined): boolean {
  if (reply?.kind === 'failure') return reply.code === 'timeout' || reply.code === 'patience';
  return reply?.body.kind === 'seen' && reply.body.end === 'stalled';
}

function tokenFor(ending: Ending): string {
  const { stop, verdict, reply } = ending;
  const byStop = stop === undefined ? undefined : STOP_TOKENS[stop];
  if (byStop !== undefined) return byStop;
  if (ending.accountsOut) return 'proxy_configuration_error';
  if (verdict?.fault === 'account') {
    return verdict.reason === 'upstream_rate_limited'
      ? 'connection_limit_reached'
      : 'proxy_configuration_error';
  }
  if (reply?.kind === 'failure') return tokenOfFailure(reply);
  if (verdict?.reason === 'truncated') return 'http_response_incomplete';
  if (verdict?.reason === 'slow' || verdict?.reason === 'slow_route')
    return 'http_response_timeout';
  if (verdict?.fault === 'host' && verdict.kind === 'rate') return 'connection_limit_reached';
  if (verdict === undefined && stop === undefined) return 'proxy_internal_error';
  return 'destination_unavailable';
}

const STOP_TOKENS: Partial<Record<Stop, string>> = {
  lane_paused: 'connection_limit_reached',
  breaker_open: 'destination_unavailable',
  queue_full: 'connection_limit_reached',
  byte_budget_spent: 'connection_limit_reached',
  draining: 'proxy_internal_response',
  isolated: 'destination_unavailable',
  session_burned: 'http_request_denied',
  session_expired: 'http_request_denied',
  session_unsupported: 'proxy_configuration_error',
  auth_fuse: 'http_request_denied',
};

function tokenOfFailure(reply: FailureReply): string {
  if (reply.code === 'timeout') return TIMEOUT_TOKENS[reply.phase];
  return FAILURE_TOKENS[reply.code];
}

const TIMEOUT_TOKENS: Record<Phase, string> = {
  resolve: 'dns_timeout',
  dial: 'connection_timeout',
  upstream_handshake: 'connection_timeout',
  tls: 'connection_timeout',
  send: 'connection_write_timeout',
  first_byte: 'http_response_timeout',
  body: 'connection_read_timeout',
};

const FAILURE_TOKENS: Record<Exclude<FailureCode, 'timeout'>, string> = {
  unresolvable: 'dns_error',
  resolver_failed: 'dns_error',
  connection_refused: 'connection_refused',
  connection_reset: 'connection_terminated',
  closed: 'connection_terminated',
  unreachable: 'destination_ip_unroutable',
  certificate: 'tls_certificate_error',
  tls: 'tls_protocol_error',
  no_common_protocol: 'tls_alert_received',
  upstream_refused: 'destination_unavailable',
  upstream_protocol: 'http_protocol_error',
  http_protocol: 'http_protocol_error',
  header_overflow: 'http_response_header_section_size',
  stream_refused: 'connection_terminated',
  calm: 'connection_terminated',
  prohibited: 'destination_ip_prohibited',
  loop: 'proxy_loop_detected',
  local_resources: 'proxy_internal_error',
  invalid_request: 'http_request_error',
  aborted: 'connection_terminated',
  patience: 'http_response_timeout',
  internal: 'proxy_internal_error',
};

function detailFor({ verdict, stop }: Ending): string {
  if (stop === undefined) {
    return verdict === undefined ? 'Something broke inside the proxy.' : explainVerdict(verdict);
  }
  if (verdict === undefined) return sentence(explainStop(stop));
  return `${sentence(sight(verdict.evidence))} ${sentence(explainStop(stop))}`;
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
