import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const forbear = fileURLToPath(new URL('../../bin/forbear.js', import.meta.url));

/** A folder of this test file alone; commands run in it, and their homes are below it. */
export const scratch = mkdtempSync(join(tmpdir(), 'forbear-process-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

/** A bound for tests that start processes: generous, since a machine may be busy. */
export const LIMIT = { timeout: 60_000 };

/** Everything a process has printed, and a wait for what it will print. */
export class Printed {
  #text = '';
  #waiting: { pattern: RegExp; found: (match: RegExpExecArray) => void }[] = [];

  constructor(child: ChildProcess) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#add(text));
    }
  }

  get text(): string {
    return this.#text;
  }

  until(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((found) => {
      this.#waiting.push({ pattern, found });
      this.#add('');
    });
  }

  #add(text: string): void {
    this.#text += text;
    this.#waiting = this.#waiting.filter(({ pattern, found }) => {
      const match = pattern.exec(this.#text);
      if (match) found(match);
      return !match;
    });
  }
}

let homes = 0;

/** Starts the command as a process of its own, killed at the test's end if it still runs. */
export function spawnForbear(
  t: TestContext,
  args: readonly string[],
  env: Record<string, string> = {},
) {
  homes += 1;
  const home = env.FORBEAR_HOME ?? join(scratch, `home-${homes}`);
  const child = spawn(process.execPath, [forbear, ...args], {
    cwd: scratch,
    env: {
      ...{ PATH: process.env.PATH, HOME: scratch, FORBEAR_HOME: home },
      // Tests run beside each other: the usual port is for one process.
      FORBEAR_ADMIN_LISTEN: '127.0.0.1:0',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  t.after(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  return { child, home, closed, printed: new Printed(child) };
}

/** A proxy that listens on a free port. */
export async function started(
  t: TestContext,
  args: readonly string[] = [],
  env: Record<string, string> = {},
) {
  const service = spawnForbear(t, ['start', '--listen', '127.0.0.1:0', ...args], env);
  const [, port] = await service.printed.until(/listens on http:\/\/127\.0\.0\.1:(\d+)/);
  return { ...service, port: Number(port) };
}

/** Runs the command to its end: its status, and what it wrote where. */
export async function ran(
  t: TestContext,
  home: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ status: number; out: string; err: string }> {
  const { child, closed } = spawnForbear(t, args, { FORBEAR_HOME: home, ...env });
  const said = { out: '', err: '' };
  child.stdout?.on('data', (text: string) => (said.out += text));
  child.stderr?.on('data', (text: string) => (said.err += text));
  const [status] = await closed;
  return { status: status as number, ...said };
}

/** A site that answers every request with the same text. */
export async function origin(
  t: TestContext,
  answer: (request: IncomingMessage) => string = () => 'hello',
) {
  const server = createServer((request, response) => response.end(answer(request)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Asks for a page through the proxy. */
export async function through(proxyPort: number, url: string): Promise<string> {
  const request = get({ host: '127.0.0.1', port: proxyPort, path: url, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return text;
}

/** A program that holds a port and is no proxy. */
export async function portHolder(t: TestContext): Promise<number> {
  const server = createPlainServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}
