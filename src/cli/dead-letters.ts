import { createInterface } from 'node:readline/promises';
import { systemClock } from '../clock.ts';
import { printable } from '../telemetry/log-text.ts';
import { type AdminClient, adminClient } from './admin-client.ts';
import { inColumns, span } from './columns.ts';
import { isFiltered, type LetterFlags, lettersOf } from './dead-letters-filter.ts';
import { CommandError, type ExitCode, type Terminal } from './terminal.ts';

export interface ListFlags extends LetterFlags {
  /** Letters shown at most. */
  readonly limit: number;
}

/** `forbear dead-letters ls`: the letters, the newest first. */
export async function listLetters(flags: ListFlags, terminal: Terminal): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const letters = [];
  let more = false;
  for await (const letter of lettersOf(client, flags)) {
    more = letters.length >= flags.limit;
    if (more) break;
    letters.push(letter);
  }
  if (flags.json) {
    terminal.out(`${JSON.stringify({ items: letters, more }, null, 2)}\n`);
    return 0;
  }
  if (letters.length === 0) {
    terminal.err('There are no such dead letters.\n');
    return 0;
  }
  const now = systemClock.now();
  const rows = letters.map(({ id, state, needs, reason, due_at, count, method, url }) => [
    ...[id, needs === null ? state : `${state} (${needs})`, reason],
    state === 'parked' ? dueIn(due_at, now) : '-',
    `${method} ${url}${count > 1 ? ` (${count} times)` : ''}`,
  ]);
  const head = ['ID', 'STATE', 'REASON', 'DUE IN', 'REQUEST'];
  terminal.out(inColumns([head, ...rows], terminal.columns));
  if (more) terminal.err(`The newest ${flags.limit}; --limit shows more.\n`);
  return 0;
}

export interface DropFlags extends LetterFlags {
  readonly yes?: boolean;
  readonly all?: boolean;
}

/** Ids that one call may name. */
const AT_ONCE = 10_000;

/** `forbear dead-letters drop`: removes letters for good, after a question. */
export async function dropLetters(
  ids: readonly string[],
  flags: DropFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  const client = adminClient(flags, terminal);
  const chosen = await chosenIds(client, ids, flags);
  if (chosen.length === 0) {
    terminal.err('There are no such dead letters.\n');
    return 0;
  }
  if (!flags.yes && !(await isWanted(chosen.length, terminal))) {
    terminal.err('Nothing was dropped.\n');
    return 1;
  }
  let dropped = 0;
  for (let i = 0; i < chosen.length; i += AT_ONCE) {
    const body = { ids: chosen.slice(i, i + AT_ONCE) };
    const told = await client.json<{ dropped: number }>({
      ...{ method: 'DELETE', path: '/dead-letters', body },
    });
    dropped += told.dropped;
  }
  terminal.out(flags.json ? `${JSON.stringify({ dropped })}\n` : `dropped ${dropped}\n`);
  if (dropped === chosen.length) return 0;
  terminal.err(`forbear: ${chosen.length - dropped} of ${chosen.length} were not there\n`);
  return 1;
}

/** The ids named, or those of all letters that the flags choose. */
export async function chosenIds(
  client: AdminClient,
  ids: readonly string[],
  flags: LetterFlags & { readonly all?: boolean },
): Promise<readonly string[]> {
  if (ids.length > 0) {
    if (flags.all || isFiltered(flags)) {
      throw new CommandError('name letters by their ids or by flags, not by both', 2);
    }
    return [...new Set(ids)];
  }
  if (!flags.all && !isFiltered(flags)) {
    throw new CommandError('say which: ids, --all, or flags such as --lane', 2);
  }
  const found: string[] = [];
  for await (const { id } of lettersOf(client, flags)) found.push(id);
  return found;
}

async function isWanted(letters: number, terminal: Terminal): Promise<boolean> {
  if (!process.stdin.isTTY || !terminal.errIsTerminal) {
    throw new CommandError('nobody can be asked here: say --yes', 2);
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const { promise: left, resolve } = Promise.withResolvers<string>();
  asking.once('close', () => resolve(''));
  const what = letters === 1 ? 'this dead letter' : `these ${letters} dead letters`;
  const answer = await Promise.race([asking.question(`Drop ${what} for good? [y/N] `), left]);
  asking.close();
  return /^\s*y(es)?\s*$/i.test(answer);
}

function dueIn(dueAt: string, now: number): string {
  const ms = Date.parse(dueAt) - now;
  return ms <= 0 ? 'now' : span(ms / 1000);
}

/** To the second, in UTC: as in the log. */
export const shortTime = (iso: string): string => printable(`${iso.slice(0, 19)}Z`);
