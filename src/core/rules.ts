import type { Judge } from './classify.ts';
import { fieldValues } from './fields.ts';
import { globMatches } from './glob.ts';
import type { ReplyCondition, ReplyRule } from './policy.ts';
import { rateSignal } from './retry-after.ts';
import type { Evidence, ResponseReply, Verdict } from './verdict.ts';

/** The verdict of the first of the user's reply rules that matches; undefined when none does. */
export function ruledVerdict(reply: ResponseReply, judge: Judge): Verdict | undefined {
  const rule = judge.policy.replies.find(
    ({ when, verdict }) =>
      conditionHolds(when, reply, judge) && !(verdict === 'ok' && brokenOff(reply)),
  );
  return rule && verdictOf(rule, reply, judge);
}

/** No rule makes a whole reply of one that broke off on the wire. */
export function brokenOff({ body }: ResponseReply): boolean {
  return body.kind === 'seen' && (body.end === 'cut_short' || body.end === 'stalled');
}

function verdictOf(rule: ReplyRule, reply: ResponseReply, judge: Judge): Verdict {
  const evidence: Evidence = { kind: 'rule', label: rule.label };
  switch (rule.verdict) {
    case 'ok':
      return { fault: 'none', reason: 'ok', evidence };
    case 'terminal':
      return { fault: 'client', reason: 'rule', evidence };
    case 'address':
      return { fault: 'route', reason: 'blocked', scope: 'lane', evidence };
    case 'transient':
      return {
        fault: 'host',
        kind: 'transient',
        reason: reply.status < 400 ? 'unexpected' : 'overloaded',
        evidence,
      };
    case 'rate': {
      const waitMs = rateSignal(reply.rawHeaders, judge.nowWall)?.waitMs;
      const verdict = { fault: 'host', kind: 'rate', reason: 'rate_limited', evidence } as const;
      return waitMs === undefined ? verdict : { ...verdict, waitMs };
    }
  }
}

/** Everything that is given must hold. Body text is compared as it stands, fields without regard to case. */
function conditionHolds(when: ReplyCondition, reply: ResponseReply, judge: Judge): boolean {
  const { statuses, path, method, headers = {} } = when;
  if (statuses !== undefined && !statuses.includes(reply.status)) return false;
  if (path !== undefined && !globMatches(path, judge.request.path)) return false;
  if (method !== undefined && !sameMethod(method, judge)) return false;
  const fieldsHold = Object.entries(headers).every(([name, has]) =>
    fieldValues(reply.rawHeaders, name.toLowerCase()).some((value) =>
      value.toLowerCase().includes(has.toLowerCase()),
    ),
  );
  return fieldsHold && bodyHolds(when, reply, judge);
}

function bodyHolds(when: ReplyCondition, { body }: ResponseReply, judge: Judge): boolean {
  const { bodyContains, bodyMatches } = when;
  if (bodyContains === undefined && bodyMatches === undefined) return true;
  if (body.kind !== 'seen') return false;
  if (bodyContains !== undefined && !body.text.includes(bodyContains)) return false;
  return bodyMatches === undefined || judge.tools.matches(bodyMatches, body.text);
}

/** Whether the request's method is the one a rule names, in any case. */
export function sameMethod(method: string, { request }: Judge): boolean {
  return method.toUpperCase() === request.method.toUpperCase();
}
