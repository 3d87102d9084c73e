import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { spawnForbear, started } from '../support/forbear-process.ts';
import { RETRY_AFTER_S } from '../support/test-origin.ts';
import type { Behind } from './behind.ts';
import { chromium } from './client-list.ts';
import { linesOf, PLAIN_HOST, type Rig, SECURE_HOST, startRig } from './rig.ts';

const LIMIT = { timeout: 90_000 };
const forbear = fileURLToPath(new URL('../../bin/forbear.js', import.meta.url));

/** What the browser reports of a page. */
interface Visit {
  readonly url: string;
  readonly status?: number;
  readonly session?: string;
  readonly error?: string;
}

test('a session in the user name keeps Chromium on one address', LIMIT, async (t) => {
  const { origin, config, env } = await startWithLogin(t);
  const urls = [`http://${PLAIN_HOST}/plain`, `https://${SECURE_HOST}/plain`];
  const exits: (readonly string[])[] = [];
  for (const id of ['cart1', 'cart2']) {
    const before = origin.hits.length;
    const visits = await visit(t, { config, env }, { urls, run: ['--session', id] });
    const session = `${id}; state=active`;
    assert.deepEqual(
      visits,
      urls.map((url) => ({ url, status: 200, session })),
    );
    exits.push([...new Set(origin.hits.slice(before).map(({ exit }) => exit))]);
  }
  assert.deepEqual(
    exits.map(({ length }) => length),
    [1, 1],
  );
  assert.notDeepEqual(exits[0], exits[1]);
});

test('a wrong login shows Chromium nothing of the site', LIMIT, async (t) => {
  const { origin, config, env } = await startWithLogin(t);
  const urls = [`http://${PLAIN_HOST}/plain`, `https://${SECURE_HOST}/plain`];
  const wrong = ['env', `https_proxy=http://scraper:wrong@127.0.0.1:${env.PORT}`];
  const visits = await visit(t, { config, env }, { urls, wrapper: wrong });
  assert.equal(visits.length, urls.length);
  for (const { status, error = '' } of visits) {
    assert.ok(status === 407 || error.includes('ERR_'), `${status} ${error}`);
  }
  assert.deepEqual(origin.hits, []);
});

test('a page that is throttled once comes when its time is over', LIMIT, async (t) => {
  const { origin, config, env } = await startWithLogin(t);
  const urls = [`https://${SECURE_HOST}/throttled`];
  const visits = await visit(t, { config, env }, { urls });
  assert.deepEqual(visits, [{ url: urls[0], status: 200, session: '' }]);
  const [first, second, ...rest] = origin.hits.filter(({ url }) => url === urls[0]);
  assert.deepEqual([first?.answer, second?.answer, rest], ['throttled', 'page', []]);
  assert.ok(second!.at - first!.at >= RETRY_AFTER_S * 1000);
});

test('the flag of `forbear ca install-help` is trust enough', LIMIT, async (t) => {
  const { config, env } = await startWithLogin(t);
  const help = execFileSync(process.execPath, [forbear, 'ca', 'install-help'], {
    env: { PATH: process.env.PATH, FORBEAR_HOME: env.FORBEAR_HOME },
    encoding: 'utf8',
  });
  const [flag = ''] = /--ignore-certificate-errors-spki-list=\S+/.exec(help) ?? [];
  const urls = [`https://${SECURE_HOST}/plain`];
  const [trusted] = await visit(t, { config, env }, { urls, flag });
  assert.deepEqual(trusted, { url: urls[0], status: 200, session: '' });
  const [untrusted] = await visit(t, { config, env }, { urls, flag: '--no-first-run' });
  assert.match(untrusted?.error ?? '', /ERR_CERT_AUTHORITY_INVALID/);
});

async function startWithLogin(
  t: TestContext,
): Promise<Rig & { env: Behind['env'] & { PORT: string } }> {
  const settings = ['auth: required', 'clients: [{ name: scraper, password: secret }]'];
  const rig = await startRig(t, settings);
  const { home, port } = await started(t, ['--config', rig.config]);
  return { ...rig, env: { FORBEAR_HOME: home, PORT: String(port) } };
}

async function visit(
  t: TestContext,
  { config, env }: Pick<Behind, 'config'> & { readonly env: Record<string, string> },
  o: {
    readonly urls: readonly string[];
    readonly run?: readonly string[];
    readonly wrapper?: readonly string[];
    readonly flag?: string;
  },
): Promise<readonly Visit[]> {
  const { urls, run = [], wrapper = [], flag = '' } = o;
  const command = [...wrapper, ...chromium('visit.js'), flag, ...urls];
  const args = ['run', '--config', config, ...run, '--', ...command];
  const { closed, printed } = spawnForbear(t, args, env);
  assert.deepEqual(await closed, [0, null], printed.text);
  return linesOf<Visit>(printed.text);
}
