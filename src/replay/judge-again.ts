import type { Progress } from '../core/action.ts';
import { classify, type Judge } from '../core/classify.ts';
import { type Found, findMarker, namedMarker } from '../core/find-marker.ts';
import type { Policy } from '../core/policy.ts';
import type { ResponseReply, Verdict } from '../core/verdict.ts';
import type { AttemptLine } from '../telemetry/attempt-line.ts';
import { type LoggedBasis, progressOf } from '../telemetry/logged-basis.ts';
import type { LoggedBody } from '../telemetry/logged-reply.ts';

/** What the judgement of a recorded attempt is made under. */
export interface Again {
  readonly line: AttemptLine;
  readonly basis: LoggedBasis;
  readonly policy: Policy;
  readonly blockedAddresses: readonly string[];
  /** `maybe_others`: the rules, or the program that wrote the log, know other pages. */
  readonly markers: 'as_recorded' | 'maybe_others';
  readonly tools: Judge['tools'];
}

/** Judges a recorded attempt under other rules, with the very function that the proxy judges with. */
export function judgeAgain(again: Again): Verdict {
  const { line, basis, policy } = again;
  const { method, scheme, host, path } = line.request;
  const judge: Judge = {
    request: { method, scheme, host, path },
    policy,
    expectText: basis.expectText,
    nowWall: basis.nowWall,
    routeId: line.route.id,
    blockedAddresses: again.blockedAddresses,
    suspicion: basis.suspicion,
    ...(basis.seen === undefined ? {} : { seen: basis.seen }),
    tools: again.tools,
  };
  const { reply } = line;
  if (reply.kind === 'failure') return classify(reply, judge);
  const { body } = reply;
  if (body.kind !== 'seen') return classify({ ...reply, body }, judge);
  const shown: ResponseReply = { ...reply, body: asFarAsKept(body) };
  const verdict = classify(shown, { ...judge, marker: markerOf(body, shown, again) });
  const isCut = body.chars !== undefined;
  return isCut && saidInWords(line.verdict) && isNoNews(verdict) ? line.verdict : verdict;
}

type SeenBody = Extract<LoggedBody, { kind: 'seen' }>;

/** What is missing of a body that was looked at whole is as unseen as what is never looked at. */
function asFarAsKept(body: SeenBody): ResponseReply['body'] {
  const { text, receivedBytes, end, coding, chars } = body;
  const hidesEnd = chars !== undefined && end === 'complete' && coding !== 'cut_short';
  return { kind: 'seen', text, receivedBytes, coding, end: hidesEnd ? 'pending' : end };
}

/** What is known of it is not looked for again: that is what takes longest of all. */
function markerOf(body: SeenBody, reply: ResponseReply, again: Again): Found | null {
  const { marker: known } = body;
  const { line, policy } = again;
  const marker = known ? namedMarker(known.id, policy.markers) : undefined;
  if (known && marker !== undefined) return { marker, signs: known.signs };
  if (known === null && again.markers === 'as_recorded') return null;
  return findMarker(reply, { path: line.request.path, markers: policy.markers }) ?? null;
}

/** Words of a throttle were found in a text that is not all here. */
const saidInWords = ({ evidence }: Verdict): boolean =>
  evidence.kind === 'marker' && evidence.marker === 'throttle-text';

const isNoNews = ({ fault, evidence }: Verdict): boolean =>
  fault === 'none' && evidence.kind === 'status';

/** Where the exchange would have stood: as recorded, but for what other rules change. */
export function progressAgain(o: {
  readonly line: AttemptLine;
  readonly basis: LoggedBasis;
  /** The rules then, and the other ones. */
  readonly before: Policy;
  readonly policy: Policy;
  /** What would have been different about the lane. */
  readonly lane: Pick<Progress, 'budgetLeft' | 'laneFailures' | 'pausedUntil'>;
  /** How much later it would have been by now, and the last backoff, where they are different. */
  readonly lateMs: number;
  readonly lastDelayMs: number | undefined;
}): Progress {
  const { line, basis } = o;
  const progress = progressOf(basis, { n: line.n, routeId: line.route.id });
  const { ledger } = progress;
  return {
    ...progress,
    ...o.lane,
    ledger: { ...ledger, lastDelayMs: o.lastDelayMs ?? ledger.lastDelayMs },
    now: progress.now + o.lateMs,
    deadline: progress.deadline + o.policy.patienceMs - o.before.patienceMs,
    replay: { ...progress.replay, repeatable: repeatable(o, progress.replay.repeatable) },
  };
}

/** An Idempotency-Key is as good as before; a method is as good as the rules say. */
function repeatable(
  { line, before, policy }: Pick<Parameters<typeof progressAgain>[0], 'line' | 'before' | 'policy'>,
  recorded: boolean,
): boolean {
  const method = line.request.method.toUpperCase();
  const is = policy.replayMethods.includes(method);
  return before.replayMethods.includes(method) === is ? recorded : is;
}
