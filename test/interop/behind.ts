import { execFile } from 'node:child_process';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { scratch, started } from '../support/forbear-process.ts';
import { REAL_PROXIES, resolverOf, startRealProxy } from './real-proxies.ts';
import { PLAIN_HOST, runCommand, SECURE_HOST, writeConfig } from './rig.ts';

/** The upstreams that everything must work with. */
export const WAYS: readonly string[] = ['direct', ...REAL_PROXIES.map(({ name }) => name)];

/** A running proxy, and how `forbear run` finds it. */
export interface Behind {
  readonly config: string;
  readonly env: { readonly FORBEAR_HOME: string };
}

/** Starts a proxy behind such an upstream. The names of the site are known there, and nowhere else. */
export async function startBehind(
  t: TestContext,
  way: string,
  settings: readonly string[] = [],
): Promise<Behind> {
  const names = [PLAIN_HOST, SECURE_HOST];
  const proxy = REAL_PROXIES.find(({ name }) => name === way);
  const upstream =
    proxy === undefined
      ? '{ name: direct }'
      : `{ name: ${way}, routes: ["${(await startRealProxy(t, proxy, names))()}"] }`;
  const config = writeConfig([upstream], settings);
  const resolver = proxy === undefined ? resolverOf(names) : {};
  const { home } = await started(t, ['--config', config], resolver);
  return { config, env: { FORBEAR_HOME: home } };
}

const execFileAsync = promisify(execFile);

/**
 * A way to run many clients: each as `forbear run` would, which is asked only once for what it sets. A client
 * that fails rejects; what it printed is in the error.
 */
export async function clientsOf(t: TestContext, { config, env }: Behind) {
  const show = [process.execPath, '-p', 'JSON.stringify(process.env)'];
  const shown = await runCommand(t, config, show, { flags: ['--java'], env });
  const variables = JSON.parse(shown.slice(shown.indexOf('{')));
  return async ([file = '', ...args]: readonly string[]): Promise<string> => {
    const { stdout } = await execFileAsync(file, args, { cwd: scratch, env: variables });
    return stdout;
  };
}
