import { systemClock } from '../clock.ts';
import { duration } from '../config/scalars.ts';
import { type AdminClient, adminClient } from './admin-client.ts';
import type { ConfigFlags } from './settings.ts';
import { lanesIn, type ShownStatus, TROUBLED } from './status.ts';
import { CommandError, type ExitCode, type Terminal } from './terminal.ts';
import { type ScreenSize, type ShownExchange, type TopView, topLines } from './top-screen.ts';

export interface TopFlags extends ConfigFlags {
  /** As written: 1s, 500ms. */
  readonly interval: string;
  /** Looks at most; endless without it. */
  readonly count?: number;
}

const MOST_LANES = 100;
const MOST_WAITING = 20;
const PIPED: ScreenSize = { columns: 120, rows: 60 };

/** `forbear top`: what the proxy does, looked at again and again: in place on a terminal, line by line elsewhere. */
export async function top(flags: TopFlags, terminal: Terminal): Promise<ExitCode> {
  const intervalMs = spanOf(flags.interval);
  const client = adminClient(flags, terminal);
  const first = await look(client);
  if (terminal.columns === undefined || !process.stdin.isTTY) {
    return plainly(first, client, { flags, terminal, intervalMs });
  }
  return inPlace(first, { flags, terminal, intervalMs });
}

const SHORTEST_MS = 100;

function spanOf(interval: string): number {
  const read = duration.safeParse(interval);
  if (read.success && read.data >= SHORTEST_MS) return read.data;
  throw new CommandError('--interval takes a duration of at least 100ms, such as 2s', 2);
}

interface Asked {
  readonly flags: TopFlags;
  readonly terminal: Terminal;
  readonly intervalMs: number;
}

async function look(client: AdminClient): Promise<TopView> {
  const status = await client.json<ShownStatus>({ path: '/status' });
  const [lanes, waiting] = await Promise.all([
    lanesIn(client, status, [...TROUBLED, 'active', 'idle'], MOST_LANES),
    client.json<{ items: ShownExchange[] }>({
      path: `/exchanges?state=waiting&limit=${MOST_WAITING}`,
    }),
  ]);
  return { status, lanes, waiting: waiting.items };
}

async function plainly(
  first: TopView,
  client: AdminClient,
  { flags, terminal, intervalMs }: Asked,
): Promise<ExitCode> {
  let view = first;
  // Whoever read it may have left.
  const gone = new AbortController();
  process.stdout.once('error', () => gone.abort());
  for (let n = 1; ; n += 1) {
    const lines = topLines(view, PIPED, systemClock.now()).filter((line) => line !== '');
    terminal.out(`${[new Date(systemClock.now()).toISOString(), ...lines].join('\n')}\n\n`);
    if (n >= (flags.count ?? Number.POSITIVE_INFINITY)) return 0;
    if ((await systemClock.sleep(intervalMs, gone.signal)) === 'aborted') return 0;
    view = await look(client);
  }
}

/** On a screen of its own; what was on the terminal before is there again afterwards. */
async function inPlace(first: TopView, asked: Asked): Promise<ExitCode> {
  const { flags, terminal, intervalMs } = asked;
  const leave = new AbortController();
  const quit = (): void => leave.abort();
  let shown: Shown = { view: first, trouble: undefined };
  const draw = (): void => terminal.out(screen(shown, terminal));
  const restore = takeOver(terminal, { quit, draw });
  try {
    for (let n = 1; n <= (flags.count ?? Number.POSITIVE_INFINITY); n += 1) {
      draw();
      if ((await systemClock.sleep(intervalMs, leave.signal)) === 'aborted') break;
      shown = await lookAgain(shown, asked);
      if (leave.signal.aborted) break;
    }
    return 0;
  } finally {
    restore();
  }
}

interface Shown {
  readonly view: TopView;
  /** Why it is no newer. */
  readonly trouble: string | undefined;
}

/** A proxy that restarts may come back at another address: it is looked for anew each time. */
async function lookAgain(shown: Shown, { flags, terminal }: Asked): Promise<Shown> {
  try {
    return { view: await look(adminClient(flags, terminal)), trouble: undefined };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { ...shown, trouble: error.message };
  }
}

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';

function takeOver(terminal: Terminal, on: { quit: () => void; draw: () => void }): () => void {
  const { stdin, stdout } = process;
  const onKey = (keys: Buffer): void => {
    if (['q', 'Q', CTRL_C, CTRL_D].some((key) => keys.includes(key))) on.quit();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdin.once('end', on.quit);
  stdout.on('resize', on.draw);
  for (const signal of signals) process.on(signal, on.quit);
  terminal.out(ENTER);
  return () => {
    terminal.out(LEAVE);
    stdin.setRawMode(false);
    stdin.off('data', onKey);
    stdin.pause();
    stdout.off('resize', on.draw);
    for (const signal of signals) process.off(signal, on.quit);
  };
}

/** Line by line over what was there: nothing flickers. */
function screen({ view, trouble }: Shown, terminal: Terminal): string {
  const columns = terminal.columns ?? PIPED.columns;
  const rows = process.stdout.rows || 24;
  const lines = topLines(view, { columns, rows: rows - 1 }, systemClock.now());
  const paint = terminal.env.NO_COLOR ? (line: string) => line : painted;
  const foot = trouble ?? 'q quits';
  const text = [...lines.map(paint), foot.slice(0, columns)];
  return `\x1b[H${text.map((line) => `${line}\x1b[0m\x1b[K`).join('\n')}\x1b[J`;
}

function painted(line: string): string {
  if (/^(LANE|\s+WAITS) /.test(line)) return `\x1b[7m${line}`;
  if (/ (isolated|breaker_open) /.test(line)) return `\x1b[31m${line}`;
  return / (paused|breaker_half_open) /.test(line) ? `\x1b[33m${line}` : line;
}
