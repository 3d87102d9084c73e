import assert from 'node:assert/strict';
import { test } from 'node:test';
import { digestOf, type Hit, startOrigin } from '../support/test-origin.ts';
import { clientsOf, startBehind, WAYS } from './behind.ts';
import { CLIENTS } from './client-list.ts';
import { linesOf, PLAIN_HOST, SECURE_HOST, siteCa } from './rig.ts';

const LIMIT = { timeout: 60_000 };
/** For all clients, one after the other. */
const LONG_LIMIT = { timeout: 300_000 };
/** One page that comes at once, and those that must be mended. */
const PATHS = ['/plain', '/gzip', '/moved', '/cut', '/reset'];

for (const way of WAYS) {
  test(`every client gets every page through ${way}`, LONG_LIMIT, async (t) => {
    const run = await clientsOf(t, await startBehind(t, way));
    for (const { name, command } of CLIENTS) {
      await t.test(name, LIMIT, async (t) => {
        const { httpPort, httpsPort, hits } = await startOrigin(t, siteCa());
        const sites = [`http://${PLAIN_HOST}:${httpPort}`, `https://${SECURE_HOST}:${httpsPort}`];
        const urls = sites.flatMap((site) => PATHS.map((path) => site + path));
        const lines = linesOf(await run([...command(), ...urls]));
        const byUrl = new Map(lines.map((line) => [line.url, line]));
        assert.equal(lines.length, urls.length);
        for (const url of urls) {
          const sha256 = digestOf(new URL(url).pathname);
          assert.deepEqual(byUrl.get(url), { url, status: 200, sha256 });
        }
        assertNothingOfOurs(hits);
      });
    }
  });
}

function assertNothingOfOurs(hits: readonly Hit[]): void {
  const names = hits.flatMap(({ rawHeaders }) => rawHeaders.filter((_, index) => index % 2 === 0));
  assert.deepEqual(
    names.filter((name) => /^(forbear|proxy)-/i.test(name)),
    [],
  );
}
