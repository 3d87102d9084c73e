import type { Action, Stop } from './action.ts';
import type { BodyFinding, Evidence, FailureCode, Phase, Reason, Verdict } from './verdict.ts';

/** One sentence per decision, for logs, replies, the dashboard and dead letters: what was seen, whose fault, what was done. */
export function explain(verdict: Verdict, action: Action): string {
  return `${capital(sight(verdict.evidence))}: ${blame(verdict)}; ${deed(action)}.`;
}

/** What was seen, and whose fault it is, where nothing more follows. */
export function explainVerdict(verdict: Verdict): string {
  return `${capital(sight(verdict.evidence))}: ${blame(verdict)}.`;
}

/** What a verdict rests on, in words. */
export function sight(evidence: Evidence): string {
  switch (evidence.kind) {
    case 'status':
      return `the status was ${evidence.status}`;
    case 'header':
      return `the status was ${evidence.status} with ${evidence.name}: ${evidence.value}`;
    case 'marker':
      return `the page is ${evidence.marker} (${evidence.signs.join(', ')})`;
    case 'learned':
      return `the reply is unlike what usually comes there (${evidence.signs.join('; ')})`;
    case 'rule':
      return `your rule "${evidence.label}" matched`;
    case 'expect':
      return `the reply lacks what you expect (${evidence.missing})`;
    case 'body':
      return FINDINGS[evidence.finding](evidence.receivedBytes);
    case 'failure':
      return `${PHASES[evidence.phase]}, ${FAILURES[evidence.code]}${evidence.detail === '' ? '' : ` (${evidence.detail})`}`;
    case 'upstream':
      return `the upstream itself answered ${evidence.status}${evidence.said === '' ? '' : ` (${evidence.said})`}`;
    case 'pattern':
      return `${evidence.addresses} different addresses were refused at ${evidence.pattern}`;
  }
}

/** Why it was not tried again, in words. */
export function explainStop(stop: Stop): string {
  return STOPS[stop];
}

function blame(verdict: Verdict): string {
  return BLAME[verdict.reason];
}

function deed(action: Action): string {
  switch (action.kind) {
    case 'deliver':
      return 'delivered as it came';
    case 'wait':
      return `waiting ${seconds(action.delayMs)} on ${action.elsewhere ? 'another' : 'the same'} route${action.charged ? ', charged to the retry budget' : ''}`;
    case 'rotate':
      return action.because.fault === 'account'
        ? 'taking the next upstream'
        : `taking a fresh route${action.charged ? ', charged to the retry budget' : ''}`;
    case 'burn':
      return 'ending the session: its address is never swapped';
    case 'fail':
      return `not tried again: ${STOPS[action.stop]}`;
  }
}

/** Milliseconds as people say them. */
export function seconds(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 120) return `${Number(s.toFixed(1))} s`;
  const minutes = s / 60;
  return minutes < 120
    ? `${Number(minutes.toFixed(1))} min`
    : `${Number((minutes / 60).toFixed(1))} h`;
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const FINDINGS: Record<BodyFinding, (bytes: number) => string> = {
  cut_short: (n) => `the body ended early, after ${n} bytes`,
  coding_cut_short: (n) => `the compressed body ended early, after ${n} bytes`,
  stalled: (n) => `the body fell silent after ${n} bytes`,
  empty: () => 'the body is empty',
  coding_broken: (n) => `the body (${n} bytes) is not in the coding its label names`,
};

const PHASES: Record<Phase, string> = {
  resolve: 'while looking up the name',
  dial: 'while connecting',
  upstream_handshake: 'while the upstream was asked for a way through',
  tls: 'while setting up TLS with the site',
  send: 'while sending the request',
  first_byte: 'while waiting for the reply',
  body: 'within the body',
};

