import { seconds } from '../core/explain.ts';
import type { HostFindings, LaneFindings, Tally } from '../replay/findings.ts';
import type { Flaw, Flaws } from '../replay/read-log.ts';
import type { WhatIf } from '../replay/what-if.ts';
import { printable } from '../telemetry/log-text.ts';

/** What a replay found, as it is printed with --json. */
export interface ReplayFacts {
  readonly files: readonly string[];
  readonly config: string | null;
  readonly attempts: number;
  readonly exchanges: number;
  readonly compared: number;
  /** Exchanges that would have gone another way. */
  readonly different: Tally;
  readonly rules: readonly (Both<unknown> & { readonly key: string; readonly replayed: boolean })[];
  /** Lanes in which anything is different, those with most of it first. */
  readonly lanes: readonly LaneFacts[];
  readonly hosts: readonly HostFacts[];
  readonly not_compared: readonly (Tally & { readonly why: string })[];
  readonly doubtful: readonly (Tally & { readonly why: string })[];
  readonly missing_lines: number;
  readonly unusable: readonly {
    readonly file: string;
    readonly what: string;
    readonly count: number;
    readonly lines: readonly number[];
  }[];
}

/** Under the rules of the log, and under the other ones. */
interface Both<T> {
  readonly recorded: T;
  readonly what_if: T;
}

type Tallies = Readonly<Record<string, Tally>>;

interface LaneFacts {
  readonly lane: string;
  readonly attempts: number;
  readonly changes: number;
  readonly verdicts: Tallies;
  readonly actions: Tallies;
  readonly longer_waits: Tally;
  readonly shorter_waits: Tally;
  readonly waits_ms: Both<number>;
  readonly rotations: Both<number>;
  readonly budget_denials: Both<number>;
  readonly held: LaneFindings['held'];
}

interface HostFacts {
  readonly host: string;
  readonly breaker_trips: Both<number>;
  readonly pauses: Both<number>;
  readonly lowest_budget: Both<number | null>;
}

const FLAWS: Record<Flaw, string> = {
  cut: 'cut off in the middle',
  not_json: 'not JSON',
  foreign: 'not of an attempt log',
  other_version: 'of another version of the format',
  too_long: 'too long to be of one',
  malformed: 'of this version, but damaged',
};

/** Puts together what was found. */
export function replayFacts(
  whatIf: WhatIf,
  flaws: Flaws,
  from: { readonly files: readonly string[]; readonly config: string | null },
): ReplayFacts {
  const { findings } = whatIf;
  const { limits } = findings;
  return {
    ...from,
    attempts: findings.attempts,
    exchanges: findings.exchanges,
    compared: findings.compared,
    different: findings.different,
    rules: whatIf.changes().map(({ whatIf: what_if, ...rest }) => ({ ...rest, what_if })),
    lanes: [...findings.lanes.values()]
      .map(laneFacts)
      .filter(({ changes, verdicts }) => changes > 0 || Object.keys(verdicts).length > 0)
      .sort((a, b) => b.changes - a.changes),
    hosts: whatIf.hosts().map(hostFacts),
    not_compared: [
      { why: 'behind the first difference of their exchange', ...limits.behind },
      { why: 'requests for the rest of a body', ...limits.parts },
      { why: 'under rules that are not in the log', ...limits.unknownRules },
    ].filter(({ count }) => count > 0),
    doubtful: [
      {
        why: 'bodies that are not whole in the log, under rules that look into them',
        ...limits.unseenBodies,
      },
      { why: 'judged differently now although the rules are the same', ...limits.drift },
    ].filter(({ count }) => count > 0),
    missing_lines: limits.missingLines,
    unusable: flaws.list().map(({ flaw, ...rest }) => ({ what: FLAWS[flaw], ...rest })),
  };
}

function laneFacts(found: LaneFindings): LaneFacts {
  const { lane, attempts, waits, rotations, budget, held } = found;
  const actions = [...found.actions.values()].reduce((sum, { count }) => sum + count, 0);
  const holds = held.breaker.count + held.pause.count + held.released.count;
  return {
    lane,
    attempts,
    changes: actions + holds + waits.longer.count + waits.shorter.count,
    verdicts: Object.fromEntries(found.verdicts),
    actions: Object.fromEntries(found.actions),
    longer_waits: waits.longer,
    shorter_waits: waits.shorter,
    waits_ms: { recorded: Math.round(waits.recordedMs), what_if: Math.round(waits.whatIfMs) },
    rotations: both(rotations),
    budget_denials: { recorded: budget.recordedDenials, what_if: budget.whatIfDenials },
    held,
  };
}

const hostFacts = ({ host, trips, pauses, lowestBudget }: HostFindings): HostFacts => ({
  host,
  breaker_trips: both(trips),
  pauses: both(pauses),
  lowest_budget: both(lowestBudget),
});

const both = <T>({ recorded, whatIf }: { recorded: T; whatIf: T }): Both<T> => ({
  recorded,
  what_if: whatIf,
});

