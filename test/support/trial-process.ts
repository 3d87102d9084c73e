import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const forbear = fileURLToPath(new URL('../../bin/forbear.js', import.meta.url));
const tellAccepted = new URL('tell-accepted.ts', import.meta.url).href;

/** A Forbear in a process of its own that can be killed at any moment. */
export interface TrialProcess {
  readonly child: ChildProcess;
  readonly port: number;
  /** Whether it took in a connection from this port; the system alone may have. Asked for with `tellsAccepted`. */
  accepted(fromPort: number): boolean;
  /** Its status, or the signal that ended it; all that it printed is known then. */
  readonly closed: Promise<number | string>;
  /** All that it printed. */
  text(): string;
  /** Sends the signal and waits for the end: its status, or the signal's name. */
  end(signal: NodeJS.Signals): Promise<number | string>;
}

export interface TrialOptions {
  /** Another program to run Forbear with, and its arguments. */
  readonly run?: readonly string[];
  readonly tellsAccepted?: boolean;
}

/** Starts Forbear over a home; settles when it listens, rejects with what it said when it ends before. */
export async function startTrial(
  home: string,
  config: string,
  { run = [], tellsAccepted = false }: TrialOptions = {},
): Promise<TrialProcess> {
  const [program = process.execPath, ...before] = run;
  const args = [forbear, 'start', '--config', config, '--listen', '127.0.0.1:0'];
  const child = spawn(program, run.length > 0 ? [...before, process.execPath, ...args] : args, {
    env: {
      ...{ PATH: process.env.PATH, HOME: home, FORBEAR_HOME: home },
      FORBEAR_ADMIN_LISTEN: 'off',
      ...(tellsAccepted ? { NODE_OPTIONS: `--import=${tellAccepted}` } : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const closed = once(child, 'close').then(([status, signal]) => {
    reject(new Error(`ended with ${status ?? signal}: ${text}`));
    return (status ?? signal) as number | string;
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  }
  const port = await promise;
  return {
    child,
    port,
    closed,
    accepted: (fromPort) => text.includes(`accepted ${fromPort}\n`),
    text: () => text,
    end: (signal) => {
      child.kill(signal);
      return closed;
    },
  };
}
