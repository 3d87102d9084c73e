import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { CA_TOPICS, type CaTopic } from './ca-topics.ts';
import { withConfig } from './config-option.ts';
import type { DoctorFlags } from './doctor/doctor.ts';
import { ENV_FORMATS, type EnvFormat } from './env-formats.ts';
import { addOperator } from './operator-commands.ts';
import type { ConfigFlags } from './settings.ts';
import { CommandError, type ExitCode, processTerminal, type Terminal } from './terminal.ts';
import { ownVersion } from './version.ts';

const USAGE_ERROR = 2;

/** Runs one command line and resolves with the exit status: 0 fine, 1 failed, 2 usage or configuration. */
export async function main(
  args: readonly string[],
  terminal: Terminal = processTerminal,
): Promise<ExitCode> {
  const outcome: Outcome = { code: 0 };
  try {
    await commandLine(terminal, outcome).parseAsync(args, { from: 'user' });
    return outcome.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    if (!(error instanceof CommandError)) throw error;
    terminal.err(`forbear: ${error.message}\n`);
    return error.exitCode;
  }
}

interface Outcome {
  code: ExitCode;
}

/** Each command's code is loaded when the command is given, so that the small ones start fast. */
function commandLine(terminal: Terminal, outcome: Outcome): Command {
  const program = new Command('forbear')
    .description('A local forward proxy that adds retry discipline in front of scrapers.')
    .version(ownVersion(), '-V, --version')
    .exitOverride()
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
    .showHelpAfterError('(see --help)')
    .enablePositionalOptions();
  addService(program, terminal, outcome);
  addClient(program, terminal, outcome);
  addOffline(program, terminal, outcome);
  addOperator(program, terminal, outcome);
  return program;
}

function addService(program: Command, terminal: Terminal, outcome: Outcome): void {
  withConfig(program.command('start'))
    .description('run the proxy until it is stopped; the log goes to standard error')
    .option('--listen <host:port>', 'where clients reach the proxy (default: 127.0.0.1:8888)')
    .option(
      '--admin <host:port>',
      'where the admin server listens, or off (default: 127.0.0.1:8889)',
    )
    .option('--log <file>', 'append a line of JSON per attempt to this file, for `replay`')
    .action(async (flags: ConfigFlags) => {
      const { start } = await import('./start.ts');
      outcome.code = await start(flags, terminal);
    });
}

function addClient(program: Command, terminal: Terminal, outcome: Outcome): void {
  withClient(withConfig(program.command('run')))
    .description('run a command behind the proxy: the running one, or one for this command alone')
    .usage('[options] -- COMMAND [ARG...]')
    .argument('<command...>', 'the command and its arguments')
    .passThroughOptions()
    .action(async (command: [string, ...string[]], flags: ParsedClientFlags) => {
      const { run } = await import('./run.ts');
      outcome.code = await run(clientFlags(flags), command, terminal);
    });

  withClient(withConfig(program.command('env')))
    .description('print the variables that `run` sets, to export')
    .addOption(
      new Option('--format <format>', 'who will read them').choices(ENV_FORMATS).default('sh'),
    )
    .action(async (flags: ParsedClientFlags & { format: EnvFormat }) => {
      const { env } = await import('./env.ts');
      outcome.code = await env({ ...clientFlags(flags), format: flags.format }, terminal);
    });

  withConfig(program.command('ca'))
    .description('the certificate authority that intercepted sites are signed with')
    .addArgument(
      new Argument(
        '[what]',
        "path or bundle (with the system's roots): a file's path; print: the PEM",
      )
        .choices(CA_TOPICS)
        .default('path'),
    )
    .action(async (topic: CaTopic) => {
      const { ca } = await import('./ca.ts');
      outcome.code = await ca(topic, terminal);
    });
}

function addOffline(program: Command, terminal: Terminal, outcome: Outcome): void {
  withConfig(program.command('check'))
    .description('validate the configuration')
    .action(async (flags: ConfigFlags) => {
      const { check } = await import('./check.ts');
      outcome.code = check(flags, terminal);
    });

  addDoctor(program, terminal, outcome);
  addReplay(program, terminal, outcome);

  withConfig(program.command('explain'))
    .description('judge a reply offline: the verdict, the action, and why')
    .requiredOption('--url <url>', 'what was asked for')
    .requiredOption('--status <n>', 'the status of the reply', httpStatus)
    .option(
      '--header <header>',
      "a header of the reply, as 'Name: value'; repeatable",
      collected,
      [],
    )
    .option('--body <file>', 'the body of the reply (- for standard input)')
    .option('--method <method>', 'the method of the request', 'GET')
    .option('--profile <name>', 'the profile the client chose')
    .option('--in-session', 'the request belongs to a session')
    .option('--via-upstream', 'the request went through an upstream')
    .option('--json', 'print it as JSON')
    .action(async (flags) => {
      const { explain } = await import('./explain.ts');
      outcome.code = explain(flags, terminal);
    });
}

function addDoctor(program: Command, terminal: Terminal, outcome: Outcome): void {
  withConfig(program.command('doctor'))
    .description('what is in the way of a start, or of a client: ports, CA, upstreams, variables')
    .usage('[options] [-- COMMAND [ARG...]]')
    .argument('[command...]', 'a client whose known traps are to be told')
    .option('--target <host:port>', 'what every upstream is to connect to, once, login included')
    .option('--json', 'print it as JSON')
    .passThroughOptions()
    .action(async (command: readonly string[], flags: DoctorFlags) => {
      const { doctor } = await import('./doctor/doctor.ts');
      outcome.code = await doctor(flags, command, terminal);
    });
}

function addReplay(program: Command, terminal: Terminal, outcome: Outcome): void {
  withConfig(program.command('replay'))
    .description('recorded attempts under other rules: what would have been different')
    .requiredOption(
      '--log <file>',
      'an attempt log (start --log); - for standard input; repeatable, the oldest first',
      (file: string, before: readonly string[] | undefined) => [...(before ?? []), file],
    )
    .option('--assume-same-replies', 'go on after waits of another length')
    .option('--examples <n>', 'how many exchanges are named behind each number', wholeNumber, 3)
    .option('--json', 'print it as JSON')
    .action(async (flags) => {
      const { replay } = await import('./replay.ts');
      outcome.code = await replay(flags, terminal);
    });
}

// Commander reads `--no-X VALUE` as the negative of X: the value lands in `proxy`, true when not given.
interface ParsedClientFlags extends ConfigFlags {
  readonly proxy: true | string;
  readonly session?: string;
  readonly country?: string;
  readonly profile?: string;
  readonly java?: boolean;
}

function withClient(command: Command): Command {
  return command
    .option(
      '--no-proxy <list>',
      'hosts that bypass the proxy (default: localhost,127.0.0.1,::1; "" for none)',
    )
    .option('--session <id>', 'keep one address for all of it')
    .option('--country <cc>', 'take addresses of this country')
    .option('--profile <name>', 'take this profile of the configuration')
    .option('--java', 'set JAVA_TOOL_OPTIONS as well (Java prints a line about it)');
}

function clientFlags({ proxy, ...flags }: ParsedClientFlags) {
  return { ...flags, noProxyList: proxy === true ? undefined : proxy };
}

function httpStatus(text: string): number {
  if (/^[1-9]\d\d$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A status has three digits.');
}

function wholeNumber(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A whole number.');
}

function collected(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}
