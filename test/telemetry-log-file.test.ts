import assert from 'node:assert/strict';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LogFile } from '../src/telemetry/log-file.ts';
import { FakeClock } from './support/fake-clock.ts';
import { fresh, written } from './support/recorded.ts';

const LIMIT = { timeout: 20_000 };

/** A log on a clock wound by hand; each new file begins with `head`. */
function opened(t: TestContext, file = fresh('lines.log')) {
  const clock = new FakeClock();
  const told: string[] = [];
  const log = new LogFile({
    ...{ file, clock, head: () => 'head\n', gap: (lines) => `gap ${lines}` },
    tell: (level, message) => told.push(`${level}: ${message}`),
  });
  t.after(() => log.close());
  return { log, clock, told, file };
}

const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** Until the file holds what it should: writing is beside the loop. */
async function holds(file: string, text: string): Promise<void> {
  while (read(file) !== text) await nextTurn();
}

test('lines are appended in their order, behind what was there', LIMIT, async (t) => {
  const { log, file } = opened(t, written('lines.log', 'before\n'));
  for (const line of ['1', '2', '3']) log.write(line);
  await holds(file, 'before\nhead\n1\n2\n3\n');
  log.write('4');
  await log.close();
  assert.equal(read(file), 'before\nhead\n1\n2\n3\n4\n');
  log.write('5');
  log.reopen();
  await log.close();
  assert.equal(read(file), 'before\nhead\n1\n2\n3\n4\n');
});

test('half a line that a killed process left is ended first', LIMIT, async (t) => {
  const { log, file } = opened(t, written('lines.log', 'whole\n{"ha'));
  log.write('1');
  await log.close();
  assert.equal(read(file), 'whole\n{"ha\nhead\n1\n');
});

test('a new file is for its owner alone; one that is there keeps its mode', LIMIT, async (t) => {
  const { file } = opened(t);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const shared = written('shared.log', '');
  const { mode } = statSync(shared);
  opened(t, shared);
  assert.equal(statSync(shared).mode, mode);
});

test('after a rename the log goes on in a new file, at once when it is told', LIMIT, async (t) => {
  const { log, file } = opened(t);
  log.write('1');
  await holds(file, 'head\n1\n');
  renameSync(file, `${file}.1`);
  log.write('2');
  await holds(`${file}.1`, 'head\n1\n2\n');
  log.reopen();
  log.write('3');
  await holds(file, 'head\n3\n');
  assert.equal(read(`${file}.1`), 'head\n1\n2\n');
});

test('without being told it is found out within a second', LIMIT, async (t) => {
  const { log, clock, file } = opened(t);
  log.write('1');
  await holds(file, 'head\n1\n');
  renameSync(file, `${file}.1`);
  await clock.advance(1_000);
  log.write('2');
  await holds(file, 'head\n2\n');
  rmSync(file);
  await clock.advance(1_000);
  log.write('3');
  await holds(file, 'head\n3\n');
});

test('a file that is copied and cut to nothing is begun anew', LIMIT, async (t) => {
  const { log, clock, file } = opened(t);
  log.write('1');
  await holds(file, 'head\n1\n');
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
  await clock.advance(1_000);
  log.write('2');
  await holds(file, 'head\n2\n');
  // What others append is no reason to begin again.
  appendFileSync(file, 'theirs\n');
  await clock.advance(1_000);
  log.write('3');
  await holds(file, 'head\n2\ntheirs\n3\n');
});

test(
  'a file that cannot be written costs lines, which are counted, and nothing else',
  LIMIT,
  async (t) => {
    const folder = fresh('folder');
    mkdirSync(folder);
    const { log, clock, told, file } = opened(t, join(folder, 'lines.log'));
    log.write('1');
    await holds(file, 'head\n1\n');
    rmSync(dirname(file), { recursive: true });
    log.reopen();
    while (told.length === 0) await nextTurn();
    assert.match(told[0] ?? '', /^error: the attempt log \S+ cannot be written \(ENOENT\); /);
    const long = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 20; i += 1) log.write(`${i}${long}`);
    assert.ok(log.lost >= 12 && log.lost < 20, `${log.lost}`);
    assert.equal(told.length, 1);

    // Still gone at the next try; then it is there again.
    await clock.advance(5_000);
    mkdirSync(folder);
    await clock.advance(5_000);
    while (!read(file).endsWith(`gap ${log.lost}\n`)) await nextTurn();
    const lines = read(file).trimEnd().split('\n');
    assert.equal(lines.length, 20 - log.lost + 2);
    assert.deepEqual([lines[0], lines[1]?.length], ['head', long.length + 1]);
    assert.deepEqual(told.length, 2);
    assert.match(told[1] ?? '', /^info: .* is written again; \d+ lines are lost$/);
    log.write('again');
    await log.close();
    assert.ok(read(file).endsWith('\nagain\n'));
  },
);

test('the end does not wait for a file that cannot be written', LIMIT, async (t) => {
  const folder = fresh('folder');
  mkdirSync(folder);
  const { log, told, file } = opened(t, join(folder, 'lines.log'));
  await holds(file, 'head\n');
  rmSync(folder, { recursive: true });
  log.reopen();
  while (told.length === 0) await nextTurn();
  log.write('1');
  log.write('2');
  await log.close();
  assert.equal(log.lost, 2);
});

test('what is no file is refused, whatever takes bytes', {
  ...LIMIT,
  skip: !existsSync('/dev/full'),
}, (t) => {
  for (const file of ['/dev/full', '/dev/null']) {
    assert.throws(() => opened(t, file), /^TypeError: it is not a regular file$/);
  }
  assert.throws(() => opened(t, dirname(fresh('x'))), { code: 'EISDIR' });
  assert.throws(() => opened(t, join(fresh('none'), 'x')), { code: 'ENOENT' });
});
