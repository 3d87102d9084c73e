import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
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
import { differences, KIND_NAMES } from './fidelity-compare.ts';
import { type FidelityOrigin, type Seen, startFidelityOrigin } from './fidelity-origin.ts';

const LIMIT = { timeout: 60_000 };
const RUN_MS = 25_000;
const execFileAsync = promisify(execFile);

const page = readFileSync(new URL('../../docs/fidelity.md', import.meta.url), 'utf8');
const [, requests = '', clients = ''] = page.split(/^###? (?:Requests|Clients|Replies)$/m);
/** The kinds of difference that the page explains. */
const explained = [...requests.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, id]) => id ?? '');
/** The differences of each client by the page. */
const listed = new Map(
  [...clients.matchAll(/^\| (?!client |-)([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, name = '', kinds = '']) =>
      [name, [...kinds.matchAll(/`([\w-]+)`/g)].map(([, id]) => id ?? '')] as const,
  ),
);

for (const client of FIDELITY_CLIENTS) {
  test(`${client.name} is seen by a site as without the proxy`, LIMIT, async (t) => {
    const origin = await startFidelityOrigin(t);
    const { port, caPem } = await startWire(t);
    const direct = await run(client, origin, { caPem, proxy: undefined });
    const through = await run(client, origin, { caPem, proxy: `http://127.0.0.1:${port}` });
    assert.ok(
      direct.some(({ scheme }) => scheme === 'http'),
      'nothing was asked over HTTP',
    );
    assert.ok(
      direct.some(({ scheme }) => scheme === 'https'),
      'nothing was asked over HTTPS',
    );
    assert.deepEqual(
      differences(direct, through).sort(),
      [...(listed.get(client.name) ?? [])].sort(),
    );
  });
}

test('docs/fidelity.md lists every client and every kind of difference, and no others', () => {
  assert.deepEqual(
    [...listed.keys()],
    FIDELITY_CLIENTS.map(({ name }) => name),
  );
  const met = new Set([...listed.values()].flat());
  assert.deepEqual(new Set(KIND_NAMES), met);
  assert.deepEqual(new Set(explained), met);
});

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
  const way =
    proxy === undefined ? {} : { ...filled([...PROXY_VARIABLES, 'PROXY'], proxy), ...SWITCHES };
  const env = { ...inherited, ...trust, ...way };
  await execFileAsync(file, [...args, ...origin.bases], { env, cwd: home, timeout: RUN_MS });
  return origin.take();
}

const filled = (names: readonly string[], value: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, value]));
