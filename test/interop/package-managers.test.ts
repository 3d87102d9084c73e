import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratch } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { RETRY_AFTER_S } from '../support/test-origin.ts';
import { startBehind, WAYS } from './behind.ts';
import { type Answer, type Asked, type LoopbackSite, startSite } from './loopback-site.ts';
import { client, runCommand } from './rig.ts';

const LIMIT = { timeout: 90_000 };
const WHEEL = 'sample-1.0-py3-none-any.whl';
const TARBALL = 'sample-1.0.0.tgz';

for (const way of WAYS) {
  test(`pip and npm install, and wget mirrors, through ${way}`, LIMIT, async (t) => {
    const { config, env } = await startBehind(t, way);
    const run = (command: readonly string[]) => runCommand(t, config, command, { env });
    await Promise.all([pip(t, run), npm(t, run), wget(t, run)]);
  });
}

type Run = (command: readonly string[]) => Promise<string>;

async function pip(t: TestContext, run: Run): Promise<void> {
  const folder = mkdtempSync(join(scratch, 'pip-'));
  const python = program('python3', ['/usr/bin']);
  execFileSync(python, [client('make_wheel.py'), join(folder, WHEEL)]);
  const wheel = readFileSync(join(folder, WHEEL));
  const path = `/files/${WHEEL}`;
  const pages = { '/simple/sample/': `<a href="${path}">${WHEEL}</a>`, [path]: wheel };
  const site = await startSite(t, serving(pages), { throttled: path });
  for (const each of [site.http, site.https]) {
    const target = mkdtempSync(join(folder, 'target-'));
    const where = ['--index-url', `${each}/simple`, '--target', target];
    // It refuses an index without TLS, unless told to trust it; with TLS it has to verify.
    const trust = each === site.http ? ['--trusted-host', new URL(each).host] : [];
    const quiet = ['--quiet', '--no-cache-dir', '--disable-pip-version-check'];
    await run([python, '-m', 'pip', 'install', ...quiet, ...where, ...trust, 'sample']);
    assert.equal(readFileSync(join(target, 'sample.py'), 'utf8'), 'GREETING = "hello"\n');
  }
  assertMended(site, path);
}

async function npm(t: TestContext, run: Run): Promise<void> {
  const folder = mkdtempSync(join(scratch, 'npm-'));
  mkdirSync(join(folder, 'package'));
  const manifest = { name: 'sample', version: '1.0.0' };
  writeFileSync(join(folder, 'package', 'package.json'), JSON.stringify(manifest));
  execFileSync('tar', ['-czf', TARBALL, 'package'], { cwd: folder });
  const tarball = readFileSync(join(folder, TARBALL));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const path = `/sample/-/${TARBALL}`;
  const answer: Answer = (request, response) => {
    const scheme = 'encrypted' in request.socket ? 'https' : 'http';
    const dist = { tarball: `${scheme}://${request.headers.host}${path}`, integrity };
    const versions = { '1.0.0': { ...manifest, dist } };
    const sample = JSON.stringify({ name: 'sample', 'dist-tags': { latest: '1.0.0' }, versions });
    serving({ '/sample': sample, [path]: tarball })(request, response);
  };
  const site = await startSite(t, answer, { throttled: path });
  for (const each of [site.http, site.https]) {
    const prefix = mkdtempSync(join(folder, 'prefix-'));
    const where = ['--registry', each, '--prefix', prefix, '--cache', join(prefix, 'cache')];
    const quiet = ['--no-audit', '--no-fund', '--loglevel=error', '--fetch-retries=0'];
    await run([program('npm'), 'install', ...quiet, ...where, 'sample']);
    const installed = readFileSync(join(prefix, 'node_modules', 'sample', 'package.json'), 'utf8');
    assert.deepEqual(JSON.parse(installed), manifest);
  }
  assertMended(site, path);
}

/** Twenty shelves, each with a link to the one before. */
async function wget(t: TestContext, run: Run): Promise<void> {
  const shelf = (n: number) => `/shop/shelf-${n}.html`;
  const link = (n: number) => `<a href="${shelf(n)}">Shelf ${n}</a>`;
  const shelves = Array.from({ length: 20 }, (_, n) => n);
  const pages: Record<string, string> = {
    '/shop/': shelves.map(link).join('\n'),
    ...Object.fromEntries(shelves.map((n) => [shelf(n), `Shelf ${n} ${link((n + 19) % 20)}\n`])),
  };
  const site = await startSite(t, serving(pages), { throttled: shelf(7) });
  for (const each of [site.http, site.https]) {
    const folder = mkdtempSync(join(scratch, 'wget-'));
    const how = ['--recursive', '--no-parent', '--no-host-directories', '--tries=1', '--quiet'];
    await run([program('wget'), ...how, '--directory-prefix', folder, `${each}/shop/`]);
    for (const n of shelves) {
      assert.equal(readFileSync(join(folder, shelf(n)), 'utf8'), pages[shelf(n)]);
    }
  }
  assertMended(site, shelf(7));
}

const serving =
  (pages: Readonly<Record<string, string | Buffer>>): Answer =>
  ({ url = '' }, response) => {
    const body = pages[url];
    if (body === undefined) return response.writeHead(404).end();
    const isFile = typeof body !== 'string' || body.startsWith('{');
    response.setHeader('Content-Type', isFile ? 'application/octet-stream' : 'text/html');
    return response.end(body);
  };

/** Each scheme asked for it twice, the second time when the site allowed it, and for nothing else twice. */
function assertMended({ asked }: LoopbackSite, path: string): void {
  for (const scheme of ['http', 'https'] as const) {
    const all = asked.filter((one) => one.scheme === scheme);
    const [first, second, ...rest] = all.filter((one) => one.path === path);
    assert.deepEqual(rest, []);
    assert.ok(second!.at - first!.at >= RETRY_AFTER_S * 1000, 'it was asked again too early');
    assert.deepEqual(early(all, first!, second!), []);
  }
}

/** What was asked during the pause. */
const early = (all: readonly Asked[], first: Asked, second: Asked): readonly string[] =>
  all.filter(({ at }) => at > first.at && at < second.at).map(({ path }) => path);
