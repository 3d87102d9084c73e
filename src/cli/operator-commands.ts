import { type Command, InvalidArgumentError, Option } from 'commander';
import { withConfig } from './config-option.ts';
import type { DropFlags, ListFlags } from './dead-letters.ts';
import type { ExportFlags } from './dead-letters-export.ts';
import type { RedriveFlags } from './dead-letters-redrive.ts';
import type { ShowFlags } from './dead-letters-show.ts';
import type { ConfigFlags } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import type { TopFlags } from './top.ts';

interface Outcome {
  code: ExitCode;
}

/** The commands that ask a running proxy through its admin API. */
export function addOperator(program: Command, terminal: Terminal, outcome: Outcome): void {
  addLooks(program, terminal, outcome);
  const letters = program
    .command('dead-letters')
    .description('requests that were given up: look at them, send them again, take them away');
  addLetterLooks(letters, terminal, outcome);
  addLetterActions(letters, terminal, outcome);
}

function addLooks(program: Command, terminal: Terminal, outcome: Outcome): void {
  withAdmin(program.command('status'))
    .description('one look at the running proxy')
    .option('--json', 'print it as JSON')
    .action(async (flags: ConfigFlags & { json?: boolean }) => {
      const { status } = await import('./status.ts');
      outcome.code = await status(flags, terminal);
    });

  withAdmin(program.command('top'))
    .description('what the running proxy does, live; q quits')
    .option('--interval <duration>', 'time between two looks', '1s')
    .option('--count <n>', 'look so many times, then end', whole)
    .action(async (flags: TopFlags) => {
      const { top } = await import('./top.ts');
      outcome.code = await top(flags, terminal);
    });

  withAdmin(program.command('healthcheck'))
    .description('exit 0 while the running proxy takes new requests, else 1')
    .option('--live', 'only whether its process answers')
    .action(async (flags: ConfigFlags & { live?: boolean }) => {
      const { healthcheck } = await import('./healthcheck.ts');
      outcome.code = await healthcheck(flags, terminal);
    });
}

function addLetterLooks(letters: Command, terminal: Terminal, outcome: Outcome): void {
  withFilters(withAdmin(letters.command('ls', { isDefault: true })))
    .description('list them, the newest first')
    .option('--limit <n>', 'show so many', whole, 100)
    .option('--json', 'print them as JSON')
    .action(async (flags: ListFlags) => {
      const { listLetters } = await import('./dead-letters.ts');
      outcome.code = await listLetters(flags, terminal);
    });

  withAdmin(letters.command('show'))
    .description('all that is known of one letter; credentials are blanked')
    .argument('<id>', 'the id, as in Forbear-Dead-Letter')
    .option('--json', 'print it as JSON')
    .addOption(
      new Option('--body', "print the request's body, nothing else").conflicts([
        'response',
        'json',
      ]),
    )
    .addOption(
      new Option('--response', 'print the body of the reply that a redrive brought').conflicts(
        'json',
      ),
    )
    .action(async (id: string, flags: ShowFlags) => {
      const { showLetter } = await import('./dead-letters-show.ts');
      outcome.code = await showLetter(id, flags, terminal);
    });

  withFilters(withAdmin(letters.command('export')))
    .description('take letters away, with their bodies and replies')
    .addOption(
      new Option('--format <format>', 'the form')
        .choices(['jsonl', 'curl', 'har'])
        .default('jsonl'),
    )
    .option('--with-secrets', 'with credentials as they were sent')
    .option('--output <file>', 'write into a file that only you can read')
    .action(async (flags: ExportFlags) => {
      const { exportLetters } = await import('./dead-letters-export.ts');
      outcome.code = await exportLetters(flags, terminal);
    });
}

function addLetterActions(letters: Command, terminal: Terminal, outcome: Outcome): void {
  withFilters(withAdmin(letters.command('redrive')))
    .description('send letters again; exit 0 when each has brought a final answer')
    .argument('[ids...]', 'these letters')
    .option('--due', 'those whose time has come')
    .option('--all', 'all that are parked')
    .option(
      '--force',
      'also what may have been executed, has lost its session, or whose credentials were refused',
    )
    .option('--json', 'print each outcome as a line of JSON')
    .action(async (ids: string[], flags: RedriveFlags) => {
      const { redriveLetters } = await import('./dead-letters-redrive.ts');
      outcome.code = await redriveLetters(ids, flags, terminal);
    });

  withFilters(withAdmin(letters.command('drop')))
    .description('remove letters for good')
    .argument('[ids...]', 'these letters')
    .option('--all', 'all of them, whatever their state')
    .option('--yes', 'do not ask')
    .option('--json', 'print how many as JSON')
    .action(async (ids: string[], flags: DropFlags) => {
      const { dropLetters } = await import('./dead-letters.ts');
      outcome.code = await dropLetters(ids, flags, terminal);
    });
}

function withAdmin(command: Command): Command {
  return withConfig(command).option(
    '--admin <host:port>',
    'the admin server (default: that of the running proxy, else as configured)',
  );
}

function withFilters(command: Command): Command {
  return command
    .option('--lane <id>', 'only letters of this lane')
    .option('--host <host>', 'only of this host')
    .option('--reason <reason>', 'only with this reason, as in docs/reasons.md')
    .addOption(
      new Option('--state <state>', 'only in this state').choices([
        ...['parked', 'redriving', 'done', 'expired', 'needs_client'],
      ]),
    )
    .option('--session <id>', 'only of this session')
    .option('--older-than <duration>', 'only parked longer ago than, say, 2h');
}

function whole(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It takes a number above 0.');
}
