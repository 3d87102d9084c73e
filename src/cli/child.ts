import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { type ExitCode, systemCode, type Terminal } from './terminal.ts';

const SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const;
// What shells answer with.
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const BY_SIGNAL = 128;

/**
 * Runs a command on this terminal, without a shell in between, passes signals on to it, and resolves
 * with its exit status: 128 + n when signal n ended it.
 */
export async function runCommand(
  command: readonly [string, ...string[]],
  env: Terminal['env'],
  terminal: Terminal,
): Promise<ExitCode> {
  const [name, ...args] = command;
  // Listening begins first: a command may be signalled as soon as it runs.
  const forwarding = forwardSignals();
  const child = spawn(name, args, { stdio: 'inherit', env: { ...env } });
  forwarding.to(child);
  try {
    return await exitCode(child);
  } catch (error) {
    const code = systemCode(error);
    terminal.err(
      code === 'ENOENT'
        ? `forbear: command not found: ${name}\n`
        : `forbear: cannot run ${name}: ${code ?? error}\n`,
    );
    return code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE;
  } finally {
    forwarding.end();
  }
}

function exitCode(child: ChildProcess): Promise<ExitCode> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (status, signal) => {
      resolve(signal === null ? (status ?? 1) : BY_SIGNAL + constants.signals[signal]);
    });
  });
}

/** A terminal sends SIGINT and SIGQUIT to every process in the foreground itself, so those are not sent twice. */
function forwardSignals(): { to(child: ChildProcess): void; end(): void } {
  const onTerminal = process.stdin.isTTY === true;
  let target: ChildProcess | undefined;
  const forward = (signal: NodeJS.Signals): void => {
    if (onTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT')) return;
    target?.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  return {
    to: (child) => {
      target = child;
    },
    end: () => {
      for (const signal of SIGNALS) process.off(signal, forward);
    },
  };
}
