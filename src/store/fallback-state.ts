import type { Outage } from './outage.ts';
import { type Json, type Rows, type State, StoreError } from './store.ts';

/** State over a store that may fail: the newest values wait in memory. */
export class FallbackState implements State {
  readonly #inner: State;
  readonly #outage: Outage;
  readonly #maxRows: number;
  readonly #documents = new Map<string, Json>();
  /** By table; undefined is a row to be deleted. */
  readonly #tables = new Map<string, Map<string, Json | undefined>>();

  constructor(inner: State, outage: Outage, maxRows: number) {
    this.#inner = inner;
    this.#outage = outage;
    this.#maxRows = maxRows;
  }

  get waiting(): number {
    return this.#documents.size + this.#rows;
  }

  async save(name: string, value: Json): Promise<void> {
    return this.#outage.write(
      () => this.#inner.save(name, value),
      async () => {
        this.#documents.set(name, structuredClone(value));
      },
    );
  }

  async load(name: string): Promise<Json | undefined> {
    if (this.#documents.has(name)) return this.#documents.get(name);
    return this.#inner.load(name);
  }

  rows(name: string): Rows {
    const inner = this.#inner.rows(name);
    return {
      put: (key, value) =>
        this.#outage.write(
          () => inner.put(key, value),
          async () => this.#keep(name, key, value),
        ),
      delete: (key) =>
        this.#outage.write(
          () => inner.delete(key),
          async () => this.#keep(name, key, undefined),
        ),
      entries: async () => this.#merged(name, await this.#outage.read(() => inner.entries(), [])),
    };
  }

  /** Writes what waits, once. Rejects when the store below fails again. */
  async flush(): Promise<void> {
    for (const [name, value] of this.#documents) {
      await this.#inner.save(name, value);
      if (this.#documents.get(name) === value) this.#documents.delete(name);
    }
    for (const [name, table] of this.#tables) {
      const inner = this.#inner.rows(name);
      const written = [...table].map(async ([key, value]) => {
        await (value === undefined ? inner.delete(key) : inner.put(key, value));
        if (table.get(key) === value) table.delete(key);
      });
      await Promise.all(written);
    }
  }

  get #rows(): number {
    return [...this.#tables.values()].reduce((sum, table) => sum + table.size, 0);
  }

  #keep(name: string, key: string, value: Json | undefined): void {
    const table = this.#tables.get(name) ?? new Map<string, Json | undefined>();
    if (!table.has(key) && this.#rows >= this.#maxRows) {
      throw new StoreError('no_room', `no more room in memory for rows of ${name}`);
    }
    table.set(key, structuredClone(value));
    this.#tables.set(name, table);
  }

  #merged(name: string, stored: readonly (readonly [string, Json])[]) {
    const waiting = this.#tables.get(name);
    if (!waiting || waiting.size === 0) return stored;
    const merged = new Map<string, Json | undefined>([...stored, ...waiting]);
    return [...merged]
      .flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const]))
      .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  }
}
