import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import {
  LIMIT,
  origin,
  scratch,
  spawnForbear,
  started,
  through,
} from './support/forbear-process.ts';

let homes = 0;

function newHome(): string {
  homes += 1;
  const home = join(scratch, `store-home-${homes}`);
  mkdirSync(home, { mode: 0o700 });
  return home;
}

const args = ['start', '--listen', '127.0.0.1:0'];

test(
  'a damaged file ends the start with 2, with its name and the remedy, and is left as it is',
  LIMIT,
  async (t) => {
    const home = newHome();
    const file = join(home, 'forbear.db');
    writeFileSync(file, 'This is no database, but somebody may need it.');
    const { closed, printed } = spawnForbear(t, args, { FORBEAR_HOME: home });
    assert.deepEqual(await closed, [2, null]);
    assert.ok(printed.text.includes(file));
    assert.match(printed.text, /^forbear: .* damaged .*: move it away.*\n$/);
    assert.equal(readFileSync(file, 'utf8'), 'This is no database, but somebody may need it.');
  },
);

test('a file of a newer version ends the start with 2, and is left as it is', LIMIT, async (t) => {
  const home = newHome();
  const first = await started(t, [], { FORBEAR_HOME: home });
  first.child.kill('SIGTERM');
  await first.closed;
  const file = join(home, 'forbear.db');
  const db = new DatabaseSync(file);
  db.exec('PRAGMA user_version = 999');
  db.close();
  const { closed, printed } = spawnForbear(t, args, { FORBEAR_HOME: home });
  assert.deepEqual(await closed, [2, null]);
  assert.match(
    printed.text,
    /^forbear: .*forbear\.db was written by a newer version .*FORBEAR_HOME/,
  );
});

test('a second proxy on one home says so, and runs with memory only', LIMIT, async (t) => {
  const first = await started(t);
  const second = await started(t, [], { FORBEAR_HOME: first.home });
  await second.printed.until(/"level":"error".*in use by another process.*FORBEAR_HOME/);
  await second.printed.until(/kept in memory only until the next start/);
  const site = await origin(t);
  assert.equal(await through(second.port, `http://127.0.0.1:${site.port}/`), 'hello');
  assert.doesNotMatch(first.printed.text, /"level":"error"/);
});

test('with store.kind memory no file is made', LIMIT, async (t) => {
  const home = newHome();
  await started(t, [], { FORBEAR_HOME: home, FORBEAR_STORE_KIND: 'memory' });
  assert.throws(() => readFileSync(join(home, 'forbear.db')), { code: 'ENOENT' });
});
