import type { Action } from '../core/action.ts';
import type { Verdict } from '../core/verdict.ts';
import type { AttemptLine, LoggedAction } from '../telemetry/attempt-line.ts';
import type { Findings, LaneFindings } from './findings.ts';
import { compareActions } from './judge-again.ts';

/** An attempt as it was recorded, and what would have been made of it. */
interface Step {
  readonly line: AttemptLine;
  readonly verdict: Verdict;
  readonly action: Action;
}

/** Counts what was, and what would have been. */
export function noteStep(
  { line, verdict, action }: Step,
  lane: LaneFindings,
  findings: Findings,
): void {
  const then = line.action;
  if (!sameVerdict(line.verdict, verdict)) {
    findings.countIn(lane.verdicts, verdictChange(line.verdict, verdict), line.exchange);
  }
  if (then.kind === 'wait') lane.waits.recordedMs += then.delayMs;
  if (action.kind === 'wait') lane.waits.whatIfMs += action.delayMs;
  if (then.kind === 'rotate') lane.rotations.recorded += 1;
  if (action.kind === 'rotate') lane.rotations.whatIf += 1;
  if (isDenied(then)) lane.budget.recordedDenials += 1;
  if (isDenied(action)) lane.budget.whatIfDenials += 1;
  if (compareActions(then, action) !== 'other') return;
  findings.countIn(lane.actions, `${deed(then)} -> ${deed(action)}`, line.exchange);
}

/** Whether the retry budget pays for it. */
export const isCharged = (action: Action | LoggedAction): boolean =>
  'charged' in action && action.charged;

const isDenied = (action: Action | LoggedAction): boolean =>
  action.kind === 'fail' && action.stop === 'retry_budget_spent';

/** Whether two verdicts say the same, whatever they rest on. */
export const sameVerdict = (a: Verdict, b: Verdict): boolean =>
  a.reason === b.reason && a.fault === b.fault && waitOf(a) === waitOf(b);

const waitOf = (verdict: Verdict): number | undefined =>
  'waitMs' in verdict ? verdict.waitMs : undefined;

const word = ({ fault, reason }: Verdict): string => `${fault}/${reason}`;

function verdictChange(then: Verdict, now: Verdict): string {
  const [was, is] = [word(then), word(now)];
  return was === is ? `${was} -> ${is}, another wait` : `${was} -> ${is}`;
}

const deed = (action: Action | LoggedAction): string =>
  action.kind === 'fail' ? `fail: ${action.stop}` : action.kind;
