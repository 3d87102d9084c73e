/**
 * Whose fault is it? The one question behind every decision (see docs/reasons.md).
 * Another route cures a route's fault, only time cures a host's, and nothing cures the client's.
 */
export type Verdict =
  | GoodVerdict
  | ClientVerdict
  | RateVerdict
  | TransientVerdict
  | RouteVerdict
  | AccountVerdict
  | SelfVerdict;

export interface GoodVerdict {
  readonly fault: 'none';
  readonly reason: 'ok';
  readonly evidence: Evidence;
  /** The site says that nothing is left until then: a span the lane stays quiet for before it is throttled. */
  readonly paceMs?: number;
}

export interface ClientVerdict {
  readonly fault: 'client';
  readonly reason: ClientReason;
  readonly evidence: Evidence;
}

/** The site says "send less". Only time cures it; no code that rotates accepts this type. */
export interface RateVerdict {
  readonly fault: 'host';
  readonly kind: 'rate';
  readonly reason: 'rate_limited';
  readonly evidence: Evidence;
  /** How long the site asked us to stay away; absent when it named no usable time. */
  readonly waitMs?: number;
}

export interface TransientVerdict {
  readonly fault: 'host';
  readonly kind: 'transient';
  readonly reason: TransientReason;
  readonly evidence: Evidence;
  /** A 502-504 on plain HTTP through an upstream: either of the two may have said it. */
  readonly ambiguous?: true;
}

export interface RouteVerdict {
  readonly fault: 'route';
  readonly reason: RouteReason;
  /** `lane`: this address is bad for this lane only. `everywhere`: the address itself does not work. */
  readonly scope: 'lane' | 'everywhere';
  readonly evidence: Evidence;
}

export interface AccountVerdict {
  readonly fault: 'account';
  readonly reason: AccountReason;
  readonly evidence: Evidence;
  readonly waitMs?: number;
}

export interface SelfVerdict {
  readonly fault: 'self';
  readonly reason: SelfReason;
  readonly evidence: Evidence;
}

export type ClientReason =
  | 'not_found'
  | 'unauthorized'
  | 'rejected'
  | 'persistent_block'
  | 'rule'
  | 'untrusted_certificate'
  | 'unresolvable'
  | 'bad_request'
  /** The reply breaks HTTP itself; the site would break it again on every address. */
  | 'malformed_reply'
  /** The target is a private, link-local or metadata address that this proxy may not reach. */
  | 'prohibited'
  /** The target is this proxy itself. */
  | 'loop';

export type TransientReason =
  | 'overloaded'
  | 'unreachable'
  | 'reset'
  | 'truncated'
  | 'slow'
  | 'empty'
  /** A good status without what the user's `expect` asks for, where the rule says to try again. */
  | 'unexpected';

export type RouteReason = 'blocked' | 'challenged' | 'unreachable' | 'refused' | 'slow_route';
export type AccountReason = 'upstream_auth' | 'upstream_quota' | 'upstream_rate_limited';
export type SelfReason = 'overrun' | 'local_network';

export type Reason = Verdict['reason'];

/** What the verdict rests on, as data; `explain` turns it into a sentence. */
export type Evidence =
  | { readonly kind: 'status'; readonly status: number }
  | {
      readonly kind: 'header';
      readonly name: string;
      readonly value: string;
      readonly status: number;
    }
  /** A challenge or block page: `signs` are at least two independent ones unless a header alone proves it. */
  | { readonly kind: 'marker'; readonly marker: string; readonly signs: readonly string[] }
  /** Unlike what this lane usually gets: what was learned of it, and how much it weighs (1 is enough). */
  | { readonly kind: 'learned'; readonly signs: readonly string[]; readonly score: number }
  | { readonly kind: 'rule'; readonly label: string }
  | { readonly kind: 'expect'; readonly missing: string }
  | { readonly kind: 'body'; readonly finding: BodyFinding; readonly receivedBytes: number }
  | {
      readonly kind: 'failure';
      readonly phase: Phase;
      readonly code: FailureCode;
      readonly detail: string;
    }
  | { readonly kind: 'upstream'; readonly status: number; readonly said: string }
  | { readonly kind: 'pattern'; readonly addresses: number; readonly pattern: string };

