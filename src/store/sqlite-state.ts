import type { DatabaseSync } from 'node:sqlite';

/** Entries handed over at a time. */
export const ENTRIES_AT_ONCE = 1000;

/** Documents and tables of one open database, as JSON text. Runs within the transaction of its caller. */
export class SqliteState {
  readonly #sql;

  constructor(db: DatabaseSync) {
    this.#sql = {
      save: db.prepare(
        'INSERT INTO documents VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      ),
      load: db.prepare('SELECT value FROM documents WHERE name = ?'),
      put: db.prepare(
        'INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value',
      ),
      delete: db.prepare('DELETE FROM entries WHERE name = ? AND key = ?'),
      first: db.prepare(
        `SELECT key, value FROM entries WHERE name = ? ORDER BY key LIMIT ${ENTRIES_AT_ONCE}`,
      ),
      after: db.prepare(
        `SELECT key, value FROM entries WHERE name = ? AND key > ? ORDER BY key LIMIT ${ENTRIES_AT_ONCE}`,
      ),
    };
  }

  save(name: string, text: string): void {
    this.#sql.save.run(name, text);
  }

  load(name: string): string | undefined {
    return (this.#sql.load.get(name) as { value: string } | undefined)?.value;
  }

  put(name: string, key: string, text: string): void {
    this.#sql.put.run(name, key, text);
  }

  delete(name: string, key: string): void {
    this.#sql.delete.run(name, key);
  }

  /** At most `ENTRIES_AT_ONCE`, those after `key`: fewer means that there are no more. */
  entries(name: string, key: string | undefined): readonly (readonly [string, string])[] {
    const rows = key === undefined ? this.#sql.first.all(name) : this.#sql.after.all(name, key);
    return (rows as unknown as { key: string; value: string }[]).map((row) => [row.key, row.value]);
  }
}
