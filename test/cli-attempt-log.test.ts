import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  LIMIT,
  origin,
  ran,
  scratch,
  spawnForbear,
  started,
  through,
} from './support/forbear-process.ts';

const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
const kindsIn = (file: string) =>
  read(file)
    .split('\n')
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line).kind]));

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}

test(
  'start --log records what passes, follows rotation on SIGHUP, and can be replayed',
  LIMIT,
  async (t) => {
    const site = await origin(t);
    const url = `http://127.0.0.1:${site.port}/`;
    const file = join(scratch, 'attempts.jsonl');
    // Relative to where the command is run.
    const { child, closed, port, home } = await started(t, ['--log', 'attempts.jsonl']);
    await through(port, url);
    await until(() => read(file).includes('"kind":"end"'));
    assert.deepEqual(kindsIn(file), ['head', 'policy', 'attempt', 'end']);
    renameSync(file, `${file}.1`);
    child.kill('SIGHUP');
    await until(() => read(file).includes('"policy"'));
    await through(port, url);
    child.kill('SIGTERM');
    assert.deepEqual(await closed, [0, null]);
    // The last line is whole: a stop writes what is left.
    assert.deepEqual(kindsIn(file).slice(-2), ['attempt', 'end']);
    assert.equal(kindsIn(`${file}.1`).length, 4);

    const found = await ran(t, home, ['replay', '--log', `${file}.1`, '--log', file]);
    assert.deepEqual([found.status, found.err], [0, '']);
    assert.match(
      found.out,
      /^2 attempts of 2 exchanges, 2 compared\n\nThe rules are those of the log\.\n/,
    );
    assert.match(found.out, /No exchange would have gone another way\./);
  },
);

test('a process that was killed leaves a log that the next one goes on with', LIMIT, async (t) => {
  const site = await origin(t);
  const url = `http://127.0.0.1:${site.port}/`;
  const file = join(scratch, 'killed.jsonl');
  const first = await started(t, ['--log', file]);
  await through(first.port, url);
  await until(() => read(file).includes('"kind":"end"'));
  first.child.kill('SIGKILL');
  await first.closed;
  writeFileSync(file, `${read(file)}{"v":1,"kind":"atte`);
  const second = await started(t, ['--log', file]);
  await through(second.port, url);
  second.child.kill('SIGTERM');
  await second.closed;
  const { status, out } = await ran(t, second.home, ['replay', '--log', file]);
  assert.equal(status, 0);
  assert.match(
    out,
    /^2 attempts of 2 exchanges, 2 compared\npassed over: 1 line, not JSON \(\S+, line 5\)\n/,
  );
});

test('a log that cannot be written is told before the proxy starts', LIMIT, async (t) => {
  const folder = join(scratch, 'a-folder');
  mkdirSync(folder);
  for (const [file, why] of [
    [folder, 'EISDIR'],
    [join(scratch, 'no', 'such', 'place'), 'ENOENT'],
    ...(existsSync('/dev/full') ? [['/dev/full', 'it is not a regular file'] as const] : []),
  ] as const) {
    const { closed, printed } = spawnForbear(t, [
      'start',
      '--listen',
      '127.0.0.1:0',
      '--log',
      file,
    ]);
    assert.deepEqual(await closed, [1, null]);
    assert.equal(printed.text, `forbear: cannot write the attempt log ${file} (${why})\n`);
  }
});

test(
  'log.attempts of the configuration is a place beside it, for run as well',
  LIMIT,
  async (t) => {
    const folder = join(scratch, 'configured');
    mkdirSync(folder);
    const config = join(folder, 'forbear.yaml');
    writeFileSync(config, 'log: { attempts: own.jsonl, attempt_good_bodies: 1KiB }\n');
    const site = await origin(t);
    const fetching = `fetch('http://127.0.0.1:${site.port}/').then((r) => r.text()).then(console.log)`;
    const args = [
      'run',
      '--config',
      config,
      '--no-proxy',
      '',
      '--',
      process.execPath,
      '-e',
      fetching,
    ];
    const { closed, printed } = spawnForbear(t, args, { FORBEAR_LISTEN: '127.0.0.1:0' });
    assert.deepEqual(await closed, [0, null]);
    assert.match(printed.text, /hello/);
    const file = join(folder, 'own.jsonl');
    assert.deepEqual(kindsIn(file), ['head', 'policy', 'attempt', 'end']);
    assert.match(read(file), /"text":"hello"/);
  },
);
