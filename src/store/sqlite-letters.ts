import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { cursorAfter } from './cursor.ts';
import type { Candidate, FairTurns } from './fair-turns.ts';
import type { Letter, LetterNeed, LetterState, NewLetter, Settlement } from './letter.ts';
import {
  claimed,
  firstParked,
  OPEN_STATES,
  parkedAgain,
  settledAs,
  storedPart,
} from './letter-changes.ts';
import { letterFrom } from './letter-json.ts';
import { listQuery } from './sqlite-list.ts';
import type { LetterCount, LetterQuery, Parked } from './store.ts';

// Of the longest due letters this many are looked at; where there are more, other hosts are looked for too.
const DUE_WINDOW = 1000;
const HOSTS_LOOKED_AT = 1000;
/** Letters removed in one go: each go is one transaction, and others wait for it. */
export const REMOVED_AT_ONCE = 200;
/** Letters put off in one go, likewise. */
export const CHANGED_AT_ONCE = 500;
/** Keys read in one go. */
export const KEYS_AT_ONCE = 10_000;
/** Pages (4 KiB) given back to the disk in one go. */
const PAGES_GIVEN_BACK = 500;

interface Row {
  readonly n: number;
  readonly detail: string;
}

/** The dead letters of one open database. Every method runs within the transaction of its caller. */
export class SqliteLetters {
  readonly #db: DatabaseSync;
  readonly #turns: FairTurns;
  readonly #statements = new Map<string, StatementSync>();
  #nextHost = '';

  constructor(db: DatabaseSync, turns: FairTurns) {
    this.#db = db;
    this.#turns = turns;
  }

