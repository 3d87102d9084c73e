import type {
  Letter,
  LetterNeed,
  LetterState,
  NewLetter,
  ResponseMeta,
  Settlement,
} from './letter.ts';

/** Everything that outlives the process. Every operation that fails rejects with a `StoreError`. */
export interface Store {
  readonly letters: Letters;
  readonly state: State;
  /** Letters whose redrive a crash had interrupted; opening the store put them back to the state they were claimed in. */
  readonly recovered: number;
  /** Finishes what was asked before, then lets go; everything asked later rejects with `closed`. */
  close(): Promise<void>;
}

/** The dead letters. A write is durable when its promise resolves. */
export interface Letters {
  /**
   * Keeps a letter with its body; `undefined` for a body that could not be kept whole. While a letter with the same
   * key is open this adds `count` to that one, and the newest request, trail and times replace the older ones (its
   * `parkedAt` and `redrives` stay; a letter under redrive stays under redrive). Parking an id again changes nothing
   * but those: it is not counted twice.
   */
  park(letter: NewLetter, body: Uint8Array | undefined): Promise<Parked>;
  get(id: string): Promise<Letter | undefined>;
  /** The request's body; undefined where it was not kept, or there is no such letter. */
  body(id: string): Promise<Uint8Array | undefined>;
  /** The reply that a redrive brought. */
  response(id: string): Promise<StoredResponse | undefined>;
  /** Newest `parkedAt` first. Rejects with `bad_cursor` when the cursor is not one of ours. */
  list(query: LetterQuery): Promise<LetterPage>;
  /** How many letters each lane has in each state; lanes and states without any are left out. */
  counts(): Promise<readonly LetterCount[]>;
  /**
   * Parked letters whose time has come, at most `limit`: one of each host, then a second of each, and so on, the
   * longest due first. Hosts that were left out come first the next time.
   */
  due(now: number, limit: number): Promise<readonly Letter[]>;
  /** When the next parked letter is due; in the past if one is already. */
  nextDueAt(): Promise<number | undefined>;
  /**
   * `parked` or `needs_client` → `redriving`. False when it is in no such state: somebody else has it, or it is over.
   * A crash puts it back; with `afterCrash` it then needs that, since nobody will know how far the redrive had got.
   */
  claim(id: string, at: number, afterCrash?: LetterNeed): Promise<boolean>;
  /** Ends a claim. False when the letter is not under redrive any more: closed or dropped meanwhile. */
  settle(id: string, outcome: Settlement): Promise<boolean>;
  /** The same request has succeeded after all: its open letter is `done`. The letter's id, if there was one. */
  close(key: string, at: number): Promise<string | undefined>;
  /**
   * Parked letters of a host that would be due earlier are due then. Their other facts stay as they are, and none
   * of them counts as tried. How many there were.
   */
  putOff(host: string, dueAt: number): Promise<number>;
  /** The keys of all open letters, in portions; one that is stored at that moment may be told twice. */
  openKeys(): AsyncIterable<readonly string[]>;
  /** Removes letters, whatever their state. How many there were. */
  drop(ids: readonly string[]): Promise<number>;
  /** Removes letters that are past `keepUntil`, save those under redrive. How many there were. */
  sweep(now: number): Promise<number>;
}

export interface Parked {
  /** Of the letter that stands for the request now: an open one's, where there was one. */
  readonly id: string;
  readonly count: number;
  /** `memory`: the disk would not take it; it is written later, and lost if the process dies before. */
  readonly kept: 'durable' | 'memory';
}

export interface StoredResponse extends ResponseMeta {
  readonly body: Uint8Array;
}

/** All conditions must hold. */
export interface LetterQuery {
  readonly state?: LetterState | undefined;
  readonly lane?: string | undefined;
  readonly host?: string | undefined;
  readonly reason?: string | undefined;
  readonly session?: string | undefined;
  /** Parked before, or after, this instant. */
  readonly olderThan?: number | undefined;
  readonly newerThan?: number | undefined;
  /** `next` of the page before. */
  readonly cursor?: string | undefined;
  /** 1 to `MAX_PAGE`; what is outside is brought inside. */
  readonly limit: number;
}

export interface LetterPage {
  readonly items: readonly Letter[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

export interface LetterCount {
  readonly lane: string;
  readonly state: LetterState;
  readonly letters: number;
}

/** Letters on one page of a list, at most. */
export const MAX_PAGE = 500;

/**
 * What parts of the proxy remember, as JSON. Whoever loads a value parses it: another version may have written it.
 * A write is durable when its promise resolves.
 */
export interface State {
  /** Replaces a document whole, or not at all. */
  save(name: string, value: Json): Promise<void>;
  /** The newest value saved under the name; undefined if there is none. */
  load(name: string): Promise<Json | undefined>;
  /** A small table for what must be written one by one, such as session bindings. */
  rows(name: string): Rows;
}

/** One named table of the state. */
export interface Rows {
  put(key: string, value: Json): Promise<void>;
  delete(key: string): Promise<void>;
  /** All of it, ordered by key (by UTF-8 bytes). */
  entries(): Promise<readonly (readonly [key: string, value: Json])[]>;
}

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Why a store could not do it. */
export type StoreErrorCode =
  /** The file is not sound, or is no database at all. It was left as it is. */
  | 'damaged'
  /** A sound database of some other program. It was left as it is. */
  | 'foreign'
  /** Written by a newer version. It was left as it is. */
  | 'newer'
  /** Another process has it open. */
  | 'locked'
  | 'full'
  | 'read_only'
  /** The file was removed or replaced under a running process. */
  | 'lost'
  /** The folder or file cannot be opened or made. */
  | 'unusable'
  /** The disk or the database failed in some other way. */
  | 'failed'
  /** The bounds of a store in memory are reached. */
  | 'no_room'
  | 'bad_cursor'
  /** What was handed in cannot be stored: a bug of the caller. */
  | 'invalid'
  | 'closed';

/** A failure of a store: what it could not do, which file, and what to do about it. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.code = code;
  }
}

/** Whether the store itself failed, so that the same operation may work once that is put right. */
export function isOutage(error: unknown): error is StoreError {
  if (!(error instanceof StoreError)) return false;
  switch (error.code) {
    case 'damaged':
    case 'foreign':
    case 'newer':
    case 'locked':
    case 'full':
    case 'read_only':
    case 'lost':
    case 'unusable':
    case 'failed':
      return true;
    case 'no_room':
    case 'bad_cursor':
    case 'invalid':
    case 'closed':
      return false;
  }
}
