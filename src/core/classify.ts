import { nothingSeen, type Sighting } from './diagnose.ts';
import { isEmpty, type Unmet, unmetExpectation } from './expect.ts';
import { failureVerdict, silenceVerdict } from './failures.ts';
import { type Asked, type Found, findMarker } from './find-marker.ts';
import { pathPattern } from './path-pattern.ts';
import type { Policy } from './policy.ts';
import { exhausted, hasRetryAfter, rateSignal } from './retry-after.ts';
import { ruledVerdict } from './rules.ts';
import { learnedVerdict, type Suspicion } from './soft-block.ts';
import { throttleWords } from './throttle-text.ts';
import { upstreamError } from './upstream-errors.ts';
import type {
  ClientReason,
  Evidence,
  RateVerdict,
  Reply,
  ResponseReply,
  RouteReason,
  TransientReason,
  TransientVerdict,
  Verdict,
} from './verdict.ts';

/** What a verdict may depend on besides the reply. */
export interface Judge {
  readonly request: {
    readonly method: string;
    readonly scheme: 'http' | 'https';
    readonly host: string;
    readonly path: string;
  };
  readonly policy: Policy;
  /** Text that the client itself wants to find in the body. */
  readonly expectText: string | undefined;
  /** Epoch ms by the wall clock, for dates in fields. */
  readonly nowWall: number;
  readonly routeId: string;
  /** Addresses that met a 403 on this lane and path pattern lately, without this reply's. */
  readonly blockedAddresses: readonly string[];
  /** How unlike the usual pages of this lane the reply is, where that is looked at. */
  readonly suspicion?: Suspicion | undefined;
  /** The known page that the reply was found to be when all of it was at hand; null: none. Absent: it is looked for. */
  readonly marker?: Found | null;
  /** What was seen around an attempt that failed; without it nothing is known about anybody. */
  readonly seen?: Sighting;
  readonly tools: {
    countCss(html: string, selector: string): number;
    matches(pattern: string, text: string): boolean;
  };
}

/** Judges a reply: whose fault is it? The first evidence that speaks decides. Pure; never throws. */
export function classify(reply: Reply, judge: Judge): Verdict {
  if (reply.kind === 'failure') return failureVerdict(reply, judge.nowWall, judge.seen);
  return (
    ruledVerdict(reply, judge) ??
    upstreamError(reply, judge.nowWall) ??
    markedVerdict(reply, judge) ??
    rateVerdict(reply, judge) ??
    statusVerdict(reply, judge) ??
    bodyVerdict(reply, judge) ??
    learnedVerdict(judge.suspicion, judge.policy.softBlocks.learned) ??
    expectVerdict(reply, judge) ??
    goodVerdict(reply, judge)
  );
}

/** Whether the reply itself says that the request was not acted upon, so that any method may be sent again. */
export function wasUnprocessed(reply: Reply): boolean {
  if (reply.kind !== 'response') return reply.unprocessed === true;
  const { status, rawHeaders } = reply;
  // RFC 6585 section 4, RFC 9110 sections 15.5.20 and 15.6.4, RFC 8470 section 5.2.
  return [421, 425, 429].includes(status) || (status === 503 && hasRetryAfter(rawHeaders));
}

/** Challenge, block and throttle pages, whatever their status. */
function markedVerdict(reply: ResponseReply, judge: Judge): Verdict | undefined {
  if (judge.policy.softBlocks.markers !== 'enforce') return undefined;
  const found = judge.marker === undefined ? findMarker(reply, askedFor(judge)) : judge.marker;
  return found ? verdictOfMarker(found, reply, judge) : undefined;
}

/** What a marker may depend on besides the reply. */
export const askedFor = ({ request, policy }: Pick<Judge, 'request' | 'policy'>): Asked => ({
  path: request.path,
  markers: policy.markers,
});

function verdictOfMarker({ marker, signs }: Found, reply: ResponseReply, judge: Judge): Verdict {
  const evidence: Evidence = { kind: 'marker', marker: marker.id, signs };
  switch (marker.kind) {
    case 'challenge':
    case 'wall':
      return route('challenged', evidence);
    case 'block':
      return (
        (reply.status === 403 ? persistentBlock(judge) : undefined) ?? route('blocked', evidence)
      );
    case 'throttle':
      return rate(reply, judge, evidence);
  }
}

function rateVerdict(reply: ResponseReply, judge: Judge): Verdict | undefined {
  const { status, rawHeaders } = reply;
  if (asksForLess(reply, judge)) {
    const told = rateSignal(rawHeaders, judge.nowWall) ?? exhausted(rawHeaders, judge.nowWall);
    return rate(
      reply,
      judge,
      told
        ? { kind: 'header', name: told.header, value: told.value, status }
        : { kind: 'status', status },
    );
  }
  if (judge.policy.softBlocks.markers !== 'enforce') return undefined;
  const words = throttleWords(reply);
  return words === undefined
    ? undefined
    : rate(reply, judge, { kind: 'marker', marker: 'throttle-text', signs: [words] });
}

