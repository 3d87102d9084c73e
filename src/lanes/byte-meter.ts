import {
  type ByteBook,
  type BytesLeft,
  bytesLeft,
  newByteBook,
  spendBytes,
  spentToday,
} from '../core/byte-budget.ts';
import type { Wire } from '../exchange/ports.ts';

/** The bytes that one host costs in a day, those that are passing right now included. */
export class ByteMeter {
  book: ByteBook = newByteBook;
  readonly #now: () => number;
  readonly #open = new Set<Wire>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a wire from its beginning to its end. */
  follow(wire: Wire): void {
    this.#open.add(wire);
    void wire.closed.then(() => {
      this.#open.delete(wire);
      this.book = spendBytes(this.book, bytesOf(wire), this.#now());
    });
  }

  left({ perDay }: { readonly perDay: number | null }): BytesLeft {
    if (perDay === null) return 'all';
    let spent = spentToday(this.book, this.#now());
    for (const wire of this.#open) spent += bytesOf(wire);
    return bytesLeft(spent, perDay);
  }
}

const bytesOf = ({ sentBytes, receivedBytes }: Wire): number => sentBytes + receivedBytes;
