import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { scratch } from '../support/forbear-process.ts';
import { program } from '../support/programs.ts';
import { RETRY_AFTER_S } from '../support/test-origin.ts';
import { startBehind, WAYS } from './behind.ts';
import { startSite } from './loopback-site.ts';
import { runCommand } from './rig.ts';

const LIMIT = { timeout: 90_000 };
/** More than what git sends in one piece, so that its pushes come in chunks. */
const LARGE = Buffer.alloc(3_000_000, 0).map((_, index) => (index * 7919) >> (index % 5));
const REFS = '/shop.git/info/refs?service=git-upload-pack';

for (const way of WAYS) {
  test(`git clones, fetches and pushes through ${way}`, LIMIT, async (t) => {
    const { config, env } = await startBehind(t, way);
    await assertWorks(t, config, env);
  });
}

test('git sends its login when it is asked for it', LIMIT, async (t) => {
  const settings = ['auth: required', 'clients: [{ name: scraper, password: secret }]'];
  const { config, env } = await startBehind(t, 'direct', settings);
  await assertWorks(t, config, env);
});

async function assertWorks(t: TestContext, config: string, env: Record<string, string>) {
  const folder = newRepository();
  const { http, https, asked } = await startSite(t, backend(folder), { throttled: REFS });
  for (const site of [http, https]) {
    const clone = mkdtempSync(join(folder, 'clone-'));
    const url = `${site}/shop.git`;
    const script = [
      'set -e',
      'git clone --quiet "$1" "$2" && cd "$2"',
      'git checkout --quiet -b "$3"',
      'cp "$4" large && git add large',
      'git commit --quiet -m Large',
      'git push --quiet origin "$3"',
      'git fetch --quiet origin',
      'git log --format=%s "origin/$3"',
    ].join('\n');
    const branch = new URL(site).protocol.replace(':', '');
    const large = join(folder, 'large');
    const command = ['sh', '-c', script, 'sh', url, clone, branch, large];
    const printed = await runCommand(t, config, command, { env: { ...env, ...IDENTITY } });
    assert.equal(printed.trim(), 'Large\nFirst');
    assert.equal(readFileSync(join(clone, 'readme'), 'utf8'), 'Hello\n');
    const pushed = execFileSync('git', ['cat-file', 'blob', `${branch}:large`], {
      cwd: join(folder, 'shop.git'),
      maxBuffer: 2 * LARGE.length,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    assert.ok(pushed.equals(LARGE));
    const [first, second] = asked.filter(({ scheme, path }) => scheme === branch && path === REFS);
    assert.ok(second!.at - first!.at >= RETRY_AFTER_S * 1000, 'it was asked again too early');
  }
}

const IDENTITY = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'Test',
  GIT_AUTHOR_EMAIL: 'test@shop.test',
  GIT_COMMITTER_NAME: 'Test',
  GIT_COMMITTER_EMAIL: 'test@shop.test',
};

/** A folder with `shop.git`, which has one commit, and a large file. */
function newRepository(): string {
  const folder = mkdtempSync(join(scratch, 'git-'));
  const work = join(folder, 'work');
  const git = (...args: readonly string[]) =>
    execFileSync(program('git'), args, { cwd: folder, env: { ...process.env, ...IDENTITY } });
  git('init', '--quiet', work);
  writeFileSync(join(work, 'readme'), 'Hello\n');
  git('-C', work, 'add', 'readme');
  git('-C', work, 'commit', '--quiet', '-m', 'First');
  git('clone', '--quiet', '--bare', work, 'shop.git');
  git('-C', 'shop.git', 'config', 'http.receivepack', 'true');
  writeFileSync(join(folder, 'large'), LARGE);
  return folder;
}

/** Git's own server side, a CGI program. */
const backend = (root: string) => (request: IncomingMessage, response: ServerResponse) => {
  const { pathname, search } = new URL(`http://any${request.url}`);
  const { headers } = request;
  const child = spawn(program('git'), ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: headers['content-type'],
      CONTENT_LENGTH: headers['content-length'],
      HTTP_CONTENT_ENCODING: headers['content-encoding'],
      GIT_PROTOCOL: headers['git-protocol']?.toString(),
      REMOTE_USER: 'anybody',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => {});
  const said: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk));
  child.on('close', () => {
    const all = Buffer.concat(said);
    const end = all.indexOf('\r\n\r\n');
    const fields = all.subarray(0, end).toString('latin1').split('\r\n');
    const pairs = fields.map((field) => field.split(/: */, 2) as [string, string]);
    const status = pairs.find(([name]) => name === 'Status')?.[1] ?? '200';
    for (const [name, value] of pairs) if (name !== 'Status') response.setHeader(name, value);
    response.writeHead(Number.parseInt(status, 10)).end(all.subarray(end + 4));
  });
};