  /** Ends the claims that a crash has left. How many there were. */
  recover(): number {
    const rows = this.#sql(
      `SELECT n, detail, claimed_from AS before FROM letters INDEXED BY letters_redriving
       WHERE state = 'redriving'`,
    ).all() as unknown as (Row & { before: LetterState | null })[];
    for (const { n, detail, before } of rows) {
      this.#update(n, { ...letterFrom(detail), state: before ?? 'parked' });
    }
    return rows.length;
  }

  park(letter: NewLetter, body: Uint8Array | undefined): Parked {
    const same = this.#byId(letter.id);
    const row = same ?? this.#openByKey(letter.key);
    const before = row && letterFrom(row.detail);
    if (same && before && !OPEN_STATES.includes(before.state)) return parkedAs(before);
    const kept = body === undefined ? 'lost' : 'kept';
    const next = before ? parkedAgain(before, letter, kept) : firstParked(letter, kept);
    const n = row ? row.n : this.#insert(next);
    if (row) this.#update(n, next);
    this.#blob('bodies', n, body);
    return parkedAs(next);
  }

  /** Letters travel as JSON text: it is read on the other side, in small portions. */
  get(id: string): string | undefined {
    return this.#byId(id)?.detail;
  }

  body(id: string): Uint8Array | undefined {
    const row = this.#byId(id);
    if (!row || letterFrom(row.detail).body === 'lost') return undefined;
    return this.#blobOf('bodies', row.n);
  }

  response(id: string): { readonly detail: string; readonly body: Uint8Array } | undefined {
    const row = this.#byId(id);
    if (!row) return undefined;
    return { detail: row.detail, body: this.#blobOf('responses', row.n) };
  }

  list(query: LetterQuery): {
    readonly details: readonly string[];
    readonly next: string | undefined;
  } {
    const { sql, values, limit } = listQuery(query);
    const rows = this.#sql(sql).all(...values) as unknown as Row[];
    const details = rows.slice(0, limit).map(({ detail }) => detail);
    const last = rows.length > limit ? details.at(-1) : undefined;
    return { details, next: last === undefined ? undefined : cursorAfter(letterFrom(last)) };
  }

  counts(): readonly LetterCount[] {
    const rows = this.#sql('SELECT lane, state, letters FROM letter_counts').all();
    return (rows as unknown as LetterCount[]).map((row) => ({ ...row }));
  }

  due(now: number, limit: number): readonly string[] {
    const longest = this.#sql(
      `SELECT id, host, due_at AS dueAt FROM letters INDEXED BY letters_due
       WHERE state = 'parked' AND due_at <= ? ORDER BY due_at LIMIT ?`,
    ).all(now, Math.max(DUE_WINDOW, limit)) as unknown as Candidate[];
    const others = longest.length < DUE_WINDOW ? [] : this.#dueOfOtherHosts(now, limit, longest);
    const picked = this.#turns.pick([...longest, ...others], limit);
    return picked.flatMap(({ id }) => this.get(id) ?? []);
  }

  nextDueAt(): number | undefined {
    const row = this.#sql(
      `SELECT min(due_at) AS at FROM letters INDEXED BY letters_due WHERE state = 'parked'`,
    ).get() as { at: number | null };
    return row.at ?? undefined;
  }

  claim(id: string, at: number, afterCrash?: LetterNeed): boolean {
    const row = this.#byId(id);
    const letter = row && letterFrom(row.detail);
    if (!row || (letter?.state !== 'parked' && letter?.state !== 'needs_client')) return false;
    const goesBackTo = afterCrash === undefined ? letter.state : 'needs_client';
    this.#update(row.n, claimed(letter, at, afterCrash), goesBackTo);
    return true;
  }

  settle(id: string, outcome: Settlement): boolean {
    const row = this.#byId(id);
    const letter = row && letterFrom(row.detail);
    if (!row || letter?.state !== 'redriving') return false;
    this.#update(row.n, settledAs(letter, outcome));
    if (outcome.to === 'done' && outcome.response) {
      this.#blob('responses', row.n, storedPart(outcome.response));
    }
    return true;
  }

  close(key: string, at: number): string | undefined {
    const row = this.#openByKey(key);
    if (!row) return undefined;
    const letter = letterFrom(row.detail);
    this.#update(row.n, { ...letter, state: 'done', updatedAt: at });
    return letter.id;
  }

  /** At most `CHANGED_AT_ONCE`: fewer means that there are no more. */
  putOff(host: string, dueAt: number): number {
    const { changes } = this.#sql(
      `UPDATE letters SET due_at = :at, detail = json_set(detail, '$.dueAt', :at) WHERE n IN (
         SELECT n FROM letters INDEXED BY letters_due_of_host
         WHERE state = 'parked' AND host = :host AND due_at < :at LIMIT ${CHANGED_AT_ONCE})`,
    ).run({ at: dueAt, host });
    return Number(changes);
  }

  /** At most `KEYS_AT_ONCE`, behind a key: fewer means that there are no more. */
  openKeys(after: string): readonly string[] {
    const rows = this.#sql(
      `SELECT key FROM letters INDEXED BY letters_open
       WHERE state IN ('parked', 'redriving', 'needs_client') AND key > ?
       ORDER BY key LIMIT ${KEYS_AT_ONCE}`,
    ).all(after);
    return rows.map(({ key }) => String(key));
  }

  drop(ids: readonly string[]): number {
    const remove = this.#sql('DELETE FROM letters WHERE id = ?');
    return ids.reduce((sum, id) => sum + Number(remove.run(id).changes), 0);
  }

  /** At most `REMOVED_AT_ONCE`: fewer means that there are no more. */
  sweep(now: number): number {
    const { changes } = this.#sql(
      `DELETE FROM letters WHERE n IN (
         SELECT n FROM letters INDEXED BY letters_kept
         WHERE keep_until <= ? AND state <> 'redriving' ORDER BY keep_until LIMIT ${REMOVED_AT_ONCE})`,
    ).run(now);
    return Number(changes);
  }

  /** Gives some of the file's unused room back to the disk. How many pages of it are left. */
  giveBack(): number {
    this.#sql(`PRAGMA incremental_vacuum(${PAGES_GIVEN_BACK})`).all();
    const { freelist_count: left } = this.#sql('PRAGMA freelist_count').get() ?? {};
    return Number(left);
  }

  /** Steps from host to host through the index, on from where the last call ended, and round once at most. */
  #dueOfOtherHosts(now: number, limit: number, known: readonly Candidate[]): Candidate[] {
    const hosts = new Set(known.map(({ host }) => host));
    const next = this.#sql(
      `SELECT id, host, due_at AS dueAt FROM letters INDEXED BY letters_due_of_host
       WHERE state = 'parked' AND host > ? ORDER BY host, due_at LIMIT 1`,
    );
    const found: Candidate[] = [];
    let host = this.#nextHost;
    let rounds = 0;
    for (let looked = 0; looked < HOSTS_LOOKED_AT && hosts.size < limit + known.length; looked++) {
      const first = next.get(host) as Candidate | undefined;
      if (!first) {
        rounds += 1;
        if (rounds > 1) break;
        host = '';
        continue;
      }
      host = first.host;
      if (first.dueAt > now || hosts.has(host)) continue;
      hosts.add(host);
      found.push(first);
    }
    this.#nextHost = host;
    return found;
  }

  #byId(id: string): Row | undefined {
    return this.#sql('SELECT n, detail FROM letters WHERE id = ?').get(id) as Row | undefined;
  }

  #openByKey(key: string): Row | undefined {
    return this.#sql(
      `SELECT n, detail FROM letters INDEXED BY letters_open
       WHERE key = ? AND state IN ('parked', 'redriving', 'needs_client')`,
    ).get(key) as Row | undefined;
  }

  #insert(letter: Letter): number {
    const { lastInsertRowid } = this.#sql(
      `INSERT INTO letters (id, key, state, lane, host, reason, session, parked_at, due_at, keep_until, detail)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ).run(letter.id, letter.key, ...columns(letter));
    return Number(lastInsertRowid);
  }

  #update(n: number, letter: Letter, claimedFrom: LetterState | null = null): void {
    this.#sql(
      `UPDATE letters SET state = ?, lane = ?, host = ?, reason = ?, session = ?, parked_at = ?, due_at = ?,
         keep_until = ?, detail = ?, claimed_from = coalesce(?, claimed_from) WHERE n = ?`,
    ).run(...columns(letter), claimedFrom, n);
  }

  #blob(table: 'bodies' | 'responses', n: number, bytes: Uint8Array | undefined): void {
    if (bytes === undefined || bytes.byteLength === 0) {
      this.#sql(`DELETE FROM ${table} WHERE n = ?`).run(n);
      return;
    }
    this.#sql(
      `INSERT INTO ${table} VALUES (?, ?) ON CONFLICT (n) DO UPDATE SET body = excluded.body`,
    ).run(n, bytes);
  }

  /** An empty one has no row. */
  #blobOf(table: 'bodies' | 'responses', n: number): Uint8Array {
    const row = this.#sql(`SELECT body FROM ${table} WHERE n = ?`).get(n);
    return (row as { body: Uint8Array } | undefined)?.body ?? new Uint8Array();
  }

  #sql(text: string): StatementSync {
    const statement = this.#statements.get(text) ?? this.#db.prepare(text);
    this.#statements.set(text, statement);
    return statement;
  }
}

const parkedAs = ({ id, count }: Letter): Parked => ({ id, count, kept: 'durable' });

function columns(letter: Letter) {
  return [
    letter.state,
    letter.lane,
    letter.host,
    letter.reason,
    letter.session ?? null,
    letter.parkedAt,
    letter.dueAt,
    letter.keepUntil,
    JSON.stringify(letter),
  ] as const;
}
