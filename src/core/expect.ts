import type { Judge } from './classify.ts';
import { checkReply } from './expect-check.ts';
import { globMatches } from './glob.ts';
import type { ExpectRule } from './policy.ts';
import { sameMethod } from './rules.ts';
import type { BodySight, ResponseReply } from './verdict.ts';

/** The first thing a reply should show and does not. */
export interface Unmet {
  readonly otherwise: ExpectRule['otherwise'];
  readonly missing: string;
}

/**
 * Checks the user's expectations: all rules that apply must hold, and the client's own text.
 * What cannot be seen is not judged: text missing from the inspected part of a longer body may stand in the rest.
 */
export function unmetExpectation(reply: ResponseReply, judge: Judge): Unmet | undefined {
  if (reply.body.kind === 'none') return undefined;
  for (const rule of judge.policy.expect) {
    if (!applies(rule, reply, judge)) continue;
    const outcome = checkReply(rule, reply, judge);
    if (outcome.kind === 'unmet') {
      return { otherwise: rule.otherwise, missing: `${outcome.missing}, ${rule.label}` };
    }
  }
  const wanted = judge.expectText;
  if (wanted === undefined || !isPlainSuccess(reply.status)) return undefined;
  const outcome = checkReply({ bodyContains: wanted }, reply, judge);
  return outcome.kind === 'unmet'
    ? { otherwise: 'transient', missing: outcome.missing }
    : undefined;
}

function applies({ when }: ExpectRule, { status }: ResponseReply, judge: Judge): boolean {
  const { statuses, path, method } = when;
  if (statuses ? !statuses.includes(status) : !isPlainSuccess(status)) return false;
  if (path !== undefined && !globMatches(path, judge.request.path)) return false;
  return method === undefined || sameMethod(method, judge);
}

/** A 204 has no body and a 206 only a part of one. */
function isPlainSuccess(status: number): boolean {
  return status >= 200 && status < 300 && status !== 204 && status !== 206;
}

/** Whether a body was to come and none did. */
export function isEmpty(body: BodySight): boolean {
  return body.kind === 'seen' && body.end === 'complete' && body.receivedBytes === 0;
}
