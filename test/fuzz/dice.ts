import { chance } from '../support/chance.ts';
import { seededRandom } from '../support/fake-clock.ts';

/** Draws of one fuzz case: the same seed gives the same case. */
export class Dice {
  readonly #roll: () => number;

  constructor(...seed: readonly (string | number)[]) {
    this.#roll = seededRandom(Math.floor(chance(...seed) * 2 ** 32));
  }

  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.#roll() * limit);
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** True once in `n` draws, on average. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  /** From none to `most` things. */
  some<T>(most: number, make: () => T): T[] {
    return Array.from({ length: this.between(0, most) }, make);
  }

  /** Any bytes, latin1. */
  bytes(length: number): string {
    return Buffer.from(Array.from({ length }, () => this.below(256))).toString('latin1');
  }

  bytesOf(length: number): Buffer {
    return Buffer.from(this.bytes(length), 'latin1');
  }

  /** Letters and digits. */
  word(length: number): string {
    const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
    return Array.from({ length }, () => letters[this.below(letters.length)]).join('');
  }

  /** A length that is mostly small, and now and then up to `most`. */
  size(most: number): number {
    return this.oneIn(8) ? this.between(0, most) : this.between(0, Math.min(most, 40));
  }
}
