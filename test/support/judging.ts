import type { Judge } from '../../src/core/classify.ts';
import type { BodySight, FailureReply, ResponseReply, Verdict } from '../../src/core/verdict.ts';
import { policyWith } from './policy.ts';

/** Noon of a day, the wall clock of all judgements in tests. */
export const NOW_WALL = Date.UTC(2026, 0, 1, 12);

type Seen = Extract<BodySight, { kind: 'seen' }>;

/** A body that was seen whole, unless said otherwise. */
export function seen(text: string, change: Partial<Seen> = {}): Seen {
  return {
    kind: 'seen',
    text,
    receivedBytes: new TextEncoder().encode(text).length,
    end: 'complete',
    coding: 'ok',
    ...change,
  };
}

/** A reply over `direct` with an empty page, unless said otherwise. */
export function response(change: Partial<ResponseReply> = {}): ResponseReply {
  return {
    kind: 'response',
    via: 'direct',
    status: 200,
    rawHeaders: [],
    body: seen(''),
    headMs: 10,
    ...change,
  };
}

/** A whole HTML page under a status. */
export function page(html: string, change: Partial<ResponseReply> = {}): ResponseReply {
  return response({ rawHeaders: ['Content-Type', 'text/html'], body: seen(html), ...change });
}

/** A connection over `direct` that was refused, unless said otherwise. */
export function failure(change: Partial<FailureReply> = {}): FailureReply {
  return {
    kind: 'failure',
    via: 'direct',
    phase: 'dial',
    code: 'connection_refused',
    leg: 'origin',
    sent: false,
    detail: '',
    ...change,
  };
}

/** A judge with the default policy, no rules and nothing blocked. */
export function judge(change: Partial<Judge> = {}): Judge {
  return {
    request: { method: 'GET', scheme: 'https', host: 'site.test', path: '/items/7' },
    policy: policyWith(),
    expectText: undefined,
    nowWall: NOW_WALL,
    routeId: 'address-1',
    blockedAddresses: [],
    tools: {
      matches: (pattern, text) => new RegExp(pattern).test(text),
      countCss: (html, selector) => html.split(`<${selector}`).length - 1,
    },
    ...change,
  };
}

/** A verdict in one line, without its evidence. */
export function told(verdict: Verdict): string {
  const scope = verdict.fault === 'route' ? ` ${verdict.scope}` : '';
  const kind = verdict.fault === 'host' ? ` ${verdict.kind}` : '';
  const wait = 'waitMs' in verdict ? ` wait ${verdict.waitMs}` : '';
  const pace = 'paceMs' in verdict ? ` pace ${verdict.paceMs}` : '';
  const ambiguous = 'ambiguous' in verdict && verdict.ambiguous ? ' ambiguous' : '';
  return `${verdict.fault}/${verdict.reason}${kind}${scope}${wait}${pace}${ambiguous}`;
}

/** A challenge page and a block page of known makers. */
export const CHALLENGE = '<title>Just a moment...</title><script>_cf_chl_opt={}</script>';
export const BLOCK =
  "<title>Access Denied</title>You don't have permission to access it. Reference #18.1";
