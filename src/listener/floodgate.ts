/** A bucket that holds `burst` and fills up by `perSecond`: how often something may be done. */
export class Floodgate {
  readonly #burst: number;
  readonly #perSecond: number;
  #left: number;
  #at: number;

  constructor(
    { burst, perSecond }: { readonly burst: number; readonly perSecond: number },
    now: number,
  ) {
    this.#burst = burst;
    this.#perSecond = perSecond;
    this.#left = burst;
    this.#at = now;
  }

  /** Takes `cost` out; false once there is not so much in it. */
  pass(now: number, cost = 1): boolean {
    const filled = this.#left + ((now - this.#at) / 1000) * this.#perSecond;
    this.#left = Math.min(this.#burst, filled) - cost;
    this.#at = now;
    return this.#left >= 0;
  }
}
