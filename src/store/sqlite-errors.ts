import { StoreError, type StoreErrorCode } from './store.ts';

// https://sqlite.org/rescode.html; the low byte of an extended code is the primary one.
const BY_RESULT: ReadonlyMap<number, StoreErrorCode> = new Map([
  [3, 'unusable'], // PERM
  [5, 'locked'], // BUSY
  [6, 'locked'], // LOCKED
  [8, 'read_only'], // READONLY
  [11, 'damaged'], // CORRUPT
  [13, 'full'], // FULL
  [14, 'unusable'], // CANTOPEN
  [18, 'invalid'], // TOOBIG
  [19, 'invalid'], // CONSTRAINT
  [20, 'invalid'], // MISMATCH
  [26, 'damaged'], // NOTADB
]);

const BY_ERRNO: ReadonlyMap<string, StoreErrorCode> = new Map([
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['EROFS', 'read_only'],
  ['EACCES', 'unusable'],
  ['EPERM', 'unusable'],
  ['ENOTDIR', 'unusable'],
  ['EISDIR', 'unusable'],
  ['ENOENT', 'unusable'],
  ['EEXIST', 'unusable'],
  // What cannot be bound to a statement.
  ['ERR_INVALID_ARG_TYPE', 'invalid'],
  ['ERR_INVALID_ARG_VALUE', 'invalid'],
]);

/** What the system or SQLite threw, as an error that says which file and what to do. */
export function asStoreError(cause: unknown, file: string): StoreError {
  if (cause instanceof StoreError) return cause;
  const code = codeOf(cause);
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new StoreError(code, `${advice(code, file)} (${detail})`, { cause });
}

/** Whether the connection is of no more use: the next operation opens the file anew. */
export function breaksConnection({ code }: StoreError): boolean {
  return code !== 'full' && code !== 'bad_cursor' && code !== 'invalid';
}

/** The sentence for whoever has to put it right. */
export function advice(code: StoreErrorCode, file: string): string {
  switch (code) {
    case 'damaged':
      return `${file} is damaged or no database; it was left as it is: move it away (a new one is made), or put a backup in its place`;
    case 'foreign':
      return `${file} is a database of another program; it was left as it is: move it away, or set FORBEAR_HOME to another folder`;
    case 'newer':
      return `${file} was written by a newer version of Forbear; it was left as it is: use that version, or set FORBEAR_HOME to another folder`;
    case 'locked':
      return `${file} is in use by another process: stop the other Forbear, or set FORBEAR_HOME to another folder`;
    case 'full':
      return `no room left on the disk of ${file}: free some`;
    case 'read_only':
      return `${file} cannot be written, it is read-only: make it writable, or set FORBEAR_HOME to another folder`;
    case 'lost':
      return `${file} was removed or replaced while it was in use: what was in it is gone, a new one is made`;
    case 'unusable':
      return `${file} cannot be opened or made: check its folder and permissions, or set FORBEAR_HOME to another folder`;
    case 'invalid':
      return `${file} cannot hold what was handed in`;
    case 'failed':
    case 'no_room':
    case 'bad_cursor':
    case 'closed':
      return `${file} failed`;
  }
}

function codeOf(cause: unknown): StoreErrorCode {
  if (typeof cause !== 'object' || cause === null) return 'failed';
  if ('errcode' in cause && typeof cause.errcode === 'number') {
    return BY_RESULT.get(cause.errcode & 0xff) ?? 'failed';
  }
  if ('code' in cause && typeof cause.code === 'string')
    return BY_ERRNO.get(cause.code) ?? 'failed';
  return 'failed';
}