/** The same for people. */
export function replayText(facts: ReplayFacts): string {
  return [
    `${counted(facts.attempts, 'attempt')} of ${counted(facts.exchanges, 'exchange')}, ${facts.compared} compared`,
    ...facts.unusable.map(
      ({ file, what, count, lines }) =>
        `passed over: ${counted(count, 'line')}, ${what} (${printable(file)}, line ${lines.join(', ')}${count > lines.length ? ', …' : ''})`,
    ),
    ...(facts.missing_lines > 0
      ? [`missing: ${counted(facts.missing_lines, 'line')} lost when the log was written`]
      : []),
    '',
    ...ruleLines(facts.rules),
    ...verdictOfAll(facts),
    ...facts.lanes.slice(0, MOST_LANES_SHOWN).flatMap(laneLines),
    ...moreLanes(facts),
    ...hostLines(facts.hosts),
    ...caveats(facts),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** `1 line`, `2 lines`. */
export const counted = (count: number, one: string): string =>
  `${count} ${one}${count === 1 ? '' : 's'}`;

const MOST_LANES_SHOWN = 20;
const MOST_VALUE_CHARS = 60;

function ruleLines(rules: ReplayFacts['rules']): string[] {
  if (rules.length === 0) return ['The rules are those of the log.', ''];
  return [
    'Rules that differ (recorded -> what if):',
    ...rules.map(
      ({ key, recorded, what_if, replayed }) =>
        `  ${key}: ${shown(recorded)} -> ${shown(what_if)}${replayed ? '' : '   (not replayed: its effect is in what was recorded)'}`,
    ),
    '',
  ];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'none';
  return printable(text.length > MOST_VALUE_CHARS ? `${text.slice(0, MOST_VALUE_CHARS)}…` : text);
}

function verdictOfAll({ different, exchanges }: ReplayFacts): string[] {
  if (different.count === 0) return ['No exchange would have gone another way.', ''];
  return [
    `${different.count} of ${counted(exchanges, 'exchange')} would have gone another way${examples(different)}`,
    '',
  ];
}

function laneLines(found: LaneFacts): string[] {
  const { waits_ms } = found;
  return [
    `lane ${printable(found.lane)}  (${counted(found.attempts, 'attempt')} compared)`,
    ...tallies('verdict', found.verdicts),
    ...tallies('action', found.actions),
    ...tallies('wait', { longer: found.longer_waits, shorter: found.shorter_waits }),
    ...tallies('held', {
      'the breaker would have been open': found.held.breaker,
      'the lane would have been paused': found.held.pause,
      'refused then, and not refused now': found.held.released,
    }),
    ...changed('waits in all', {
      recorded: seconds(waits_ms.recorded),
      what_if: seconds(waits_ms.what_if),
    }),
    ...changed('rotations', found.rotations),
    ...changed('retries the budget denied', found.budget_denials),
    '',
  ];
}

function tallies(name: string, found: Tallies): string[] {
  return Object.entries(found)
    .filter(([, { count }]) => count > 0)
    .sort(([, a], [, b]) => b.count - a.count)
    .map(
      ([what, one]) =>
        `  ${name.padEnd(8)}${String(one.count).padStart(8)}  ${printable(what)}${examples(one)}`,
    );
}

function changed(name: string, { recorded, what_if }: Both<string | number>): string[] {
  return recorded === what_if ? [] : [`  ${name}: ${recorded} -> ${what_if}`];
}

function examples({ count, exchanges }: Tally): string {
  if (exchanges.length === 0) return '';
  const more = count > exchanges.length ? ', …' : '';
  return `   [${exchanges.map(printable).join(', ')}${more}]`;
}

function moreLanes({ lanes }: ReplayFacts): string[] {
  const more = lanes.length - MOST_LANES_SHOWN;
  return more > 0 ? [`${more} more lanes; --json has them all`, ''] : [];
}

function hostLines(hosts: readonly HostFacts[]): string[] {
  return hosts
    .slice(0, MOST_LANES_SHOWN)
    .flatMap(({ host, breaker_trips, pauses, lowest_budget }) => [
      `host ${printable(host)}`,
      ...changed('times the breaker opened', breaker_trips),
      ...changed('pauses', pauses),
      ...changed('least left in the budget', {
        recorded: lowest_budget.recorded ?? '-',
        what_if: lowest_budget.what_if ?? '-',
      }),
      '',
    ]);
}

function caveats(facts: ReplayFacts): string[] {
  return [
    ...facts.not_compared.map(
      (one) => `not compared: ${counted(one.count, 'attempt')} ${one.why}${examples(one)}`,
    ),
    ...facts.doubtful.map(
      (one) => `doubtful: ${counted(one.count, 'attempt')}: ${one.why}${examples(one)}`,
    ),
    'An exchange is followed to its first different step: what would have come back after another one is not known.',
  ];
}
