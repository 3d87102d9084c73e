import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  BUNDLE_VARIABLES,
  CA_VARIABLES,
  PROXY_VARIABLES,
  SWITCHES,
} from '../../src/cli/client-variables.ts';
import { root } from '../support/certificates.ts';
import { startWire } from '../support/client-wire.ts';
import { scratch } from '../support/forbear-process.ts';
import { FIDELITY_CLIENTS, type FidelityClient } from './fidelity-clients.ts';
import { differences } from './fidelity-compare.ts';
import { type FidelityOrigin, type Seen, startFidelityOrigin } from './fidelity-origin.ts';

const LIMIT = { timeout: 60_000 };
const RUN_MS = 12_000;
const execFileAsync = promisify(execFile);

for (const client of FIDELITY_CLIENTS) {
  test(`${client.name} is seen by a site as without the proxy`, LIMIT, async (t) => {
    const origin = await startFidelityOrigin(t);
    const { port, caPem, events } = await startWire(t);
    const direct = await run(client, origin, { caPem, proxy: undefined });
    const through = await run(client, origin, { caPem, proxy: `http://127.0.0.1:${port}` });
    assert.ok(direct.some(({ scheme }) => scheme === 'http'), 'nothing was asked over HTTP');
    assert.ok(direct.some(({ scheme }) => scheme === 'https'), 'nothing was asked over HTTPS');
    const found = differences(direct, through);
    if (process.env.SHOW) console.log(events.filter((e)=>e.type==='attempt_finished'||e.type==='request_refused'||e.type==='notice').map((e)=>JSON.stringify({reply:(e as any).reply, m:(e as any).message, v: (e as any).verdict})).slice(0,3));
    if (process.env.SHOW) console.log(client.name, direct.length, found);
  });
}

/** Runs a client to its end, and takes what the site saw of it. */
async function run(
  client: FidelityClient,
  origin: FidelityOrigin,
  { caPem, proxy }: { readonly caPem: string; readonly proxy: string | undefined },
): Promise<readonly Seen[]> {
  const [file, ...args] = client.command();
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  const roots = join(scratch, 'roots.pem');
  writeFileSync(roots, `${root}\n${caPem}\n`);
  // Perl's tables have another order in each process.
  const settled = { LANG: 'C.UTF-8', PERL_HASH_SEED: '0', PERL_PERTURB_KEYS: '0' };
  const inherited = { PATH: process.env.PATH ?? '', HOME: home, ...settled };
  const trust = filled([...BUNDLE_VARIABLES, ...CA_VARIABLES], roots);
  const way = proxy === undefined ? {} : { ...filled([...PROXY_VARIABLES, 'PROXY'], proxy), ...SWITCHES };
  const env = { ...inherited, ...trust, ...way };
  await execFileAsync(file, [...args, ...origin.bases], { env, cwd: home, timeout: RUN_MS });
  return origin.take();
}

const filled = (names: readonly string[], value: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, value]));
