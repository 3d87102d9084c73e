import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spawnForbear, started } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { digestOf, startOrigin } from '../support/test-origin.ts';
import { startBehind } from './behind.ts';
import { CLIENTS } from './client-list.ts';
import { client, type Line, PLAIN_HOST, runClient, SECURE_HOST, siteCa, startRig } from './rig.ts';

const LIMIT = { timeout: 60_000 };
/** For all clients, one after the other. */
const LONG_LIMIT = { timeout: 240_000 };
const SETTINGS = ['auth: required', 'clients: [{ name: scraper, password: secret }]'];
/** These need a login told in another way: what follows, and the browser's own tests. */
const MUTE = /Java|Chromium/;

test('every client tells its login and its session', LONG_LIMIT, async (t) => {
  const { config, origin } = await startRig(t, SETTINGS);
  const { home } = await started(t, ['--config', config]);
  for (const { name, command } of CLIENTS.filter((each) => !MUTE.test(each.name))) {
    await t.test(name, LIMIT, async (t) => {
      const before = origin.hits.length;
      const path = `/page-for?${name.length}`;
      const urls = [`http://${PLAIN_HOST}${path}`, `https://${SECURE_HOST}${path}`];
      const flags = ['--session', name.replaceAll(/\W/g, '')];
      const env = { FORBEAR_HOME: home };
      const lines = await runClient(t, config, [...command(), ...urls], { flags, env });
      assert.deepEqual(lines.map(({ url, status }) => `${status} ${url}`).sort(), [
        `200 ${urls[0]}`,
        `200 ${urls[1]}`,
      ]);
      const exits = origin.hits.slice(before).map(({ exit }) => exit);
      assert.equal(new Set(exits).size, 1, exits.join());
    });
  }
});

test("Java's clients send their login when they are asked for it", LIMIT, async (t) => {
  const { config, env } = await startBehind(t, 'direct', SETTINGS);
  const { httpPort, httpsPort } = await startOrigin(t, siteCa());
  const sites = [`http://${PLAIN_HOST}:${httpPort}`, `https://${SECURE_HOST}:${httpsPort}`];
  const urls = sites.map((site) => `${site}/plain`);
  // The proxy's URL, login and all, is in the environment.
  const java = [program('java'), '-Djdk.http.auth.tunneling.disabledSchemes='];
  const script = 'exec "$@" "$https_proxy" $URLS';
  const command = ['sh', '-c', script, 'sh', ...java, client('WithLogin.java')];
  const lines = await runClient(t, config, command, {
    flags: ['--java'],
    env: { ...env, URLS: urls.join(' ') },
  });
  const right = urls.map((url): Line => ({ url, status: 200, sha256: digestOf('/plain') }));
  assert.deepEqual(lines, [right[0], right[0], right[1], right[1]]);
});

test('Java cannot log in to a tunnel as long as it forbids that itself', LIMIT, async (t) => {
  const { config, env } = await startBehind(t, 'direct', SETTINGS);
  const { httpsPort, hits } = await startOrigin(t, siteCa());
  const url = `https://${SECURE_HOST}:${httpsPort}/plain`;
  const command = ['sh', '-c', 'exec "$@" "$https_proxy" "$URL"', 'sh', program('java')];
  const args = ['run', '--config', config, '--java', '--', ...command, client('WithLogin.java')];
  const { closed, printed } = spawnForbear(t, args, { ...env, URL: url });
  assert.notDeepEqual(await closed, [0, null], printed.text);
  assert.deepEqual(hits, []);
});
