import type { Action } from '../core/action.ts';
import type { Verdict } from '../core/verdict.ts';
import type { AttemptLine, LoggedAction } from '../telemetry/attempt-line.ts';
import type { Findings, LaneFindings } from './findings.ts';

/** Two waits this close are the same. */
const SAME_WAIT_MS = 1;

/** How an action compares to the recorded one. */
type Comparison = 'same' | 'other_length' | 'other';

/** Holds the action under other rules against the recorded one. */
function compareActions(was: LoggedAction, is: Action): Comparison {
  if (was.kind !== is.kind) return 'other';
  if (was.kind === 'fail' && is.kind === 'fail') return was.stop === is.stop ? 'same' : 'other';
  if (was.kind === 'rotate' && is.kind === 'rotate')
    return was.charged === is.charged ? 'same' : 'other';
  if (was.kind !== 'wait' || is.kind !== 'wait') return 'same';
  if (was.ledger !== is.ledger || was.elsewhere !== is.elsewhere) return 'other';
  return Math.abs(was.delayMs - is.delayMs) <= SAME_WAIT_MS ? 'same' : 'other_length';
}

/** One attempt as it was recorded, and as it would have been. */
interface Pair {
  readonly recorded: AttemptLine;
  readonly whatIf: { readonly verdict: Verdict; readonly action: Action };
}

/** Enters in the findings what is different about one attempt. */
export function tell(
  findings: Findings,
  { verdicts, actions, waits, rotations, budget }: LaneFindings,
  { recorded, whatIf }: Pair,
): Comparison {
  const { exchange, action: was } = recorded;
  const { action: is } = whatIf;
  if (!sameVerdict(recorded.verdict, whatIf.verdict)) {
    findings.countIn(verdicts, verdictChange(recorded.verdict, whatIf.verdict), exchange);
  }
  waits.recordedMs += waitMs(was);
  waits.whatIfMs += waitMs(is);
  if (was.kind === 'rotate') rotations.recorded += 1;
  if (is.kind === 'rotate') rotations.whatIf += 1;
  if (isDenied(was)) budget.recordedDenials += 1;
  if (isDenied(is)) budget.whatIfDenials += 1;
  const comparison = compareActions(was, is);
  if (comparison === 'other') findings.countIn(actions, `${deed(was)} -> ${deed(is)}`, exchange);
  if (comparison === 'other_length') {
    findings.count(waitMs(is) > waitMs(was) ? waits.longer : waits.shorter, exchange);
  }
  return comparison;
}

/** Whether two verdicts lead to the same by all rules. */
export const sameVerdict = (a: Verdict, b: Verdict): boolean =>
  a.reason === b.reason && a.fault === b.fault && askedMs(a) === askedMs(b);

/** How long a wait takes; 0 for all else. */
export const waitMs = (action: Action | LoggedAction): number =>
  action.kind === 'wait' ? action.delayMs : 0;

const isDenied = (action: Action | LoggedAction): boolean =>
  action.kind === 'fail' && action.stop === 'retry_budget_spent';

const askedMs = (verdict: Verdict): number | undefined =>
  'waitMs' in verdict ? verdict.waitMs : undefined;

const word = ({ fault, reason }: Verdict): string => `${fault}/${reason}`;

function verdictChange(recorded: Verdict, whatIf: Verdict): string {
  const [was, is] = [word(recorded), word(whatIf)];
  return was === is ? `${was} -> ${is}, another wait` : `${was} -> ${is}`;
}

/** What is told apart of an action. */
function deed(action: Action | LoggedAction): string {
  switch (action.kind) {
    case 'fail':
      return `fail: ${action.stop}`;
    case 'wait':
      return action.elsewhere
        ? `wait (${action.ledger}, then elsewhere)`
        : `wait (${action.ledger})`;
    case 'rotate':
    case 'burn':
    case 'deliver':
      return action.kind;
  }
}
