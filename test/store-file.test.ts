import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, type TestContext, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { openSqliteStore, type SqliteTerms } from '../src/store/sqlite.ts';
import type { Call } from '../src/store/sqlite-calls.ts';
import { openFile } from '../src/store/sqlite-file.ts';
import { GroupCommit } from '../src/store/sqlite-group.ts';
import { APPLICATION_ID, MIGRATIONS } from '../src/store/sqlite-schema.ts';
import { type Store, StoreError } from '../src/store/store.ts';
import { isCoded } from './store.contract.ts';
import { NOW, sampleBody, sampleLetter } from './store-sample.ts';

const folder = mkdtempSync(join(tmpdir(), 'forbear-store-file-'));
chmodSync(folder, 0o755);
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function newFile(): string {
  files += 1;
  return join(folder, `home ${files}`, 'forbear.db');
}

async function open(t: TestContext, terms: SqliteTerms): Promise<Store> {
  const store = await openSqliteStore({ lockWaitMs: 0, ...terms });
  t.after(() => store.close());
  return store;
}

/** What a refused file is refused with; and that it was not touched. */
async function refusal(file: string): Promise<StoreError> {
  const before = readFileSync(file);
  const error = await openSqliteStore({ file, lockWaitMs: 0 }).then(
    () => assert.fail('it was opened'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreError);
  assert.ok(error.message.includes(file), error.message);
  assert.deepEqual(readFileSync(file), before, 'the file was written to');
  return error;
}

/** A closed store's file with one letter and many rows in it. */
async function filled(t: TestContext): Promise<string> {
  const file = newFile();
  const store = await open(t, { file });
  const rows = store.state.rows('sessions');
  await store.letters.park(sampleLetter({ id: 'kept' }), sampleBody(50_000));
  await Promise.all(
    Array.from({ length: 500 }, (_, n) => rows.put(`s${n}`, { route: 'x'.repeat(100) })),
  );
  await store.close();
  return file;
}

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);

test('the file and its log are for their owner alone, and so is a folder made for them', async (t) => {
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const file = newFile();
  const store = await open(t, { file });
  await store.letters.park(sampleLetter(), sampleBody(10));
  assert.equal(mode(join(file, '..')), '700');
  assert.equal(mode(file), '600');
  assert.equal(mode(`${file}-wal`), '600');
  assert.equal(statSync(`${file}-shm`, { throwIfNoEntry: false }), undefined);
});

test('a file that others may read is closed to them', async (t) => {
  const file = await filled(t);
  chmodSync(file, 0o644);
  await open(t, { file });
  assert.equal(mode(file), '600');
});

test('a file that is no database is refused and left alone', async () => {
  const file = newFile();
  mkdirSync(join(file, '..'));
  writeFileSync(file, 'my notes, which happen to have this name\n'.repeat(200));
  const error = await refusal(file);
  assert.equal(error.code, 'damaged');
  assert.match(error.message, /move it away/);
});

test('a database of another program is refused and left alone', async () => {
  const file = newFile();
  mkdirSync(join(file, '..'));
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE bookmarks (url TEXT)');
  other.close();
  const error = await refusal(file);
  assert.equal(error.code, 'foreign');
  assert.match(error.message, /FORBEAR_HOME/);
});

