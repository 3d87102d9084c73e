import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';

/** A program on PATH or in one of the folders of system programs; a test without its program fails. */
export function program(name: string, folders: readonly string[] = []): string {
  const path = (process.env.PATH ?? '').split(delimiter);
  for (const folder of [...folders, ...path, '/usr/sbin', '/sbin']) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(`${name} is not installed; .ci/packages lists what these tests need`);
}

/** A port of 127.0.0.1 on which nothing listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts a server program in the foreground, waits until it takes connections on its port, and ends it with the test. */
export async function startServer(
  t: TestContext,
  command: readonly [string, ...string[]],
  port: number,
): Promise<void> {
  const [file, ...args] = command;
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const closed = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  while (!(await accepts(port))) {
    if (hasEnded(child)) throw new Error(`${command.join(' ')} ended: ${said}`);
  }
}

const hasEnded = (child: ChildProcess): boolean =>
  child.exitCode !== null || child.signalCode !== null;

/** Whether something takes a connection there; a refusal is told after a moment only, so that a loop does not spin. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => setTimeout(() => resolve(false), 20));
  });
}
