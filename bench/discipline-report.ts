import type { Result } from './discipline-run.ts';
import type { Scenario } from './discipline-scenarios.ts';

/** The names of the clients that are compared. */
export type ClientName = 'naive loop' | 'jitter loop' | 'Forbear';

export interface Row {
  readonly scenario: Pick<Scenario, 'number' | 'name' | 'idealMs'>;
  readonly client: ClientName;
  readonly result: Result;
}

/** A promise, and whether it was kept. */
export interface Check {
  readonly promise: string;
  readonly kept: boolean;
  readonly measured: string;
}

const COLUMNS = [
  'scenario',
  'client',
  'items/s',
  'delivered',
  'false data',
  'strikes',
  'bans',
  'pool burns',
  'requests / item',
  'into the outage',
  'sessions broken',
  'time',
  'time / ideal',
];

/** All rows as a markdown table. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => `| ${cells(row).join(' | ')} |`);
  return [`| ${COLUMNS.join(' | ')} |`, `|${'---|'.repeat(COLUMNS.length)}`, ...lines].join('\n');
}

function cells({ scenario, client, result }: Row): string[] {
  const { delivered, elapsedMs } = result;
  return [
    client === 'naive loop' ? `${scenario.number}. ${scenario.name}` : '',
    client === 'Forbear' ? '**Forbear**' : client,
    ((delivered * 1000) / elapsedMs).toFixed(1),
    `${(100 * deliveredShare(result)).toFixed(1)} %`,
    String(result.falseData),
    String(result.strikes),
    String(result.bans),
    String(result.poolBurns),
    delivered === 0 ? '–' : requestsPerItem(result).toFixed(2),
    String(result.requestsIntoOutage),
    String(result.sessionsBroken),
    `${(elapsedMs / 1000).toFixed(1)} s`,
    timeToIdeal({ scenario, result })?.toFixed(2) ?? '–',
  ];
}

/**
 * What the Forbear rows must show, against the naive rows of the same run.
 * A quick run is all beginning: what a rate, an outage or a share of faults comes to shows in the full one only.
 */
export function checks(rows: readonly Row[], work: 'full' | 'quick'): Check[] {
  const ours = rows.filter(({ client }) => client === 'Forbear');
  const none = (promise: string, count: (result: Result) => number): Check => {
    const found = ours.filter(({ result }) => count(result) > 0);
    const measured = found.map((row) => `${count(row.result)} in ${row.scenario.number}`);
    return { promise, kept: found.length === 0, measured: measured.join(', ') || '0' };
  };
  return [
    none('no strike', ({ strikes }) => strikes),
    none('no ban', ({ bans }) => bans),
    none('no pool burned', ({ poolBurns }) => poolBurns),
    none('no false data', ({ falseData }) => falseData),
    none('no session changed its address', ({ sessionsBroken }) => sessionsBroken),
    ...ours.map(({ scenario, result }) =>
      atLeast(`${scenario.number}: share delivered`, deliveredShare(result), 0.99),
    ),
    ...(work === 'full' ? ours.flatMap((row) => checksOf(row, rows)) : []),
  ];
}

function checksOf(row: Row, rows: readonly Row[]): Check[] {
  const { scenario, result } = row;
  const found: Check[] = [];
  if (scenario.idealMs !== undefined) {
    const ratio = timeToIdeal(row) ?? Number.POSITIVE_INFINITY;
    found.push(atMost(`${scenario.number}: time / ideal`, ratio, 1.5));
  }
  if (/faults/.test(scenario.name)) {
    found.push(atMost(`${scenario.number}: requests / item`, requestsPerItem(result), 1.1));
  }
  const naive = rows.find((r) => r.client === 'naive loop' && r.scenario === scenario);
  if (naive && naive.result.requestsIntoOutage > 0) {
    const share = result.requestsIntoOutage / naive.result.requestsIntoOutage;
    found.push(atMost(`${scenario.number}: requests into the outage / naive loop's`, share, 0.05));
  }
  return found;
}

function atLeast(promise: string, measured: number, bound: number): Check {
  const kept = measured >= bound;
  return { promise: `${promise} at least ${bound}`, kept, measured: measured.toFixed(3) };
}

function atMost(promise: string, measured: number, bound: number): Check {
  const kept = measured <= bound;
  return { promise: `${promise} at most ${bound}`, kept, measured: measured.toFixed(3) };
}

/** The checks as a markdown list. */
export function verdict(checks: readonly Check[]): string {
  const lines = checks.map(
    ({ promise, kept, measured }) => `- ${kept ? 'kept' : '**BROKEN**'}: ${promise} (${measured})`,
  );
  return lines.join('\n');
}

function deliveredShare({ delivered, items }: Result): number {
  return delivered / items;
}

function requestsPerItem({ requests, delivered }: Result): number {
  return requests / Math.max(1, delivered);
}

/** Only for a client that did the work: giving up early is no speed. */
function timeToIdeal({ scenario, result }: Pick<Row, 'scenario' | 'result'>): number | undefined {
  if (scenario.idealMs === undefined || deliveredShare(result) < 0.99) return undefined;
  return result.elapsedMs / scenario.idealMs;
}
