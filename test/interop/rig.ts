import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ExitProxy, startExit } from '../support/exit-proxy.ts';
import { scratch, spawnForbear } from '../support/forbear-process.ts';
import { makeTestCa, type TestCa } from '../support/test-ca.ts';
import { startOrigin, type TestOrigin } from '../support/test-origin.ts';

/** The site's name for HTTP; it exists for the exits only. */
export const PLAIN_HOST = 'shop.test';
/** The site's name for HTTPS. */
export const SECURE_HOST = 'secure.test';

/** Another name of the HTTP site, so another lane. */
export const OTHER_HOST = 'other.test';

const EXITS = ['127.0.1.1', '127.0.1.2', '127.0.1.3'];

/** The path of a client script. */
export const client = (name: string): string =>
  fileURLToPath(new URL(`clients/${name}`, import.meta.url));

let ca: TestCa | undefined;

/** The authority of the sites of one test file. */
export function siteCa(): TestCa {
  const names = [PLAIN_HOST, SECURE_HOST, 'localhost'].map((name) => `DNS:${name}`);
  ca ??= makeTestCa(join(scratch, 'site-ca'), [...names, 'IP:127.0.0.1']);
  return ca;
}

/** A site behind three exits, and the configuration that leads there. */
export interface Rig {
  readonly origin: TestOrigin;
  readonly exits: readonly ExitProxy[];
  readonly config: string;
}

export async function startRig(t: TestContext, settings: readonly string[] = []): Promise<Rig> {
  const origin = await startOrigin(t, siteCa());
  const { httpPort, httpsPort } = origin;
  const names = { [PLAIN_HOST]: httpPort, [OTHER_HOST]: httpPort, [SECURE_HOST]: httpsPort };
  const exits = await Promise.all(EXITS.map((exit) => startExit(t, { exit, names })));
  const routes = exits.map(({ url }) => url).join(', ');
  return { origin, exits, config: writeConfig([`{ name: exits, routes: [${routes}] }`], settings) };
}

/** Writes a configuration with these upstreams; the backoff is short, everything else as it comes or as `settings` say. */
export function writeConfig(
  upstreams: readonly string[],
  settings: readonly string[] = [],
): string {
  const file = join(mkdtempSync(join(scratch, 'config-')), 'proxy.config.yaml');
  const lines = [
    'listen: 127.0.0.1:0',
    `tls: { extra_ca: [${siteCa().caFile}] }`,
    'policy: { backoff: { base: 50ms } }',
    ...settings,
    'upstreams:',
    ...upstreams.map((upstream) => `  - ${upstream}`),
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

/** What a client script reports for one URL. */
export interface Line {
  readonly url: string;
  readonly status: number;
  readonly sha256: string;
}

/** Runs a command by `forbear run`, which must end well, and collects the lines it reports. */
export async function runClient(
  t: TestContext,
  config: string,
  command: readonly string[],
  o: { readonly flags?: readonly string[]; readonly env?: Record<string, string> } = {},
): Promise<readonly Line[]> {
  return linesOf(await runCommand(t, config, command, o));
}

/** The lines of a client's report, whatever else it printed. */
export function linesOf<T extends { readonly url: string } = Line>(text: string): readonly T[] {
  const lines = text.split('\n').filter((line) => line.startsWith('{"url"'));
  return lines.map((line) => JSON.parse(line) as T);
}

/** A reply as curl shows it. */
export interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  /** The value of a field, empty where there is none. */
  field(name: string): string;
}

/** Asks for one URL with `curl -i`, also for loopback, by `forbear run`. */
export async function ask(t: TestContext, config: string, url: string): Promise<Answer> {
  // The head of a CONNECT is not the reply.
  const curl = ['curl', '--silent', '--show-error', '--include', '--suppress-connect-headers', url];
  const args = ['run', '--config', config, '--no-proxy', '', '--', ...curl];
  const { closed, printed } = spawnForbear(t, args);
  assert.deepEqual(await closed, [0, null], printed.text);
  const text = printed.text.slice(printed.text.indexOf('HTTP/'));
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end);
  return {
    status: Number(head.split(' ')[1]),
    head,
    body: text.slice(end + 4),
    field: (name) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '',
  };
}

/** Runs a command by `forbear run`, which must end well, and gives all that it printed. */
export async function runCommand(
  t: TestContext,
  config: string,
  command: readonly string[],
  o: { readonly flags?: readonly string[]; readonly env?: Record<string, string> } = {},
): Promise<string> {
  const args = ['run', '--config', config, ...(o.flags ?? []), '--', ...command];
  const { closed, printed } = spawnForbear(t, args, o.env);
  assert.deepEqual(await closed, [0, null], printed.text);
  return printed.text;
}
