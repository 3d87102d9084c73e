import { headOf, isBodiless } from './request-key.ts';

const DIGITS_OF_A_NUMBER = 12;

/**
 * Which requests may have an open letter, known in memory: a success that closes none, which is nearly every one,
 * must not cost a question to the store. It may say yes too often, never no.
 */
export class OpenKeys {
  /** Letters by the beginning of their key as a number: a million take little room. */
  readonly #letters = new Map<number, number>();

  /** While they are still being read, anything may be. */
  #isComplete = false;

  get isEmpty(): boolean {
    return this.#isComplete && this.#letters.size === 0;
  }

  /** All that are stored have been added. */
  complete(): void {
    this.#isComplete = true;
  }

  add(key: string): void {
    const n = numberOf(key);
    this.#letters.set(n, (this.#letters.get(n) ?? 0) + 1);
  }

  /** Whether a request with this head may have one. */
  mayHave(head: string): boolean {
    return !this.#isComplete || this.#letters.has(numberOf(head));
  }

  /** The letter with this key is over. */
  remove(key: string): void {
    const n = numberOf(key);
    const left = (this.#letters.get(n) ?? 0) - 1;
    if (left > 0) this.#letters.set(n, left);
    else this.#letters.delete(n);
  }

  /** The store knows of none with this key. */
  disprove(key: string): void {
    // With a body there may be others that differ in that alone.
    if (isBodiless(key)) this.#letters.delete(numberOf(key));
  }
}

const numberOf = (key: string): number =>
  Number.parseInt(headOf(key).slice(0, DIGITS_OF_A_NUMBER), 16);