export type BodyFinding = 'cut_short' | 'coding_cut_short' | 'stalled' | 'empty' | 'coding_broken';

/** The step of an attempt in which it ended. Dial and handshake belong to the upstream, if there is one. */
export type Phase =
  | 'resolve'
  | 'dial'
  | 'upstream_handshake'
  | 'tls'
  | 'send'
  | 'first_byte'
  | 'body';

/** A closed vocabulary made from error codes and phases, never from message text. */
export type FailureCode =
  | 'unresolvable'
  | 'resolver_failed'
  | 'connection_refused'
  | 'connection_reset'
  /** Ended in good order, but before a reply. */
  | 'closed'
  | 'unreachable'
  | 'timeout'
  | 'certificate'
  | 'tls'
  /** The other side of TLS speaks nothing that it was offered. */
  | 'no_common_protocol'
  /** The upstream answered the CONNECT or SOCKS request with a refusal; see `upstreamReply`. */
  | 'upstream_refused'
  | 'upstream_protocol'
  | 'http_protocol'
  | 'header_overflow'
  /** HTTP/2: refused before it was acted upon (REFUSED_STREAM, or left behind by a GOAWAY). */
  | 'stream_refused'
  /** HTTP/2: ENHANCE_YOUR_CALM. */
  | 'calm'
  | 'prohibited'
  | 'loop'
  /** Out of file descriptors, ports or memory on this machine. */
  | 'local_resources'
  /** Our HTTP library refused to send the request; nothing left this machine. */
  | 'invalid_request'
  | 'aborted'
  /** The client's patience ended first; says nothing about anybody. */
  | 'patience'
  | 'internal';

/** What one attempt produced, reduced to the facts a verdict may depend on. */
export type Reply = ResponseReply | FailureReply;

/** How the exchange travelled: `forward` is plain HTTP by absolute-form, where the upstream can answer in the site's name. */
export type Via = 'direct' | 'tunnel' | 'forward';

export interface ResponseReply {
  readonly kind: 'response';
  readonly via: Via;
  readonly status: number;
  /** Names and values in turn, as received (latin1 text, original case, order and duplicates). */
  readonly rawHeaders: readonly string[];
  readonly body: BodySight;
  /** Milliseconds from the attempt's start to the response head. */
  readonly headMs: number;
}

/** What could be seen of the body before a byte of it went to the client. */
export type BodySight =
  /** There is none by protocol: HEAD, 204, 304, 1xx. */
  | { readonly kind: 'none' }
  /** Not looked at: its type is not inspected; it streams. */
  | { readonly kind: 'unseen' }
  | {
      readonly kind: 'seen';
      /** Decoded (content coding and charset), at most `inspect.bytes` of it. */
      readonly text: string;
      /** Encoded bytes on the wire so far. */
      readonly receivedBytes: number;
      /** `pending`: too long to be held whole; the rest is streaming. */
      readonly end: 'complete' | 'pending' | 'cut_short' | 'stalled';
      readonly coding: 'ok' | 'broken' | 'cut_short' | 'unknown' | 'bomb';
    };

export interface FailureReply {
  readonly kind: 'failure';
  readonly via: Via;
  readonly phase: Phase;
  readonly code: FailureCode;
  /** Who was at the other end when it failed. `local`: nobody, it never left this machine. */
  readonly leg: 'upstream' | 'origin' | 'local';
  /** Whether any byte of the request had been handed to a socket that reaches the origin. */
  readonly sent: boolean;
  /** The origin said that it did not act upon the request, so that any method may be sent again. */
  readonly unprocessed?: true;
  /** The upstream's own answer to CONNECT or SOCKS, when there was one. */
  readonly upstreamReply?: UpstreamReply;
  /** The cause in the system's words, for logs and `details`; never parsed. */
  readonly detail: string;
}

export interface UpstreamReply {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  /** At most 4 KiB, latin1. */
  readonly text: string;
}
