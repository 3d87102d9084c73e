import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LIMIT } from '../support/forbear-process.ts';
import { startTrial } from '../support/trial-process.ts';
import { get } from '../support/whole-proxy.ts';

const AS_FIRST = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const maySplit = spawnSync('unshare', [...AS_FIRST.slice(1), 'true']).status === 0;

async function slowSite(t: TestContext) {
  const arrived = Promise.withResolvers<() => void>();
  const server = createServer((_, reply) => arrived.resolve(() => reply.end('whole')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrived: arrived.promise,
  };
}

function homeFor(t: TestContext) {
  const home = mkdtempSync(join(tmpdir(), 'forbear-stop-'));
  t.after(() => rmSync(home, { recursive: true }));
  const config = join(home, 'stop.yaml');
  writeFileSync(config, 'drain: 30s\nlog: { level: info }\n');
  return { home, config };
}

test('SIGTERM lets the reply under way end, and the process ends with 0', LIMIT, async (t) => {
  const { home, config } = homeFor(t);
  const site = await slowSite(t);
  const forbear = await startTrial(home, config);
  const asked = get(forbear.port, site.url);
  const finish = await site.arrived;
  const ended = forbear.end('SIGTERM');
  // A terminal and npm deliver it twice.
  forbear.child.kill('SIGTERM');
  finish();
  assert.equal(String((await asked).body), 'whole');
  assert.equal(await ended, 0);
});

test('as the first process of a container it stops on SIGTERM too', {
  ...LIMIT,
  skip: maySplit ? false : 'unshare is not allowed here',
}, async (t) => {
  const { home, config } = homeFor(t);
  const forbear = await startTrial(home, config, { run: AS_FIRST });
  const listed = spawnSync('ps', ['-o', 'pid=', '--ppid', String(forbear.child.pid)]);
  const first = Number(String(listed.stdout).trim());
  assert.ok(first > 1);
  process.kill(first, 'SIGTERM');
  assert.equal(await forbear.end('SIGCONT'), 0);
  assert.match(forbear.text(), /stopping: what runs is finished first/);
});
