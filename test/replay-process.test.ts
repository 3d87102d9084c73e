import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { site } from './support/letters.ts';
import { scratch } from './support/recorded-run.ts';
import { startTrial } from './support/trial-process.ts';
import { get } from './support/whole-proxy.ts';

const program = fileURLToPath(new URL('../bin/forbear.js', import.meta.url));

function forbear(home: string, ...args: string[]) {
  const { promise, resolve } = Promise.withResolvers<{ code: number; out: string; err: string }>();
  const env = { PATH: process.env.PATH, HOME: home, FORBEAR_HOME: home };
  execFile(process.execPath, [program, ...args], { env }, (error, out, err) =>
    resolve({ code: Number(error?.code ?? 0), out, err }),
  );
  return promise;
}

test('a log that a proxy wrote is replayed by another process', { timeout: 60_000 }, async (t) => {
  const home = scratch(t);
  const [then, now, log] = ['then.yaml', 'now.yaml', 'attempts.jsonl'].map((name) =>
    join(home, name),
  );
  writeFileSync(
    then!,
    `policy: { backoff: { base: 20ms, jitter: 0 } }\nlog: { attempts: ${log} }\n`,
  );
  writeFileSync(now!, 'policy: { backoff: { base: 20ms, jitter: 0 }, max_attempts: 1 }\n');
  const far = await site(t, (_, response) =>
    response.writeHead(far.seen.length < 3 ? 503 : 200).end('x'),
  );
  const proxy = await startTrial(home, then!);
  assert.equal((await get(proxy.port, far.url)).status, 200);
  assert.equal(await proxy.end('SIGTERM'), 0);

  const same = await forbear(home, 'replay', '--log', log!, '--config', then!);
  assert.deepEqual([same.code, same.err], [0, '']);
  assert.match(same.out, /^3 attempts of 1 exchange, 3 compared\n/);
  assert.match(same.out, /No exchange would have gone another way\./);

  const other = await forbear(home, 'replay', '--log', log!, '--config', now!, '--json');
  const found = JSON.parse(other.out);
  assert.deepEqual(
    found.rules.map(({ key }: { key: string }) => key),
    ['maxAttempts'],
  );
  assert.equal(found.different.count, 1);

  const bad = await forbear(home, 'replay', '--log', join(home, 'none.jsonl'));
  assert.equal(bad.code, 1);
  assert.match(bad.err, /cannot read .*none\.jsonl \(there is no such file\)/);
  assert.equal((await forbear(home, 'replay')).code, 2);
});

test('who asks for a log that cannot be written is told so, and nothing starts', {
  timeout: 30_000,
}, async (t) => {
  const home = scratch(t);
  const { code, err } = await forbear(
    home,
    'start',
    '--listen',
    '127.0.0.1:0',
    '--admin',
    'off',
    '--log',
    home,
  );
  assert.equal(code, 1);
  assert.match(err, /cannot write the attempt log .* \(EISDIR\)/);
});
