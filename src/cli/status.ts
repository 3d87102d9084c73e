import { printable } from '../telemetry/log-text.ts';
import { type AdminClient, adminClient } from './admin-client.ts';
import { inColumns } from './columns.ts';
import { shortTime } from './dead-letters.ts';
import type { ConfigFlags } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';

type Counts = Readonly<Record<string, number>>;

/** The API's `status`. */
export interface ShownStatus {
  readonly version: string;
  readonly started_at: string;
  readonly state: string;
  readonly listen: string | null;
  readonly connections: number;
  readonly exchanges: number;
  readonly sockets: number;
  readonly waiting: number;
  readonly lanes: Counts;
  readonly routes: Counts;
  readonly sessions: Counts;
  readonly dead_letters: Counts | null;
}

/** A lane of the API. */
export interface ShownLane {
  readonly id: string;
  readonly state: string;
  readonly paused_until: string | null;
  readonly breaker_until: string | null;
  readonly rate: number | null;
  readonly budget: number;
  readonly waiting: number;
  readonly in_flight: number;
  readonly concurrency: number;
  readonly failures_in_row: number;
}

/** The states of a lane, the worst first. */
export const TROUBLED = ['isolated', 'breaker_open', 'breaker_half_open', 'paused'] as const;

const MOST_SHOWN = 10;
const MOST_ADVICE = 3;

/** `forbear status`: one look at the running proxy. */
export async function status(
  flags: ConfigFlags & { readonly json?: boolean },
  terminal: Terminal,
): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const shown = await client.json<ShownStatus>({ path: '/status' });
  if (flags.json) {
    terminal.out(`${JSON.stringify(shown, null, 2)}\n`);
    return 0;
  }
  const { version, started_at, state, listen, exchanges, waiting, connections, sockets } = shown;
  const { all: lanes = 0, ...laneStates } = shown.lanes;
  const at = listen === null ? '' : `, listens on http://${listen}`;
  terminal.out(
    `${printable(`Forbear ${version} is ${state}${at}, since ${shortTime(started_at)}`)}\n`,
  );
  const rows = [
    ['exchanges', `${exchanges} under way, ${waiting} of them waiting`],
    ['connections', `${connections} of clients, ${sockets} to sites and proxies`],
    ['lanes', `${lanes}${lanes > 0 ? `: ${inWords(laneStates)}` : ''}`],
    ['routes', inWords(shown.routes)],
    ['sessions', inWords(shown.sessions)],
    [
      'dead letters',
      shown.dead_letters ? inWords(shown.dead_letters) : 'the store is out of reach',
    ],
  ];
  terminal.out(inColumns(rows.map(([name = '', value = '']) => [`  ${name}`, value])));
  const troubled = await lanesIn(client, shown, TROUBLED, MOST_SHOWN);
  if (troubled.length > 0) {
    terminal.out(`\n${laneTable(troubled.slice(0, MOST_SHOWN), terminal.columns)}`);
  }
  const path = `/interception?advised=true&limit=${MOST_ADVICE}`;
  const advised = await client.json<{ items: readonly { readonly sentence: string }[] }>({ path });
  for (const { sentence } of advised.items) terminal.out(`\n${printable(sentence)}\n`);
  return 0;
}

/** Lanes in these states, in their order; at most so many of each. What the status counts none of is not asked for. */
export async function lanesIn(
  client: AdminClient,
  { lanes }: ShownStatus,
  states: readonly string[],
  mostOfEach: number,
): Promise<ShownLane[]> {
  const there = states.filter((state) => (lanes[state] ?? 0) > 0);
  const pages = there.map((state) =>
    client.json<{ items: ShownLane[] }>({ path: `/lanes?state=${state}&limit=${mostOfEach}` }),
  );
  return (await Promise.all(pages)).flatMap(({ items }) => items);
}

function laneTable(lanes: readonly ShownLane[], columns: number | undefined): string {
  const rows = lanes.map((lane) => {
    const { id, state, waiting, in_flight, failures_in_row } = lane;
    const until = untilOf(lane);
    return [
      ...[id, state, until === null ? '-' : shortTime(until)],
      ...[waiting, in_flight, failures_in_row].map(String),
    ];
  });
  return inColumns(
    [['LANE', 'STATE', 'UNTIL', 'WAITING', 'RUNNING', 'FAILURES'], ...rows],
    columns,
  );
}

/** When the lane's state ends, if that is known. */
export function untilOf({ state, paused_until, breaker_until }: ShownLane): string | null {
  if (state === 'breaker_open') return breaker_until;
  return state === 'paused' ? paused_until : null;
}

/** Numbers that are not 0, with their names. */
export function inWords(counts: Counts): string {
  const parts = Object.entries(counts).filter(([, n]) => n > 0);
  return parts.length > 0 ? parts.map(([name, n]) => `${n} ${name}`).join(', ') : 'none';
}
