import { type MemoryBounds, MemoryLetters } from './memory-letters.ts';
import { type Json, type Rows, type State, type Store, StoreError } from './store.ts';

/** A store that forgets everything when the process ends. */
export function createMemoryStore(bounds: MemoryBounds): Store {
  const letters = new MemoryLetters(bounds);
  const state = new MemoryState();
  return {
    letters,
    state,
    recovered: 0,
    close: async () => {
      letters.end();
      state.end();
    },
  };
}

class MemoryState implements State {
  readonly #documents = new Map<string, string>();
  readonly #tables = new Map<string, Map<string, string>>();
  #ended = false;

  end(): void {
    this.#ended = true;
    this.#documents.clear();
    this.#tables.clear();
  }

  async save(name: string, value: Json): Promise<void> {
    this.#live();
    this.#documents.set(name, JSON.stringify(value));
  }

  async load(name: string): Promise<Json | undefined> {
    this.#live();
    const text = this.#documents.get(name);
    return text === undefined ? undefined : JSON.parse(text);
  }

  rows(name: string): Rows {
    const table = this.#tables.get(name) ?? new Map<string, string>();
    this.#tables.set(name, table);
    return {
      put: async (key, value) => {
        this.#live();
        table.set(key, JSON.stringify(value));
      },
      delete: async (key) => {
        this.#live();
        table.delete(key);
      },
      entries: async () => {
        this.#live();
        const ordered = [...table].sort(([a], [b]) =>
          Buffer.compare(Buffer.from(a), Buffer.from(b)),
        );
        return ordered.map(([key, text]) => [key, JSON.parse(text)] as const);
      },
    };
  }

  #live(): void {
    if (this.#ended) throw new StoreError('closed', 'the store is closed');
  }
}