function asksForLess({ status, rawHeaders }: ResponseReply, { nowWall }: Judge): boolean {
  switch (status) {
    case 429:
      return true;
    case 403:
      return hasRetryAfter(rawHeaders) || exhausted(rawHeaders, nowWall) !== undefined;
    case 413:
      return hasRetryAfter(rawHeaders);
    case 503:
      // One that cannot be read is as if absent: a plain overload, which the budget and the breaker bound.
      return rateSignal(rawHeaders, nowWall)?.header.startsWith('retry-after') ?? false;
    default:
      return false;
  }
}

function statusVerdict(reply: ResponseReply, judge: Judge): Verdict | undefined {
  const { status, via } = reply;
  const evidence: Evidence = { kind: 'status', status };
  // A 421 asks for another connection (RFC 9110 section 15.5.20), and a fresh attempt is one.
  if (judge.policy.transientStatuses.includes(status) || status === 421) {
    const verdict = transient(status < 400 ? 'unexpected' : 'overloaded', evidence);
    return via === 'forward' && status >= 502 && status <= 504
      ? { ...verdict, ambiguous: true }
      : verdict;
  }
  if (status < 400) return undefined;
  switch (status) {
    case 401:
      return client('unauthorized', evidence);
    case 403:
      return persistentBlock(judge) ?? route('blocked', evidence);
    case 404:
    case 410:
      return client('not_found', evidence);
    default:
      return client('rejected', evidence);
  }
}

/** Once enough different addresses were refused, it is not the address that is refused. */
function persistentBlock({ policy, request, ...judge }: Judge): Verdict | undefined {
  const addresses = new Set([...judge.blockedAddresses, judge.routeId]).size;
  if (addresses < policy.maxAddresses) return undefined;
  const pattern = pathPattern(request.path);
  return client('persistent_block', { kind: 'pattern', addresses, pattern });
}

/** A body that is not whole. An unreadable coding is the site's own doing and the client's to handle. */
function bodyVerdict({ body }: ResponseReply, { seen }: Judge): Verdict | undefined {
  if (body.kind !== 'seen') return undefined;
  const { end, coding, receivedBytes } = body;
  if (end === 'stalled') {
    const evidence = { kind: 'body', finding: 'stalled', receivedBytes } as const;
    return silenceVerdict(evidence, seen ?? nothingSeen);
  }
  if (end === 'cut_short') {
    return transient('truncated', { kind: 'body', finding: 'cut_short', receivedBytes });
  }
  // No bytes at all are no broken coding, they are an empty body.
  if (end === 'complete' && coding === 'cut_short' && receivedBytes > 0) {
    return transient('truncated', { kind: 'body', finding: 'coding_cut_short', receivedBytes });
  }
  return undefined;
}

function expectVerdict(reply: ResponseReply, judge: Judge): Verdict | undefined {
  const unmet = unmetExpectation(reply, judge);
  return unmet && verdictOfUnmet(unmet, reply, judge);
}

function verdictOfUnmet(unmet: Unmet, reply: ResponseReply, judge: Judge): Verdict {
  const evidence: Evidence = { kind: 'expect', missing: unmet.missing };
  switch (unmet.otherwise) {
    case 'transient':
      return isEmpty(reply.body)
        ? transient('empty', { kind: 'body', finding: 'empty', receivedBytes: 0 })
        : transient('unexpected', evidence);
    case 'rate':
      return rate(reply, judge, evidence);
    case 'address':
      return route('blocked', evidence);
    case 'terminal':
      return client('rule', evidence);
  }
}

function goodVerdict(reply: ResponseReply, judge: Judge): Verdict {
  const { status, rawHeaders, body } = reply;
  const evidence: Evidence =
    body.kind === 'seen' && body.coding === 'broken'
      ? { kind: 'body', finding: 'coding_broken', receivedBytes: body.receivedBytes }
      : { kind: 'status', status };
  const paceMs = exhausted(rawHeaders, judge.nowWall)?.waitMs;
  const verdict = { fault: 'none', reason: 'ok', evidence } as const;
  return paceMs === undefined ? verdict : { ...verdict, paceMs };
}

function rate({ rawHeaders }: ResponseReply, { nowWall }: Judge, evidence: Evidence): RateVerdict {
  const waitMs = rateSignal(rawHeaders, nowWall)?.waitMs ?? exhausted(rawHeaders, nowWall)?.waitMs;
  const verdict = { fault: 'host', kind: 'rate', reason: 'rate_limited', evidence } as const;
  return waitMs === undefined ? verdict : { ...verdict, waitMs };
}

const transient = (reason: TransientReason, evidence: Evidence): TransientVerdict => ({
  fault: 'host',
  kind: 'transient',
  reason,
  evidence,
});

const client = (reason: ClientReason, evidence: Evidence): Verdict => ({
  fault: 'client',
  reason,
  evidence,
});

const route = (reason: RouteReason, evidence: Evidence): Verdict => ({
  fault: 'route',
  reason,
  scope: 'lane',
  evidence,
});
