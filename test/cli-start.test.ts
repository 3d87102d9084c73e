import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Running } from '../src/cli/running.ts';
import {
  LIMIT,
  origin,
  portHolder,
  scratch,
  spawnForbear,
  started,
  through,
} from './support/forbear-process.ts';

test('start says what to do next, serves, and ends with 0 on a signal', LIMIT, async (t) => {
  const { child, home, closed, printed, port } = await started(t);
  for (const part of [/CA +\/\S+\.pem/, /forbear run -- python/, /eval "\$\(forbear env\)"/]) {
    await printed.until(part);
  }
  const site = await origin(t);
  assert.equal(await through(port, `http://127.0.0.1:${site.port}/`), 'hello');
  const note = JSON.parse(readFileSync(join(home, 'running.json'), 'utf8')) as Running;
  assert.equal(note.pid, child.pid);
  assert.deepEqual(note.listen, { host: '127.0.0.1', port });

  child.kill('SIGTERM');
  assert.deepEqual(await closed, [0, null]);
  assert.equal(existsSync(join(home, 'running.json')), false);
});

test('the log is JSON on a pipe, one line per exchange, without the query', LIMIT, async (t) => {
  const { printed, port } = await started(t);
  const site = await origin(t);
  await through(port, `http://127.0.0.1:${site.port}/page?secret=1`);
  const [line] = await printed.until(/^\{.*"resend_count".*\}$/m);
  const logged = JSON.parse(line);
  assert.equal(logged.level, 'info');
  assert.equal(logged.url.path, '/page');
  assert.equal(logged.http.response.status_code, 200);
  assert.doesNotMatch(printed.text, /secret/);
});

test('a port that is in use is one line with the address and the fix', LIMIT, async (t) => {
  const port = await portHolder(t);
  const { closed, printed } = spawnForbear(t, ['start', '--listen', `127.0.0.1:${port}`]);
  assert.deepEqual(await closed, [1, null]);
  assert.match(
    printed.text,
    new RegExp(
      `^forbear: 127\\.0\\.0\\.1:${port} is in use by another program; .*--listen [^\\n]*\\n$`,
    ),
  );
});

test('a port that another Forbear holds is told as such', LIMIT, async (t) => {
  const { port } = await started(t);
  const { closed, printed } = spawnForbear(t, ['start', '--listen', `127.0.0.1:${port}`]);
  assert.deepEqual(await closed, [1, null]);
  assert.match(printed.text, /in use by another Forbear/);
});

test(
  'a good change of the file is taken over, a bad one is refused with its faults',
  LIMIT,
  async (t) => {
    const file = join(scratch, 'reloaded.yaml');
    writeFileSync(file, 'log: { level: info }\n');
    const { child, printed, home } = await started(t, ['--config', file]);
    const hash = () =>
      (JSON.parse(readFileSync(join(home, 'running.json'), 'utf8')) as Running).configHash;
    const before = hash();

    writeFileSync(file, 'policy: { max_attempts: many }\n');
    await printed.until(/one before stays in force/);
    await printed.until(/reloaded\.yaml:1:\d+ policy\.max_attempts/);
    assert.equal(hash(), before);

    writeFileSync(file, 'policy: { max_attempts: 2 }\n');
    await printed.until(/configuration reloaded from .*reloaded\.yaml/);
    assert.notEqual(hash(), before);

    const reloads = printed.text.split('configuration reloaded').length;
    child.kill('SIGHUP');
    await printed.until(new RegExp(`(configuration reloaded[^]*){${reloads}}`));
  },
);

test('a configuration with faults does not start, and ends with 2', LIMIT, async (t) => {
  const file = join(scratch, 'faulty.yaml');
  writeFileSync(file, 'lissten: 127.0.0.1:1\n');
  const { closed, printed } = spawnForbear(t, ['start', '--config', file]);
  assert.deepEqual(await closed, [2, null]);
  assert.match(printed.text, /faulty\.yaml:1:1 .*listen/);
});
