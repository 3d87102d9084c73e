import { FairTurns } from './fair-turns.ts';
import { type Answer, type Call, perform } from './sqlite-calls.ts';
import { asStoreError, breaksConnection } from './sqlite-errors.ts';
import { type FileTerms, type OpenFile, openFile } from './sqlite-file.ts';
import { SqliteLetters } from './sqlite-letters.ts';
import { SqliteState } from './sqlite-state.ts';
import { StoreError } from './store.ts';

interface Connection extends OpenFile {
  readonly letters: SqliteLetters;
  readonly state: SqliteState;
}

/** The database file: runs calls in groups, one transaction and one sync of the disk for each group. */
export class GroupCommit {
  readonly #terms: FileTerms;
  readonly #turns = new FairTurns();
  #connection: Connection | undefined;

  constructor(terms: FileTerms) {
    this.#terms = terms;
  }

  /** Opens the file now, and ends the claims of a process that crashed. Throws a `StoreError`. */
  open(recover: boolean): number {
    try {
      const { db, letters } = this.#connected();
      if (!recover) return 0;
      db.exec('BEGIN IMMEDIATE');
      const recovered = letters.recover();
      db.exec('COMMIT');
      return recovered;
    } catch (error) {
      this.close();
      throw asStoreError(error, this.#terms.file);
    }
  }

  /** Does all calls in their order, durably; one that fails does not undo the others. Never throws. */
  run(calls: readonly Call[]): readonly Answer[] {
    try {
      return this.#transaction(calls);
    } catch (error) {
      const failure = this.#failure(error);
      if (calls.length === 1 || this.#connection === undefined) {
        return calls.map((call) => failed(call, failure));
      }
      // The disk is full, or one call cannot be done: what fits, and what frees room, is done by itself.
      return calls.flatMap((call) => this.run([call]));
    }
  }

  close(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    try {
      connection?.db.close();
    } catch {
      // What was acknowledged is in the log already; the file is opened anew, or not at all.
    }
  }

  #transaction(calls: readonly Call[]): readonly Answer[] {
    const { db, letters, state, assertInPlace } = this.#connected();
    assertInPlace();
    db.exec('BEGIN IMMEDIATE');
    const answers = calls.map((call): Answer => {
      try {
        return { n: call.n, kind: 'done', value: perform(call, letters, state) };
      } catch (error) {
        // Refused before anything was written.
        if (error instanceof StoreError) return failed(call, error);
        throw error;
      }
    });
    db.exec('COMMIT');
    return answers;
  }

  /** Undoes the group; a connection that failed is let go, so that the next call tries the file afresh. */
  #failure(error: unknown): StoreError {
    const failure = asStoreError(error, this.#terms.file);
    try {
      if (this.#connection?.db.isTransaction) this.#connection.db.exec('ROLLBACK');
    } catch {
      this.close();
    }
    if (breaksConnection(failure)) this.close();
    return failure;
  }

  #connected(): Connection {
    if (this.#connection) return this.#connection;
    const file = openFile(this.#terms);
    try {
      const letters = new SqliteLetters(file.db, this.#turns);
      this.#connection = { ...file, letters, state: new SqliteState(file.db) };
      return this.#connection;
    } catch (error) {
      file.db.close();
      throw error;
    }
  }
}

function failed({ n }: Call, { code, message }: StoreError): Answer {
  return { n, kind: 'failed', code, message };
}
