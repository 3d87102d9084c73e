import { fieldValue } from './fields.ts';
import { exhausted, rateSignal } from './retry-after.ts';
import { faultInWords, type VendorError, type VendorFault, vendorError } from './vendor.ts';
import type {
  AccountReason,
  AccountVerdict,
  Evidence,
  ResponseReply,
  RouteReason,
  RouteVerdict,
  UpstreamReply,
} from './verdict.ts';

type UpstreamVerdict = AccountVerdict | RouteVerdict;

const MAX_SAID = 160;

/** Statuses with which upstreams answer forwarded plain HTTP in their own name; sites do not use them. */
const FORWARD_STATUSES: readonly number[] = [402, 407, 452, 453, 454, 455, 490, 522, 525];

/** Judges an upstream's refusal of a CONNECT or SOCKS request. It is never the site's, whatever the status. */
export function upstreamRefusal(said: UpstreamReply, nowWall: number): UpstreamVerdict {
  const { status, rawHeaders } = said;
  const error = vendorError(rawHeaders, 'outside');
  // Of the prose only the words of quota are taken: the others occur in any error page.
  const inText = error === undefined && faultInWords(said.text) === 'quota' ? 'quota' : undefined;
  return verdictOf(faultOf(status, error?.fault ?? inText), { status, rawHeaders, error, nowWall });
}

/** Finds the upstream's own error in a reply that came through it; undefined when the reply is the site's. */
export function upstreamError(reply: ResponseReply, nowWall: number): UpstreamVerdict | undefined {
  if (reply.via === 'direct') return undefined;
  const { status, rawHeaders } = reply;
  const forwarded = reply.via === 'forward';
  const error = vendorError(rawHeaders, forwarded ? 'outside' : 'tunnel');
  const answersForward = FORWARD_STATUSES.includes(status) || refusesLogin(status, rawHeaders);
  if (error === undefined && !(forwarded && answersForward)) return undefined;
  return verdictOf(faultOf(status, error?.fault), { status, rawHeaders, error, nowWall });
}

/** tinyproxy refuses a login with the 401 of a site (and says so), where a proxy's 407 is meant. */
function refusesLogin(status: number, rawHeaders: readonly string[]): boolean {
  const challenge = fieldValue(rawHeaders, 'www-authenticate')?.toLowerCase() ?? '';
  return status === 401 && challenge.includes('realm="tinyproxy"');
}

/** A refusal for want of traffic comes as 407 or 403 from some, so words of quota outrank every status. */
function faultOf(status: number, told: VendorFault | undefined): VendorFault {
  if (told === 'quota' || status === 402) return 'quota';
  if (status === 407 || status === 401) return 'auth';
  if (status === 429) return 'rate';
  return told ?? byStatus(status);
}

/** An upstream's 404 or 410 means a host it cannot find, its 408 one that did not answer it. */
function byStatus(status: number): VendorFault {
  return status >= 500 || status < 300 || AWAY_STATUSES.includes(status) ? 'path' : 'policy';
}

const AWAY_STATUSES: readonly number[] = [404, 408, 410, 452, 453, 454, 455, 490];

interface Said {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly error: VendorError | undefined;
  readonly nowWall: number;
}

function verdictOf(fault: VendorFault, context: Said): UpstreamVerdict {
  const { status, rawHeaders, error, nowWall } = context;
  const said = error ? `${error.name}: ${error.value}`.slice(0, MAX_SAID) : '';
  const evidence: Evidence = { kind: 'upstream', status, said };
  switch (fault) {
    case 'auth':
      return account('upstream_auth', evidence);
    case 'quota':
      return account('upstream_quota', evidence);
    case 'rate': {
      const waitMs =
        rateSignal(rawHeaders, nowWall)?.waitMs ?? exhausted(rawHeaders, nowWall)?.waitMs;
      const verdict = account('upstream_rate_limited', evidence);
      return waitMs === undefined ? verdict : { ...verdict, waitMs };
    }
    case 'policy':
      return route('refused', 'lane', evidence);
    case 'ban':
      return route('blocked', 'lane', evidence);
    case 'path':
      return route('unreachable', 'lane', evidence);
    case 'exit':
      return route('unreachable', 'everywhere', evidence);
  }
}

const account = (reason: AccountReason, evidence: Evidence): AccountVerdict => ({
  fault: 'account',
  reason,
  evidence,
});

const route = (
  reason: RouteReason,
  scope: RouteVerdict['scope'],
  evidence: Evidence,
): RouteVerdict => ({ fault: 'route', reason, scope, evidence });