test('a file of a newer version is refused and left alone', async (t) => {
  const file = await filled(t);
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA user_version = ${MIGRATIONS.length + 1}`);
  db.close();
  const error = await refusal(file);
  assert.equal(error.code, 'newer');
  assert.match(error.message, /newer version/);
});

test('a file that was cut short is refused and left alone', async (t) => {
  const file = await filled(t);
  truncateSync(file, statSync(file).size - 20_000);
  assert.equal((await refusal(file)).code, 'damaged');
});

test('a file with a page of rubbish in it is refused and left alone', async (t) => {
  const file = await filled(t);
  const bytes = readFileSync(file);
  bytes.fill(0xa5, 5 * 4096, 6 * 4096);
  writeFileSync(file, bytes);
  assert.equal((await refusal(file)).code, 'damaged');
});

test('an empty file is a new one', async (t) => {
  const file = newFile();
  mkdirSync(join(file, '..'));
  writeFileSync(file, '');
  const store = await open(t, { file });
  assert.deepEqual(await store.letters.counts(), []);
});

test('a folder that cannot be made or used is told', async () => {
  const file = newFile();
  mkdirSync(join(file, '..'));
  writeFileSync(join(file, '..', 'plain'), '');
  await assert.rejects(
    openSqliteStore({ file: join(file, '..', 'plain', 'forbear.db') }),
    isCoded('unusable'),
  );
  mkdirSync(file);
  await assert.rejects(openSqliteStore({ file }), isCoded('unusable'));
});

test('a file that is open already is told from one that is damaged, and free again after', async (t) => {
  const file = newFile();
  const first = await open(t, { file });
  await assert.rejects(openSqliteStore({ file, lockWaitMs: 0 }), isCoded('locked'));
  await first.letters.park(sampleLetter({ id: 'still works' }), undefined);
  await first.close();
  const second = await open(t, { file });
  assert.ok(await second.letters.get('still works'));
});

test('a file that another process has open is told so, and free when that is killed', async (t) => {
  const file = newFile();
  const holder = spawnHolder(t, file);
  await once(holder.stdout, 'data');
  const error = await openSqliteStore({ file, lockWaitMs: 0 }).catch((reason) => reason);
  assert.ok(isCoded('locked')(error));
  assert.match(error.message, /another process/);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const store = await open(t, { file });
  assert.ok(await store.letters.get('held'));
});

function spawnHolder(t: TestContext, file: string) {
  const code = `
    const { openSqliteStore } = await import(${JSON.stringify(import.meta.resolve('../src/store/sqlite.ts'))});
    const { sampleLetter } = await import(${JSON.stringify(import.meta.resolve('./store-sample.ts'))});
    const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
    await store.letters.park(sampleLetter({ id: 'held' }), undefined);
    console.log('open');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code]);
  t.after(() => child.kill('SIGKILL'));
  return child;
}

test('an older file is brought to the present version, step by step, with all that is in it', (t) => {
  const file = newFile();
  const terms = { file, lockWaitMs: 0, maxPages: undefined };
  const old = openFile(terms);
  old.db.exec(`INSERT INTO documents VALUES ('lanes', '1')`);
  old.db.close();
  const steps = [
    ...MIGRATIONS,
    'ALTER TABLE documents ADD COLUMN saved_at REAL; UPDATE documents SET saved_at = 5',
    'CREATE INDEX documents_saved ON documents (saved_at)',
  ];
  const { db } = openFile(terms, steps);
  t.after(() => db.close());
  assert.deepEqual(
    { ...db.prepare('SELECT * FROM documents').get() },
    {
      name: 'lanes',
      value: '1',
      saved_at: 5,
    },
  );
  assert.deepEqual({ ...db.prepare('PRAGMA user_version').get() }, { user_version: steps.length });
  assert.deepEqual(
    { ...db.prepare('PRAGMA application_id').get() },
    {
      application_id: APPLICATION_ID,
    },
  );
});

test('a migration that fails leaves the version before, whole', (t) => {
  const file = newFile();
  const terms = { file, lockWaitMs: 0, maxPages: undefined };
  openFile(terms).db.close();
  const steps = [
    ...MIGRATIONS,
    'CREATE TABLE half (a TEXT) STRICT; CREATE TABLE half (a TEXT) STRICT',
  ];
  assert.throws(() => openFile(terms, steps), StoreError);
  const { db } = openFile(terms);
  t.after(() => db.close());
  const half = db.prepare(`SELECT * FROM sqlite_schema WHERE name = 'half'`).get();
  assert.equal(half, undefined);
});

test('a full disk refuses what does not fit, keeps the rest, and takes letters again when there is room', async (t) => {
  const file = newFile();
  const { letters } = await open(t, { file, maxPages: 300 });
  const parked: string[] = [];
  for (;;) {
    const letter = sampleLetter({ bodyBytes: 50_000, keepUntil: NOW });
    try {
      await letters.park(letter, sampleBody(50_000));
    } catch (error) {
      assert.ok(isCoded('full')(error), String(error));
      break;
    }
    parked.push(letter.id);
  }
  assert.ok(parked.length > 5);
  // Asked together with what does not fit, what needs no room is done all the same.
  const [big, claim, read] = await Promise.allSettled([
    letters.park(sampleLetter({ bodyBytes: 900_000 }), sampleBody(900_000)),
    letters.claim(parked[0] ?? '', NOW),
    letters.body(parked[1] ?? ''),
  ]);
  assert.ok(big.status === 'rejected' && isCoded('full')(big.reason));
  assert.deepEqual([claim.status, read.status], ['fulfilled', 'fulfilled']);
  assert.equal((await letters.list({ limit: 500 })).items.length, parked.length);

  assert.equal(await letters.sweep(NOW), parked.length - 1);
  const after = sampleLetter({ bodyBytes: 50_000 });
  await letters.park(after, sampleBody(50_000));
  assert.equal((await letters.body(after.id))?.byteLength, 50_000);
});

