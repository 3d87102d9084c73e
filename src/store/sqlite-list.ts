import type { SQLInputValue } from 'node:sqlite';
import { pageLimit, readCursor } from './cursor.ts';
import type { LetterQuery } from './store.ts';

/** A query for one more letter than the page holds: the last one only tells that there is a next page. */
export interface ListQuery {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
  readonly limit: number;
}

/** Turns a question for letters into SQL that reads nothing but one index until the page is full. */
export function listQuery(query: LetterQuery): ListQuery {
  const limit = pageLimit(query.limit);
  const conditions: [sql: string, ...values: SQLInputValue[]][] = [];
  for (const field of ['state', 'lane', 'host', 'reason', 'session'] as const) {
    const value = query[field];
    if (value !== undefined) conditions.push([`${field} = ?`, value]);
  }
  if (query.olderThan !== undefined) conditions.push(['parked_at < ?', query.olderThan]);
  if (query.newerThan !== undefined) conditions.push(['parked_at > ?', query.newerThan]);
  if (query.cursor !== undefined) {
    const { parkedAt, id } = readCursor(query.cursor);
    conditions.push(['(parked_at, id) < (?, ?)', parkedAt, id]);
  }
  // Named, because without statistics the planner takes an index whose rows must each be looked up.
  const index = indexFor(query);
  const where = conditions.map(([sql]) => sql).join(' AND ') || '1';
  return {
    sql: `SELECT detail FROM letters WHERE n IN (
        SELECT n FROM letters INDEXED BY ${index} WHERE ${where}
        ORDER BY parked_at DESC, id DESC LIMIT ?
      ) ORDER BY parked_at DESC, id DESC`,
    values: [...conditions.flatMap(([, ...values]) => values), limit + 1],
    limit,
  };
}

function indexFor({ session, lane }: LetterQuery): string {
  if (session !== undefined) return 'letters_of_session';
  return lane === undefined ? 'letters_newest' : 'letters_of_lane';
}
