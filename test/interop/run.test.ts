import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startExit } from '../support/exit-proxy.ts';
import { spawnForbear } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { until } from '../support/raw-server.ts';
import { type Hit, startOrigin } from '../support/test-origin.ts';
import { client, PLAIN_HOST, runClient, siteCa, startRig, writeConfig } from './rig.ts';

const LIMIT = { timeout: 60_000 };
const EXIT = '127.0.1.1';
const DIRECT = '127.0.0.1';

const python = (script: string) => [program('python3', ['/usr/bin']), client(script)];
const CLIENTS: readonly (readonly [string, () => readonly string[]])[] = [
  ['curl', () => ['sh', client('curl.sh')]],
  ['wget', () => ['sh', client('wget.sh')]],
  ["Python's requests", () => python('with_requests.py')],
  ["Python's urllib", () => python('with_urllib.py')],
  ["Python's httpx", () => python('with_httpx.py')],
  ["Node's fetch", () => [process.execPath, client('with-fetch.js')]],
  ['axios', () => [process.execPath, client('with-axios.js')]],
];

for (const [name, command] of CLIENTS) {
  test(
    `${name} goes to loopback directly, and through the proxy with an empty list`,
    LIMIT,
    async (t) => {
      const { url, config, hits } = await startLoopbackSite(t);
      await runClient(t, config, [...command(), url]);
      await runClient(t, config, [...command(), url], { flags: ['--no-proxy', ''] });
      assert.deepEqual(exits(hits), [DIRECT, EXIT]);
    },
  );
}

test("hosts in the user's own NO_PROXY stay direct", LIMIT, async (t) => {
  const { url, config, hits } = await startLoopbackSite(t);
  const flags = ['--no-proxy', 'other.test'];
  const command = ['sh', client('curl.sh'), url];
  await runClient(t, config, command, { flags });
  await runClient(t, config, command, { flags, env: { NO_PROXY: '127.0.0.1' } });
  assert.deepEqual(exits(hits), [EXIT, DIRECT]);
});

test("curl's own status is passed on", LIMIT, async (t) => {
  const { config } = await startRig(t);
  const endings = [
    ['plain', 0],
    ['missing', 22],
  ] as const;
  for (const [path, status] of endings) {
    const url = `http://${PLAIN_HOST}/${path}`;
    const curl = ['curl', '--silent', '--fail', '--output', '/dev/null', url];
    const { closed, printed } = spawnForbear(t, ['run', '--config', config, '--', ...curl]);
    assert.deepEqual(await closed, [status, null], printed.text);
  }
});

test('SIGTERM reaches a scraper that waits for a reply, and ends both', LIMIT, async (t) => {
  const { config, origin } = await startRig(t);
  const script = [
    'import os, signal, sys, urllib.request',
    'signal.signal(signal.SIGTERM, lambda *_: (print("told", flush=True), os._exit(7)))',
    'urllib.request.urlopen(sys.argv[1]).read()',
  ].join('\n');
  const command = [program('python3', ['/usr/bin']), '-c', script, `http://${PLAIN_HOST}/silent`];
  const { child, closed, printed } = spawnForbear(t, ['run', '--config', config, '--', ...command]);
  await until(() => origin.hits.length === 1);
  child.kill('SIGTERM');
  assert.deepEqual(await closed, [7, null], printed.text);
  assert.match(printed.text, /told/);
});

/** A site on loopback whose way through the proxy shows by its exit. */
async function startLoopbackSite(t: TestContext) {
  const { httpPort, hits } = await startOrigin(t, siteCa());
  const exit = await startExit(t, { exit: EXIT, names: { '127.0.0.1': httpPort } });
  const config = writeConfig([`{ name: exit, routes: ["${exit.url}"] }`]);
  return { url: `http://127.0.0.1:${httpPort}/plain`, config, hits };
}

const exits = (hits: readonly Hit[]): readonly string[] => hits.map(({ exit }) => exit);
