import { isOutage, type StoreError } from './store.ts';

/** How the store is. `degraded`: it takes no writes, and what is lost if the process dies now waits in memory. */
export type StoreHealth =
  /** `written`: letters that waited in memory and are on disk now. */
  | { readonly state: 'healthy'; readonly written: number }
  | { readonly state: 'degraded'; readonly error: StoreError };

/** Whether the store below works; told once per change. */
export class Outage {
  readonly #onHealth: (health: StoreHealth) => void;
  #health: StoreHealth = { state: 'healthy', written: 0 };

  constructor(onHealth: (health: StoreHealth) => void) {
    this.#onHealth = onHealth;
  }

  get health(): StoreHealth {
    return this.#health;
  }

  /** Begins an outage, if this error is one; any other error is thrown on. */
  begin(error: unknown): void {
    if (!isOutage(error)) throw error;
    if (this.#health.state === 'degraded') return;
    this.#health = { state: 'degraded', error };
    this.#onHealth(this.#health);
  }

  end(written: number): void {
    this.#health = { state: 'healthy', written };
    this.#onHealth(this.#health);
  }

  /** Throws the error that began the outage, if there is one. */
  assertOver(): void {
    if (this.#health.state === 'degraded') throw this.#health.error;
  }

  /** Writes below; where that fails, and until all that waits is written, does the other thing. */
  async write<T>(below: () => Promise<T>, instead: () => Promise<T>): Promise<T> {
    if (this.#health.state === 'healthy') {
      try {
        return await below();
      } catch (error) {
        this.begin(error);
      }
    }
    return instead();
  }

  /** Reads below; during an outage that reaches reading too, there is only what waits in memory. */
  async read<T>(below: () => Promise<T>, without: T): Promise<T> {
    try {
      return await below();
    } catch (error) {
      if (this.#health.state === 'degraded' && isOutage(error)) return without;
      throw error;
    }
  }
}
