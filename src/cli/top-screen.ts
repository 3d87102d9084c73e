import { printable } from '../telemetry/log-text.ts';
import { cut, span } from './columns.ts';
import { inWords, type ShownLane, type ShownStatus, untilOf } from './status.ts';

/** An exchange that waits, of the API. */
export interface ShownExchange {
  readonly id: string;
  readonly lane: string;
  readonly method: string;
  readonly url: string;
  readonly started_at: string;
  readonly stage: { readonly kind: string; readonly until: string | null } | null;
}

/** What `top` has read at one moment. */
export interface TopView {
  readonly status: ShownStatus;
  readonly lanes: readonly ShownLane[];
  readonly waiting: readonly ShownExchange[];
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

const WAITING_ROWS = 8;
const HEAD_ROWS = 6;

/** The lines of one screen, none longer and no more than fit; the colours come later. */
export function topLines(view: TopView, { columns, rows }: ScreenSize, now: number): string[] {
  const shown = view.waiting.slice(0, Math.min(WAITING_ROWS, Math.max(0, rows - HEAD_ROWS - 3)));
  const waiting = shown.length > 0 ? ['', ...waitingLines(shown, columns, now)] : [];
  const room = Math.max(1, rows - HEAD_ROWS - waiting.length);
  const lines = [...headLines(view.status, now), '', ...laneLines(view.lanes, columns, now)];
  const fitting = lines.slice(0, HEAD_ROWS - 1 + room);
  return [...fitting, ...waiting].slice(0, rows).map((line) => cut(line, columns));
}

function headLines(status: ShownStatus, now: number): string[] {
  const { version, state, listen, started_at, exchanges, waiting, connections } = status;
  const { all = 0, idle = 0, ...lanes } = status.lanes;
  const letters = status.dead_letters ? inWords(status.dead_letters) : 'out of reach';
  const up = span((now - Date.parse(started_at)) / 1000);
  return [
    printable(`Forbear ${version}  ${state}  ${listen ?? 'not listening'}  up ${up}`),
    `exchanges ${exchanges}, ${waiting} waiting   connections ${connections}   routes ${inWords(status.routes)}   sessions ${inWords(status.sessions)}`,
    `lanes ${all}, ${inWords({ ...lanes, idle })}   dead letters ${letters}`,
  ];
}

const NUMBERS = ['UNTIL', 'WAIT', 'RUN', 'RATE/S', 'BUDGET', 'FAILS'] as const;
const NUMBER_WIDTHS = [8, 6, 5, 8, 7, 6] as const;
const STATE_WIDTH = 18;

function laneLines(lanes: readonly ShownLane[], columns: number, now: number): string[] {
  const fixed = STATE_WIDTH + NUMBER_WIDTHS.reduce((sum, width) => sum + width, 0) + 1;
  const name = Math.max(12, columns - fixed);
  const line = (id: string, state: string, numbers: readonly string[]): string => {
    const right = numbers.map((text, i) => text.padStart(NUMBER_WIDTHS[i] ?? 0)).join('');
    return `${cut(printable(id), name).padEnd(name)} ${state.padEnd(STATE_WIDTH)}${right}`;
  };
  const rows = lanes.map((lane) =>
    line(lane.id, printable(lane.state), [
      left(untilOf(lane), now),
      String(lane.waiting),
      String(lane.in_flight),
      lane.rate === null ? '-' : lane.rate.toFixed(2),
      String(Math.floor(lane.budget)),
      String(lane.failures_in_row),
    ]),
  );
  return [line('LANE', 'STATE', NUMBERS), ...rows];
}

function waitingLines(waiting: readonly ShownExchange[], columns: number, now: number): string[] {
  const rows = waiting.map(({ method, url, stage, started_at }) => {
    const since = span((now - Date.parse(started_at)) / 1000).padStart(8);
    const until = left(stage?.until ?? null, now).padStart(8);
    const kind = printable(stage?.kind ?? '-').padEnd(STATE_WIDTH - 1);
    return cut(`${since}${until}  ${kind} ${printable(`${method} ${url}`)}`, columns);
  });
  return [
    `${'WAITS'.padStart(8)}${'STILL'.padStart(8)}  ${'FOR'.padEnd(STATE_WIDTH)}REQUEST`,
    ...rows,
  ];
}

const left = (until: string | null, now: number): string =>
  until === null ? '-' : span(Math.max(0, Date.parse(until) - now) / 1000);