test('calls of one group that cannot be done do not undo the others', (t) => {
  const group = new GroupCommit({ file: newFile(), lockWaitMs: 0, maxPages: 100 });
  t.after(() => group.close());
  const park = (n: number, bytes: number, changes = {}): Call => ({
    n,
    name: 'park',
    args: [sampleLetter({ id: `letter ${n}`, bodyBytes: bytes, ...changes }), sampleBody(bytes)],
  });
  const answers = group.run([
    park(1, 1000),
    park(2, 900_000),
    park(3, 1000, { dueAt: Number.NaN }),
    { n: 4, name: 'list', args: [{ limit: 1, cursor: 'none of ours' }] },
    park(5, 1000),
  ]);
  assert.deepEqual(
    answers.map((answer) => [answer.n, answer.kind === 'done' ? 'done' : answer.code]),
    [
      [1, 'done'],
      [2, 'full'],
      [3, 'invalid'],
      [4, 'bad_cursor'],
      [5, 'done'],
    ],
  );
  const look: Call[] = [1, 2, 3, 5].map((n) => ({ n, name: 'body', args: [`letter ${n}`] }));
  const found = group.run(look).map((answer) => answer.kind === 'done' && Boolean(answer.value));
  assert.deepEqual(found, [true, false, false, true]);
});

for (const [what, harm] of [
  ['removed', (file: string) => rmSync(file)],
  ['moved away', (file: string) => renameSync(file, `${file}.moved`)],
  ['robbed of its log', (file: string) => rmSync(`${file}-wal`)],
] as const) {
  test(`a file that is ${what} while it is open is told, and the next letter is safe again`, async (t) => {
    const file = newFile();
    const { letters } = await open(t, { file });
    await letters.park(sampleLetter(), undefined);
    harm(file);
    await assert.rejects(letters.park(sampleLetter(), undefined), isCoded('lost'));
    const letter = sampleLetter();
    await letters.park(letter, sampleBody(100));
    assert.equal((await letters.get(letter.id))?.id, letter.id);
    assert.equal(mode(file), '600');
    // What is on disk says the same as what the store says.
    const copy = newFile();
    mkdirSync(join(copy, '..'));
    for (const end of ['', '-wal']) writeFileSync(copy + end, readFileSync(file + end));
    assert.ok(await (await open(t, { file: copy })).letters.get(letter.id));
  });
}

test('a file that may not be written is told', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('needs root, to become somebody else');
  const file = newFile();
  mkdirSync(join(file, '..'), { mode: 0o755 });
  writeFileSync(file, '');
  const code = `
    const { openSqliteStore } = await import(${JSON.stringify(import.meta.resolve('../src/store/sqlite.ts'))});
    console.log(await openSqliteStore({ file: ${JSON.stringify(file)} }).then(() => 'opened', (e) => e.code));
    process.exit();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    uid: 65534,
    gid: 65534,
    cwd: '/',
  });
  const [said] = await Promise.race([once(child.stdout, 'data'), once(child, 'error')]);
  if (said?.code === 'EACCES') return t.skip('needs a Node that others may run');
  assert.match(String(said), /^(read_only|unusable)\n$/);
});

test('letters that are dropped give their room on the disk back', async (t) => {
  const file = newFile();
  const store = await open(t, { file });
  const ids = Array.from({ length: 40 }, () => sampleLetter({ bodyBytes: 100_000 }));
  await Promise.all(ids.map((letter) => store.letters.park(letter, sampleBody(100_000))));
  await store.letters.drop(ids.map(({ id }) => id));
  await store.close();
  assert.ok(statSync(file).size < 400_000, `${statSync(file).size} bytes`);
});

test('a thread that dies takes what was asked of it along, and the next letter gets a new one', async (t) => {
  const threads: Worker[] = [];
  const onThread = (thread: Worker) => threads.push(thread);
  process.on('worker', onThread);
  t.after(() => process.off('worker', onThread));
  const file = newFile();
  const { letters } = await open(t, { file });
  const [first, second] = [sampleLetter(), sampleLetter()];
  await letters.park(first, undefined);
  await letters.claim(first.id, NOW);
  const dying = threads[0]?.terminate();
  await assert.rejects(letters.list({ limit: 1 }), isCoded('failed'));
  await dying;
  await letters.park(second, undefined);
  assert.ok(await letters.get(second.id));
  assert.equal(threads.length, 2);
  // Its redrive goes on: it was the thread that died, not the process.
  assert.equal((await letters.get(first.id))?.state, 'redriving');
});
