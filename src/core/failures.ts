import { diagnose, nothingSeen, type Sighting } from './diagnose.ts';
import { upstreamRefusal } from './upstream-errors.ts';
import type {
  ClientReason,
  Evidence,
  FailureReply,
  RouteReason,
  SelfReason,
  TransientReason,
  Verdict,
} from './verdict.ts';

/** Judges an attempt that brought no response, in the light of what was seen around it. */
export function failureVerdict(
  reply: FailureReply,
  nowWall: number,
  seen: Sighting = nothingSeen,
): Verdict {
  if (reply.upstreamReply !== undefined) return upstreamRefusal(reply.upstreamReply, nowWall);
  const evidence = evidenceOf(reply);
  if (seen.network === 'out' && isExcused(reply)) return self('local_network', evidence);
  switch (reply.code) {
    case 'certificate':
      // An https upstream's bad certificate is that upstream's; the site's is the same over every route.
      return ofUpstream(reply)
        ? route('unreachable', 'everywhere', evidence)
        : client('untrusted_certificate', evidence);
    case 'http_protocol':
    case 'header_overflow':
      return ofUpstream(reply)
        ? route('unreachable', 'everywhere', evidence)
        : client('malformed_reply', evidence);
    case 'no_common_protocol':
      return ofUpstream(reply)
        ? route('unreachable', 'everywhere', evidence)
        : client('malformed_reply', evidence);
    case 'stream_refused':
      return transient('overloaded', evidence);
    case 'calm':
      return { fault: 'host', kind: 'rate', reason: 'rate_limited', evidence };
    case 'prohibited':
    case 'loop':
      return client(reply.code, evidence);
    case 'invalid_request':
    case 'internal':
      return client('bad_request', evidence);
    case 'upstream_refused':
      return route('refused', 'lane', evidence);
    case 'upstream_protocol':
      return route('unreachable', 'everywhere', evidence);
    case 'local_resources':
      return self('overrun', evidence);
    case 'resolver_failed':
    // Nobody is to be blamed for these two: the loop ends the exchange before it asks for a verdict.
    case 'aborted':
    case 'patience':
      return self('local_network', evidence);
    case 'unresolvable':
    case 'connection_refused':
    case 'connection_reset':
    case 'closed':
    case 'unreachable':
    case 'timeout':
    case 'tls':
      return ofUpstream(reply)
        ? route('unreachable', 'everywhere', evidence)
        : siteFailure(reply, evidence, seen);
  }
}

/** Looking up, dialling and the handshake belong to the upstream where there is one; what follows passes through it. */
function ofUpstream({ phase, leg, via }: FailureReply): boolean {
  switch (phase) {
    case 'upstream_handshake':
      return true;
    case 'resolve':
    case 'dial':
      return leg === 'upstream' || (leg === 'local' && via !== 'direct');
    case 'tls':
    case 'send':
    case 'first_byte':
    case 'body':
      return false;
  }
}

/** Judges a silence after the connection stood: whose it is follows from how everybody else fared meanwhile. */
export function silenceVerdict(evidence: Evidence, seen: Sighting): Verdict {
  const diagnosis = diagnose(seen);
  switch (diagnosis) {
    case 'slow_route':
      return route('slow_route', 'everywhere', evidence);
    case 'slow':
      return transient('slow', evidence);
    case 'overrun':
    case 'local_network':
      return self(diagnosis, evidence);
  }
}

/** What a machine without a network would meet. */
function isExcused({ code }: FailureReply): boolean {
  switch (code) {
    case 'timeout':
    case 'unreachable':
    case 'resolver_failed':
    case 'unresolvable':
    case 'connection_reset':
    case 'closed':
      return true;
    default:
      return false;
  }
}

/** The site's side went wrong: over `direct` nothing else is between, through an upstream the site is still the likelier. */
function siteFailure(reply: FailureReply, evidence: Evidence, seen: Sighting): Verdict {
  const { code, phase, via } = reply;
  if (code === 'unresolvable') {
    // One more look, shortly after: a resolver that just lost its network says the same.
    return seen.look === 'first'
      ? self('local_network', evidence)
      : client('unresolvable', evidence);
  }
  if (code === 'unreachable' && via === 'direct') return self('local_network', evidence);
  if (phase === 'resolve') return self('local_network', evidence);
  if (phase === 'dial') {
    return via === 'direct'
      ? transient('unreachable', evidence)
      : route('unreachable', 'lane', evidence);
  }
  if (code === 'timeout') return silenceVerdict(evidence, seen);
  return brokenOff(reply, evidence, seen);
}

/** A connection that broke off. Too much at once is answered with silence or a status, so `overrun` is not read from it. */
function brokenOff({ phase, via }: FailureReply, evidence: Evidence, seen: Sighting): Verdict {
  const diagnosis = diagnose(seen);
  if (diagnosis === 'slow_route') return route('unreachable', 'everywhere', evidence);
  if (diagnosis === 'local_network') return self('local_network', evidence);
  const verdict = transient(phase === 'body' ? 'truncated' : 'reset', evidence);
  // On forwarded plain HTTP it is the upstream's socket that broke: either of the two may have done it.
  return via === 'forward' ? { ...verdict, ambiguous: true } : verdict;
}

function evidenceOf({ phase, code, detail }: FailureReply): Evidence {
  return { kind: 'failure', phase, code, detail };
}

const client = (reason: ClientReason, evidence: Evidence): Verdict => ({
  fault: 'client',
  reason,
  evidence,
});

const route = (reason: RouteReason, scope: 'lane' | 'everywhere', evidence: Evidence): Verdict => ({
  fault: 'route',
  reason,
  scope,
  evidence,
});

const self = (reason: SelfReason, evidence: Evidence): Verdict => ({
  fault: 'self',
  reason,
  evidence,
});

const transient = (reason: TransientReason, evidence: Evidence) =>
  ({ fault: 'host', kind: 'transient', reason, evidence }) as const;