const FAILURES: Record<FailureCode, string> = {
  unresolvable: 'the name does not exist',
  resolver_failed: 'the resolver did not answer',
  connection_refused: 'the connection was refused',
  connection_reset: 'the connection was reset',
  closed: 'the connection was closed without a reply',
  unreachable: 'there was no way to the network',
  timeout: 'nothing came in time',
  certificate: 'the certificate could not be trusted',
  tls: 'TLS failed',
  no_common_protocol: 'none of the protocols that were offered is spoken there',
  upstream_refused: 'the upstream refused',
  upstream_protocol: 'the upstream did not speak its protocol',
  http_protocol: 'the reply broke the rules of HTTP',
  header_overflow: 'the reply head was larger than allowed',
  stream_refused: 'the request was refused before it was acted upon',
  calm: 'the site said to enhance your calm, which is the 429 of HTTP/2 itself',
  prohibited: 'the address may not be reached through this proxy',
  loop: 'the target is this proxy itself',
  local_resources: 'this machine ran out of sockets or files',
  invalid_request: 'the request could not be put on the wire',
  aborted: 'the client had gone',
  patience: 'the patience of the client ended',
  internal: 'something broke inside the proxy',
};

const BLAME: Record<Reason, string> = {
  ok: 'the reply is good',
  not_found: 'the page is not there, which is an answer',
  unauthorized: 'the credentials are not accepted, and no retry changes that',
  rejected: 'the site refuses this very request',
  persistent_block: 'it is the request that is refused, not the address',
  rule: 'the rule says that this is final',
  untrusted_certificate: 'no retry makes the certificate right',
  unresolvable: 'no retry makes the name exist',
  bad_request: 'the request itself is at fault',
  malformed_reply: 'the site would answer so on every address',
  prohibited: 'the target is not allowed',
  loop: 'the request would come back to this proxy',
  rate_limited: 'the site asks for less, so the whole lane waits and no other address is taken',
  overloaded: 'the site has trouble of its own',
  unreachable: 'it cannot be reached',
  reset: 'the site broke off',
  truncated: 'the reply is not whole',
  slow: 'the site is slow',
  empty: 'the site sent nothing where there should be something',
  unexpected: 'the page is not the one you asked for',
  blocked: 'this address is not welcome there',
  challenged: 'this address is being challenged',
  refused: 'the upstream does not serve this target',
  slow_route: 'this address is slow',
  upstream_auth: 'the upstream does not accept the credentials',
  upstream_quota: 'the account with the upstream is used up',
  upstream_rate_limited: 'the upstream limits us, not the site',
  overrun: 'we sent more at once than goes well',
  local_network: 'our own network is at fault and nobody else is blamed',
};

const STOPS: Record<Stop, string> = {
  attempts_exhausted: 'all attempts are used up',
  addresses_exhausted: 'as many addresses as allowed have been tried',
  rate_waits_exhausted: 'the site went on throttling after all the waits allowed',
  retry_budget_spent: "the lane's retry budget is spent",
  byte_budget_spent:
    "the lane's bytes of the day are spent, or as many as retries may have of them",
  patience_exceeded: 'the wait would outlast the patience of the client',
  wait_too_long: 'the site asks for a longer wait than is ever waited here',
  body_not_replayable: 'the request body was too large to be kept and cannot be sent again',
  maybe_executed: 'the request may have been executed and must not be repeated',
  retry_off: 'the client asked for no retries',
  breaker_open: 'the circuit breaker of this host is open',
  lane_paused: 'this host asked to be left alone for longer than the client will wait',
  queue_full: 'too many requests already wait for this host',
  no_route: 'there is no other way out',
  session_burned: 'the session has ended because its address went bad; start a new one',
  session_expired: 'the session has expired; start a new one',
  session_unsupported: 'this upstream gives a new address per connection and cannot hold a session',
  auth_fuse:
    'the same credentials were refused several times in a row; they are not tried again for now',
  draining: 'the proxy is stopping',
  isolated: 'this host is isolated: nothing is sent there until it is resumed',
  client_gone: 'the client has gone',
};

/** All words that can stand in `Forbear-Verdict` and `Forbear-Stop`, for the documents' tests. */
export const VOCABULARY = {
  reasons: Object.keys(BLAME) as Reason[],
  stops: Object.keys(STOPS) as Stop[],
} as const;
