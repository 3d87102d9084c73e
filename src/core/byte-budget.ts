/** What a lane has sent and received on one day (UTC). JSON. */
export interface ByteBook {
  /** Days since the epoch. */
  readonly day: number;
  readonly bytes: number;
}

/** What a byte budget still allows: everything, first tries only, or nothing. */
export type BytesLeft = 'all' | 'first_tries' | 'none';

const DAY_MS = 24 * 3_600_000;
/** Retries stop first: the last fifth is for requests that were not sent yet. */
const RETRY_SHARE = 0.8;

/** Nothing spent yet. */
export const newByteBook: ByteBook = { day: 0, bytes: 0 };

/** Enters bytes that have passed. */
export function spendBytes(book: ByteBook, bytes: number, now: number): ByteBook {
  return { day: dayOf(now), bytes: spentToday(book, now) + bytes };
}

/** What has been spent since the day began. */
export function spentToday(book: ByteBook, now: number): number {
  return book.day === dayOf(now) ? book.bytes : 0;
}

/** What the budget of a day allows after so many bytes; null: there is none. */
export function bytesLeft(spent: number, perDay: number | null): BytesLeft {
  if (perDay === null || spent < perDay * RETRY_SHARE) return 'all';
  return spent < perDay ? 'first_tries' : 'none';
}

/** How long it takes until the next day begins, in ms. */
export const untilNextDay = (now: number): number => (dayOf(now) + 1) * DAY_MS - now;

const dayOf = (now: number): number => Math.floor(now / DAY_MS);
