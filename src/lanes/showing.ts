import type { Outcome } from '../core/breaker.ts';
import type { ClientReason, RouteVerdict, TransientReason, Verdict } from '../core/verdict.ts';

/** What an attempt showed of the host itself, whoever is to blame. */
export type Showing =
  /** A good reply. */
  | 'well'
  /** An answer that is the client's to bear: the host lives and did its work. */
  | 'answered'
  /** "Send less." */
  | 'throttled'
  /** The host failed. */
  | 'failed'
  /** It answered, but not with what was sought. */
  | 'answered_badly'
  /** It turned the address away. */
  | 'turned_away'
  /** Nothing: the host was not reached, or not at fault. */
  | 'nothing';

/** Reads off a verdict what it shows of the host. */
export function showingOf(verdict: Verdict): Showing {
  switch (verdict.fault) {
    case 'none':
      return 'well';
    case 'client':
      return ANSWERED[verdict.reason] ? 'answered' : 'nothing';
    case 'host':
      if (verdict.kind === 'rate') return 'throttled';
      return CONTENT[verdict.reason] ? 'answered_badly' : 'failed';
    case 'route':
      return TURNED_AWAY[verdict.reason] ? 'turned_away' : 'nothing';
    case 'account':
    case 'self':
      return 'nothing';
  }
}

/** What the breaker makes of it: any answer shows that the host lives, only its own failures count against it. */
export function breakerOutcome(showing: Showing): Outcome {
  switch (showing) {
    case 'well':
      return 'success';
    case 'failed':
      return 'failure';
    case 'answered':
    case 'throttled':
    case 'answered_badly':
    case 'turned_away':
      return 'alive';
    case 'nothing':
      return 'neutral';
  }
}

/** What an attempt says about the credentials it carried. */
export type AuthSign =
  | { readonly kind: 'turned_down'; readonly status: 401 | 403 }
  | { readonly kind: 'passed' }
  | { readonly kind: 'nothing' };

/** Reads off a verdict what it says about the credentials: a block page or a challenge says nothing. */
export function authSign(verdict: Verdict): AuthSign {
  const status = bareStatus(verdict);
  if (status === 401 || status === 403) return { kind: 'turned_down', status };
  const showing = showingOf(verdict);
  return { kind: showing === 'well' || showing === 'answered' ? 'passed' : 'nothing' };
}

/** The 401 or 403 that is the whole evidence of a verdict. */
function bareStatus(verdict: Verdict): number | undefined {
  if (verdict.reason === 'persistent_block') return 403;
  if (verdict.reason !== 'unauthorized' && verdict.reason !== 'blocked') return undefined;
  const { evidence } = verdict;
  if (evidence.kind === 'status') return evidence.status;
  return evidence.kind === 'header' && verdict.reason === 'unauthorized'
    ? evidence.status
    : undefined;
}

/** Whether the address met a bare 403, the kind that counts towards a persistent block. */
export function metForbidden(verdict: Verdict): boolean {
  return bareStatus(verdict) === 403;
}

const ANSWERED: Readonly<Record<ClientReason, boolean>> = {
  not_found: true,
  unauthorized: true,
  rejected: true,
  persistent_block: true,
  rule: true,
  malformed_reply: true,
  untrusted_certificate: false,
  unresolvable: false,
  bad_request: false,
  prohibited: false,
  loop: false,
};

/** Content that is not what the user expects is no sign that the host is down. */
const CONTENT: Readonly<Record<TransientReason, boolean>> = {
  overloaded: false,
  unreachable: false,
  reset: false,
  truncated: false,
  slow: false,
  empty: true,
  unexpected: true,
};

const TURNED_AWAY: Readonly<Record<RouteVerdict['reason'], boolean>> = {
  blocked: true,
  challenged: true,
  unreachable: false,
  refused: false,
  slow_route: false,
};
