import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Gateway } from '../test/support/gateway.ts';
import type { Client, Wish } from './loops.ts';
import { type Answer, ask } from './requests.ts';

const COMMAND = fileURLToPath(new URL('../bin/forbear.js', import.meta.url));

/** Starts the proxy as a process of its own with its defaults; the client in front of it has no retries at all. */
export async function throughForbear(
  gateway: Gateway,
  log: { readonly folder: string | undefined; readonly name: string },
): Promise<Client> {
  const home = mkdtempSync(join(tmpdir(), 'forbear-bench-'));
  const config = join(home, 'proxy.config.yaml');
  writeFileSync(config, configFor(gateway));
  const child = spawn(process.execPath, [COMMAND, 'start', '--config', config], {
    cwd: home,
    env: {
      ...{ PATH: process.env.PATH, HOME: home, FORBEAR_HOME: join(home, 'state') },
      FORBEAR_ADMIN_LISTEN: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  if (log.folder !== undefined) {
    mkdirSync(log.folder, { recursive: true });
    const file = createWriteStream(join(log.folder, `forbear-${log.name}.log`));
    for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false });
  }
  const remove = () => rmSync(home, { recursive: true, force: true });
  const proxyPort = await listening(child.stdout, child.stderr, closed).finally(() => {
    if (child.exitCode !== null) remove();
  });
  const agent = new Agent({ keepAlive: true });
  return {
    async get(wish, signal) {
      const answer = await ask({
        url: wish.url,
        proxyPort,
        agent,
        headers: headersFor(wish),
        signal,
      });
      return isGood(answer) ? answer : undefined;
    },
    async close() {
      agent.destroy();
      child.kill('SIGKILL');
      await closed;
      remove();
    },
  };
}

function configFor({ port, account: { name, password } }: Gateway): string {
  return [
    'listen: 127.0.0.1:0',
    'admin: { listen: 127.0.0.1:0 }',
    'upstreams:',
    '  - name: pool',
    `    gateway: http://${name}-sid-{session|alnum:12}:${password}@127.0.0.1:${port}`,
    'log: { format: json }',
    '',
  ].join('\n');
}

function headersFor({ flow, cookie }: Wish): Record<string, string> {
  return {
    ...(flow === undefined ? {} : { 'Forbear-Session': flow }),
    ...(cookie === undefined ? {} : { Cookie: cookie }),
  };
}

function isGood(answer: Answer): answer is Extract<Answer, { kind: 'page' }> {
  return answer.kind === 'page' && answer.status === 200 && answer.complete;
}

/** The port, once the process has told it. */
function listening(
  stdout: NodeJS.ReadableStream,
  stderr: NodeJS.ReadableStream,
  closed: Promise<unknown>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-10_000);
      const port = /listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1];
      if (port !== undefined) resolve(Number(port));
    };
    stdout.on('data', read);
    stderr.on('data', read);
    void closed.then(() => reject(new Error(`The proxy did not start:\n${text}`)));
  });
}
