/** What one part remembers beyond the process: rows by key, each plain JSON. */
export interface KeptTable {
  readonly name: string;
  /** Rows that have changed since they were last asked for. `rough`: what would cost little if it were lost may wait. */
  changes(how: 'rough' | 'all'): Iterable<KeptChange>;
  /** Takes back what an earlier process kept. The keys of rows that are of no use any more. */
  restore(rows: readonly KeptRow[]): readonly string[];
}

export interface KeptChange {
  readonly key: string;
  /** Undefined: the row goes. */
  readonly value: unknown;
}

/** A row as it came out of the store: another version may have written it. */
export interface KeptRow {
  readonly key: string;
  readonly value: unknown;
  /** To be added to its instants. */
  readonly shiftMs: number;
}

/** Writes a row at once; the reply that tells of it waits until it is on disk. An undefined value removes it. */
export type Keep = (table: string, key: string, value: unknown) => void;
