import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratch } from '../support/forbear-process.ts';
import { freePort, program, startServer } from '../support/programs.ts';
import { digestOf, startOrigin } from '../support/test-origin.ts';
import { ask, client, runClient, siteCa, writeConfig } from './rig.ts';

const LIMIT = { timeout: 90_000 };
const USER = 'buyer';
const PASSWORD = 'right-one';

/** A real proxy on a port of its own, that wants a login. */
interface RealProxy {
  readonly name: string;
  readonly scheme: 'http' | 'socks5';
  start(t: TestContext, port: number): Promise<void>;
}

const PROXIES: readonly RealProxy[] = [
  { name: 'squid', scheme: 'http', start: startSquid },
  { name: 'tinyproxy', scheme: 'http', start: startTinyproxy },
  { name: 'microsocks', scheme: 'socks5', start: startMicrosocks },
];

for (const { name, scheme, start } of PROXIES) {
  const url = (port: number, password = PASSWORD) =>
    `${scheme}://${USER}:${password}@127.0.0.1:${port}`;
  const through = (...routes: readonly string[]) =>
    writeConfig(routes.map((route, index) => `{ name: way-${index}, routes: ["${route}"] }`));

  test(`pages come over HTTP and HTTPS through ${name}`, LIMIT, async (t) => {
    const port = await freePort();
    await start(t, port);
    const { hits, urls } = await startSite(t);
    const flags = ['--no-proxy', ''];
    const command = ['sh', client('curl.sh'), ...urls];
    const lines = await runClient(t, through(url(port)), command, { flags });
    assert.deepEqual(
      lines,
      urls.map((each) => ({ url: each, status: 200, sha256: digestOf(new URL(each).pathname) })),
    );
    assert.equal(hits.length, 2 * urls.length);
    const leaked = hits.flatMap(({ rawHeaders }) => rawHeaders).filter(isOurs);
    assert.deepEqual(leaked, []);
  });

  test(`a wrong password for ${name} is the account's fault, and no 407`, LIMIT, async (t) => {
    const port = await freePort();
    await start(t, port);
    const { hits, urls } = await startSite(t);
    for (const each of urls) {
      const answer = await ask(t, through(url(port, 'wrong-one')), each);
      assert.equal(answer.status, 502, answer.head);
      assert.equal(answer.field('content-type'), 'application/problem+json');
      assert.equal(answer.field('forbear-verdict'), 'account/upstream_auth');
      assert.match(answer.field('proxy-status'), /^forbear; *error=proxy_configuration_error/);
      assert.doesNotMatch(answer.body + answer.head, /wrong-one/);
    }
    assert.equal(hits.length, 0);
  });

  test(`a target that refuses is told plainly through ${name}`, LIMIT, async (t) => {
    const port = await freePort();
    await start(t, port);
    const closed = await freePort();
    for (const each of [`http://127.0.0.1:${closed}/`, `https://127.0.0.1:${closed}/`]) {
      const answer = await ask(t, through(url(port)), each);
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
    const [dead, port] = [await freePort(), await freePort()];
    await start(t, port);
    const { urls } = await startSite(t);
    for (const each of urls) {
      const answer = await ask(t, through(url(dead), url(port)), each);
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

async function startSquid(t: TestContext, port: number): Promise<void> {
  // Squid gives up root, so its folder must be open to others.
  const folder = mkdtempSync(join(tmpdir(), 'forbear-squid-'));
  chmodSync(folder, 0o777);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const hash = execFileSync(program('openssl'), ['passwd', '-apr1', PASSWORD], {
    encoding: 'utf8',
  });
  writeFileSync(join(folder, 'passwords'), `${USER}:${hash}`);
  const checker = program('basic_ncsa_auth', ['/usr/lib/squid', '/usr/lib64/squid']);
  const lines = [
    `http_port 127.0.0.1:${port}`,
    `auth_param basic program ${checker} ${join(folder, 'passwords')}`,
    'acl known proxy_auth REQUIRED',
    'http_access allow known',
    'http_access deny all',
    'cache deny all',
    'cache_mem 1 MB',
    'access_log none',
    'pinger_enable off',
    'netdb_filename none',
    'shutdown_lifetime 0 seconds',
    `cache_log ${join(folder, 'cache.log')}`,
    `coredump_dir ${folder}`,
    `pid_filename ${join(folder, 'squid.pid')}`,
  ];
  writeFileSync(join(folder, 'squid.conf'), `${lines.join('\n')}\n`);
  await startServer(t, [program('squid'), '-N', '-f', join(folder, 'squid.conf')], port);
}

async function startTinyproxy(t: TestContext, port: number): Promise<void> {
  const file = join(mkdtempSync(join(scratch, 'tinyproxy-')), 'tinyproxy.conf');
  const lines = [`Port ${port}`, 'Listen 127.0.0.1', 'Timeout 60', 'LogLevel Critical'];
  writeFileSync(file, `${[...lines, `BasicAuth ${USER} ${PASSWORD}`].join('\n')}\n`);
  await startServer(t, [program('tinyproxy'), '-d', '-c', file], port);
}

async function startMicrosocks(t: TestContext, port: number): Promise<void> {
  const where = ['-i', '127.0.0.1', '-p', String(port)];
  await startServer(t, [program('microsocks'), ...where, '-u', USER, '-P', PASSWORD], port);
}
