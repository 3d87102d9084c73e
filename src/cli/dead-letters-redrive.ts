import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { printable } from '../telemetry/log-text.ts';
import { type AdminClient, adminClient } from './admin-client.ts';
import { chosenIds } from './dead-letters.ts';
import { isFiltered, type LetterFlags } from './dead-letters-filter.ts';
import { Progress } from './progress.ts';
import { CommandError, type ExitCode, type Terminal } from './terminal.ts';

export interface RedriveFlags extends LetterFlags {
  readonly all?: boolean;
  readonly due?: boolean;
  readonly force?: boolean;
}

/** A line of the API's stream. */
interface Told {
  readonly id?: string;
  readonly outcome?: string;
  readonly detail?: string;
  readonly summary?: Readonly<Record<string, number>>;
  readonly failed?: string;
}

interface Order {
  readonly bodies: readonly object[];
  /** undefined: nobody knows before it is over. */
  readonly letters: number | undefined;
}

const AT_ONCE = 10_000;

/** `forbear dead-letters redrive`: sends letters again. 0 when each has brought a final answer. */
export async function redriveLetters(
  ids: readonly string[],
  flags: RedriveFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const order = await orderOf(client, ids, flags);
  const progress = new Progress(terminal, 'redriving', order.letters);
  const release = onInterrupt(progress, terminal);
  const sums = new Map<string, number>();
  try {
    for (const body of order.bodies) {
      for await (const told of redriven(client, body)) {
        if (told.summary) addUp(sums, told.summary);
        else tell(told, progress, { flags, terminal });
      }
    }
  } finally {
    progress.clear();
    release();
  }
  const summary = Object.fromEntries(sums);
  terminal.out(flags.json ? `${JSON.stringify({ summary })}\n` : `${inWords(summary)}\n`);
  return Object.keys(summary).every((outcome) => outcome === 'done') ? 0 : 1;
}

/** A good end is counted only; any other is said. */
function tell(
  told: Told,
  progress: Progress,
  { flags, terminal }: { flags: RedriveFlags; terminal: Terminal },
): void {
  const { id, outcome = '', detail = '' } = told;
  if (id === undefined) return;
  progress.step(outcome);
  if (flags.json) terminal.out(`${JSON.stringify(told)}\n`);
  if (flags.json || outcome === 'done') return;
  progress.clear();
  terminal.err(`${printable(`${id}  ${outcome}  ${detail}`)}\n`);
}

async function orderOf(
  client: AdminClient,
  ids: readonly string[],
  flags: RedriveFlags,
): Promise<Order> {
  const { all, due, force = false } = flags;
  if (due && (all || ids.length > 0 || isFiltered(flags))) {
    throw new CommandError('--due stands alone', 2);
  }
  if (force && ids.length === 0 && !isFiltered(flags)) {
    throw new CommandError('--force is for letters that are named by ids or flags', 2);
  }
  if (due) return { bodies: [{ due: true }], letters: undefined };
  if (all && ids.length === 0 && !isFiltered(flags)) {
    return { bodies: [{ all: true }], letters: await parked(client) };
  }
  // What is over, or is under way already, is not meant by a flag.
  const which = isFiltered(flags) ? { state: 'parked', ...flags } : flags;
  const chosen = await chosenIds(client, ids, which);
  const bodies = [];
  for (let i = 0; i < chosen.length; i += AT_ONCE) {
    bodies.push({ ids: chosen.slice(i, i + AT_ONCE), force });
  }
  return { bodies, letters: chosen.length };
}

async function parked(client: AdminClient): Promise<number | undefined> {
  const status = await client.json<{ dead_letters: { parked: number } | null }>({
    path: '/status',
  });
  return status.dead_letters?.parked;
}

async function* redriven(client: AdminClient, body: object): AsyncGenerator<Told> {
  const accept = 'application/x-ndjson';
  const call = { method: 'POST', path: '/dead-letters/redrive', body, accept } as const;
  let last: Told | undefined;
  for await (const line of linesOf(await client.open(call))) {
    last = JSON.parse(line) as Told;
    yield last;
  }
  if (last?.summary) return;
  const why = last?.failed ?? 'the proxy ended';
  throw new CommandError(`the redrive was broken off: ${printable(why)}`, 1);
}

async function* linesOf(answer: IncomingMessage): AsyncGenerator<string> {
  const lines = createInterface({ input: answer, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    for await (const line of lines) if (line !== '') yield line;
  } catch {
    // A cut shows by the last line that is not there.
  }
}

function addUp(sums: Map<string, number>, summary: Readonly<Record<string, number>>): void {
  for (const [outcome, letters] of Object.entries(summary)) {
    sums.set(outcome, (sums.get(outcome) ?? 0) + letters);
  }
}

function inWords(summary: Readonly<Record<string, number>>): string {
  const rank = (outcome: string): number => (outcome === 'done' ? 0 : 1);
  const ranked = Object.entries(summary).sort(([a, n], [b, m]) => rank(a) - rank(b) || m - n);
  const parts = ranked.map(([outcome, letters]) => `${letters} ${outcome}`);
  return parts.length > 0 ? printable(parts.join(', ')) : 'There was nothing to redrive.';
}

/** The proxy goes on with what it has begun; only the looking on ends. */
function onInterrupt(progress: Progress, terminal: Terminal): () => void {
  const leave = (): void => {
    progress.clear();
    terminal.err(
      'forbear: the proxy goes on with the redrive; dead-letters ls shows how far it is\n',
    );
    process.exit(130);
  };
  process.once('SIGINT', leave);
  return () => process.off('SIGINT', leave);
}
