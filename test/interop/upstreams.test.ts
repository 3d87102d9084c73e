import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { freePort } from '../support/programs.ts';
import { digestOf, startOrigin } from '../support/test-origin.ts';
import { REAL_PROXIES, startRealProxy } from './real-proxies.ts';
import { ask, client, runClient, siteCa, writeConfig } from './rig.ts';

const LIMIT = { timeout: 90_000 };

for (const proxy of REAL_PROXIES) {
  const { name } = proxy;
  const through = (...routes: readonly string[]) =>
    writeConfig(routes.map((route, index) => `{ name: way-${index}, routes: ["${route}"] }`));

  test(`pages come over HTTP and HTTPS through ${name}`, LIMIT, async (t) => {
    const url = await startRealProxy(t, proxy);
    const { hits, urls } = await startSite(t);
    const flags = ['--no-proxy', ''];
    const command = ['sh', client('curl.sh'), ...urls];
    const lines = await runClient(t, through(url()), command, { flags });
    assert.deepEqual(
      lines,
      urls.map((each) => ({ url: each, status: 200, sha256: digestOf(new URL(each).pathname) })),
    );
    assert.equal(hits.length, 2 * urls.length);
    const leaked = hits.flatMap(({ rawHeaders }) => rawHeaders).filter(isOurs);
    assert.deepEqual(leaked, []);
  });

  test(`a wrong password for ${name} is the account's fault, and no 407`, LIMIT, async (t) => {
    const url = await startRealProxy(t, proxy);
    const { hits, urls } = await startSite(t);
    for (const each of urls) {
      const answer = await ask(t, through(url('wrong-one')), each);
      assert.equal(answer.status, 502, answer.head);
      assert.equal(answer.field('content-type'), 'application/problem+json');
      assert.equal(answer.field('forbear-verdict'), 'account/upstream_auth');
      assert.match(answer.field('proxy-status'), /^forbear; *error=proxy_configuration_error/);
      assert.doesNotMatch(answer.body + answer.head, /wrong-one/);
    }
    assert.equal(hits.length, 0);
  });

  test(`a target that refuses is told plainly through ${name}`, LIMIT, async (t) => {
    const url = await startRealProxy(t, proxy);
    const closed = await freePort();
    for (const each of [`http://127.0.0.1:${closed}/`, `https://127.0.0.1:${closed}/`]) {
      const answer = await ask(t, through(url()), each);
      // Plain HTTP may bring the upstream's own page, marked; inside TLS only ours can be told.
      assert.ok(answer.status >= 500, answer.head);
      assert.match(
        answer.field('proxy-status'),
        /error=(destination_unavailable|connection_refused)/,
      );
      assert.match(answer.field('forbear-verdict'), /^(route|host)\//);
    }
  });

  test(`the next upstream is asked when ${name} is dead`, LIMIT, async (t) => {
    const url = await startRealProxy(t, proxy);
    const dead = `http://127.0.0.1:${await freePort()}`;
    const { urls } = await startSite(t);
    for (const each of urls) {
      const answer = await ask(t, through(dead, url()), each);
      assert.equal(answer.status, 200, answer.head + answer.body);
      assert.match(answer.field('forbear-route'), /^way-1/);
    }
  });
}

/** A page that comes at once, and one that comes at the second try, over both schemes. */
async function startSite(t: TestContext) {
  const { httpPort, httpsPort, hits } = await startOrigin(t, siteCa());
  const sites = [`http://127.0.0.1:${httpPort}`, `https://localhost:${httpsPort}`];
  return { hits, urls: sites.map((site) => `${site}/throttled`) };
}

const isOurs = (text: string): boolean => /^(forbear|proxy)-/i.test(text);
