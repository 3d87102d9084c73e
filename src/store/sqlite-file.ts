import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { advice, asStoreError } from './sqlite-errors.ts';
import { APPLICATION_ID, MIGRATIONS } from './sqlite-schema.ts';
import { StoreError } from './store.ts';

export interface FileTerms {
  readonly file: string;
  /** How long another process may take to let the file go. */
  readonly lockWaitMs: number;
  /** The file grows to this many pages (of 4 KiB) and no further; undefined: as the disk allows. */
  readonly maxPages: number | undefined;
}

/** An open database, and whether its files are still the ones that were opened. */
export interface OpenFile {
  readonly db: DatabaseSync;
  /** Throws `lost` when the files were removed or replaced: what is written then reaches nobody. */
  assertInPlace(): void;
}

// Checking all of a file reads all of it: up to this size that takes less than half a second.
const CHECKED_BYTES = 32 * 1024 * 1024;

/**
 * Opens the file, or makes it, and brings it to the present version. Nothing is written to a file that is damaged,
 * newer or not ours.
 */
export function openFile(terms: FileTerms, migrations = MIGRATIONS): OpenFile {
  const { file } = terms;
  let db: DatabaseSync | undefined;
  try {
    const size = makeFile(file);
    db = new DatabaseSync(file, { timeout: terms.lockWaitMs });
    const version = checked(db, file, size, migrations.length);
    configure(db, terms);
    migrate(db, version, migrations);
    return { db, assertInPlace: guardOf(file) };
  } catch (error) {
    db?.close();
    throw asStoreError(error, file);
  }
}

/** Reads a file that nobody writes to, and changes nothing. Throws what opening it would. */
export function inspectFile(file: string): void {
  let db: DatabaseSync | undefined;
  try {
    const url = pathToFileURL(file);
    // Else a file in WAL mode has its -shm made, which is a change.
    url.searchParams.set('immutable', '1');
    db = new DatabaseSync(url, { readOnly: true });
    checked(db, file, statSync(file).size, MIGRATIONS.length);
  } catch (error) {
    throw asStoreError(error, file);
  } finally {
    db?.close();
  }
}

/** Makes sure that the file is there, and nobody else's to read. Its size. */
function makeFile(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    // SQLite gives -wal and -shm the mode of the file itself.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const { mode, size } = statSync(file);
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) chmodSync(file, 0o600);
  return size;
}

/** Reads only. The file's version, once it is known to be a sound file of ours, or an empty one. */
function checked(db: DatabaseSync, file: string, size: number, known: number): number {
  const version = pragma(db, 'user_version');
  const owner = pragma(db, 'application_id');
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as {
    tables: number;
  };
  if (owner === 0 && version === 0 && tables === 0) return 0;
  if (owner !== APPLICATION_ID) throw new StoreError('foreign', advice('foreign', file));
  if (version > known) {
    throw new StoreError(
      'newer',
      `${advice('newer', file)} (its format is ${version}, this version knows up to ${known})`,
    );
  }
  if (size <= CHECKED_BYTES && text(db, 'quick_check(1)') !== 'ok') {
    throw new StoreError('damaged', advice('damaged', file));
  }
  return version;
}

function configure(db: DatabaseSync, { maxPages }: FileTerms): void {
  if (pragma(db, 'page_count') === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  // One process at a time: no second one may redrive the same letters. It also spares the -shm file.
  db.exec('PRAGMA locking_mode = EXCLUSIVE');
  db.exec('PRAGMA journal_mode = WAL');
  // FULL syncs the log at each commit, so that not even a power cut loses what was acknowledged. Commits are
  // shared by all that is waiting, so it costs one fdatasync (0.2 to 10 ms) for any number of letters; NORMAL would
  // be as safe against kill -9, but a power cut would take all since the last checkpoint.
  db.exec('PRAGMA synchronous = FULL');
  db.exec(
    'PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 16777216',
  );
  if (maxPages !== undefined) db.exec(`PRAGMA max_page_count = ${Math.trunc(maxPages)}`);
}

/** Each step and its new number in one transaction: a crash leaves the version before, whole. */
function migrate(db: DatabaseSync, version: number, migrations: readonly string[]): void {
  for (let step = version; step < migrations.length; step += 1) {
    db.exec('BEGIN IMMEDIATE');
    try {
      db.exec(migrations[step] ?? '');
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${step + 1}`);
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
  // Takes the lock even where there was nothing to do, and makes the -wal file.
  db.exec('BEGIN IMMEDIATE');
  db.exec(`PRAGMA user_version = ${migrations.length}`);
  db.exec('COMMIT');
}

function guardOf(file: string): () => void {
  const names = [file, `${file}-wal`];
  const opened = names.map(identity);
  return () => {
    if (names.every((name, at) => identity(name) === opened[at])) return;
    throw new StoreError('lost', advice('lost', file));
  };
}

function identity(name: string): string | undefined {
  const stats = statSync(name, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function pragma(db: DatabaseSync, name: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}

function text(db: DatabaseSync, name: string): string {
  return String(Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
}
