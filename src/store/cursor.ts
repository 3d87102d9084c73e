import type { Letter } from './letter.ts';
import { MAX_PAGE, StoreError } from './store.ts';

/** A place in the list: newest `parkedAt` first, then by id downwards. */
export interface Place {
  readonly parkedAt: number;
  readonly id: string;
}

/** The place after a letter, as text for whoever asks for the next page. */
export function cursorAfter({ parkedAt, id }: Letter): string {
  return Buffer.from(JSON.stringify([parkedAt, id])).toString('base64url');
}

/** Reads a cursor; rejects what `cursorAfter` never wrote. */
export function readCursor(cursor: string): Place {
  try {
    const place = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(place) && Number.isFinite(place[0]) && typeof place[1] === 'string') {
      return { parkedAt: place[0], id: place[1] };
    }
  } catch {
    // Not even JSON: the same answer.
  }
  throw new StoreError('bad_cursor', 'this is no cursor of a list of dead letters');
}

/** A page's length within its bounds. */
export function pageLimit(limit: number): number {
  return Math.min(MAX_PAGE, Math.max(1, Math.trunc(limit) || 1));
}

/** Newest first. */
export function byPlace(a: Place, b: Place): number {
  return b.parkedAt - a.parkedAt || (a.id < b.id ? 1 : Number(a.id > b.id) * -1);
}
