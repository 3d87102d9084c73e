import { byPlace, cursorAfter, pageLimit } from './cursor.ts';
import type { Letter, LetterNeed, NewLetter, Settlement } from './letter.ts';
import { MemoryLetters } from './memory-letters.ts';
import type { Outage } from './outage.ts';
import type {
  LetterCount,
  LetterPage,
  LetterQuery,
  Letters,
  Parked,
  StoredResponse,
} from './store.ts';

// Written in one go after an outage: the store below commits them together.
const WRITTEN_AT_ONCE = 100;

export interface FallbackBounds {
  /** Letters, endings and rows of the state that wait in memory, each. */
  readonly maxLetters: number;
  /** Their bodies and header fields, about; as much again for replies. */
  readonly maxBytes: number;
}

/** Letters over a store that may fail: what it would not take waits in memory. */
export class FallbackLetters implements Letters {
  readonly #inner: Letters;
  readonly #outage: Outage;
  readonly #bounds: FallbackBounds;
  readonly #memory: MemoryLetters;
  /** Keys whose open letter below is over, and redrives that have ended. */
  readonly #closed = new Map<string, number>();
  readonly #settled = new Map<string, Settlement>();
  #settledBytes = 0;
  /** Ids that clients were told, of letters that became part of an older one when they were written. */
  readonly #aliases = new Map<string, string>();

  constructor(inner: Letters, outage: Outage, bounds: FallbackBounds) {
    this.#inner = inner;
    this.#outage = outage;
    this.#bounds = bounds;
    this.#memory = new MemoryLetters(bounds);
  }

  get waiting(): number {
    return this.#memory.size + this.#closed.size + this.#settled.size;
  }

  async park(letter: NewLetter, body: Uint8Array | undefined): Promise<Parked> {
    return this.#outage.write(
      () => this.#inner.park(letter, body),
      () => this.#memory.park(letter, body),
    );
  }

  async get(id: string): Promise<Letter | undefined> {
    return (await this.#memory.get(id)) ?? this.#inner.get(this.#real(id));
  }

  async body(id: string): Promise<Uint8Array | undefined> {
    if (await this.#memory.get(id)) return this.#memory.body(id);
    return this.#inner.body(this.#real(id));
  }

  async response(id: string): Promise<StoredResponse | undefined> {
    return this.#inner.response(this.#real(id));
  }

  async list(query: LetterQuery): Promise<LetterPage> {
    if (this.#memory.size === 0) return this.#inner.list(query);
    const pages = [
      await this.#memory.list(query),
      await this.#outage.read(() => this.#inner.list(query), { items: [], next: undefined }),
    ];
    // The copy in memory is the newer one of a letter that is being written just now.
    const byId = new Map(pages.toReversed().flatMap(({ items }) => items.map((l) => [l.id, l])));
    const all = [...byId.values()].sort(byPlace);
    const items = all.slice(0, pageLimit(query.limit));
    const last = items.at(-1);
    const more = all.length > items.length || pages.some(({ next }) => next !== undefined);
    return { items, next: last && more ? cursorAfter(last) : undefined };
  }

  async counts(): Promise<readonly LetterCount[]> {
    if (this.#memory.size === 0) return this.#inner.counts();
    const counts = [
      ...(await this.#memory.counts()),
      ...(await this.#outage.read(() => this.#inner.counts(), [])),
    ];
    const alike = Map.groupBy(counts, ({ lane, state }) => JSON.stringify([lane, state]));
    return [...alike.values()].flatMap((group) => {
      const letters = group.reduce((sum, count) => sum + count.letters, 0);
      return group[0] ? [{ ...group[0], letters }] : [];
    });
  }

  /** Rejects during an outage: what a redrive brings could not be kept. */
  async due(now: number, limit: number): Promise<readonly Letter[]> {
    this.#outage.assertOver();
    return this.#inner.due(now, limit);
  }

  /** Rejects during an outage. */
  async nextDueAt(): Promise<number | undefined> {
    this.#outage.assertOver();
    return this.#inner.nextDueAt();
  }

  /** Rejects during an outage: a claim that is not written is none. */
  async claim(id: string, at: number, afterCrash?: LetterNeed): Promise<boolean> {
    this.#outage.assertOver();
    return this.#inner.claim(this.#real(id), at, afterCrash);
  }

  async settle(id: string, outcome: Settlement): Promise<boolean> {
    return this.#outage.write(
      () => this.#inner.settle(this.#real(id), outcome),
      async () => {
        this.#keepSettlement(this.#real(id), outcome);
        return true;
      },
    );
  }

  async close(key: string, at: number): Promise<string | undefined> {
    // First and at once: what is being written just now gets below before its end does, or not at all.
    const waiting = this.#memory.forget(key);
    try {
      // During an outage too: most successes close nothing, and that a full disk can tell as well.
      return (await this.#inner.close(key, at)) ?? waiting;
    } catch (error) {
      this.#outage.begin(error);
      remember(this.#closed, key, at, this.#bounds.maxLetters);
      return waiting;
    }
  }

  /** Rejects during an outage: nothing is redriven then anyway. */
  async putOff(host: string, dueAt: number): Promise<number> {
    this.#outage.assertOver();
    return this.#inner.putOff(host, dueAt);
  }

  /** Those that wait in memory are told too; one that is below as well may be told twice. */
  async *openKeys(): AsyncGenerator<readonly string[]> {
    yield* this.#memory.openKeys();
    yield* this.#inner.openKeys();
  }

  async drop(ids: readonly string[]): Promise<number> {
    const below = ids.filter((id) => this.#memory.peek(id) === undefined);
    const dropped = await this.#memory.drop(ids);
    if (below.length === 0) return dropped;
    return dropped + (await this.#inner.drop(below.map((id) => this.#real(id))));
  }

  async sweep(now: number): Promise<number> {
    const swept = await this.#memory.sweep(now);
    return (
      swept +
      (await this.#outage.write(
        () => this.#inner.sweep(now),
        async () => 0,
      ))
    );
  }

  /** Writes what waits, once. Rejects when the store below fails again; how many letters were written. */
  async flush(): Promise<number> {
    for (const [key, at] of this.#closed) {
      await this.#inner.close(key, at);
      if (this.#closed.get(key) === at) this.#closed.delete(key);
    }
    for (const [id, outcome] of this.#settled) {
      await this.#inner.settle(id, outcome);
      this.#forgetSettlement(id);
    }
    let written = 0;
    for (;;) {
      const { items } = await this.#memory.list({ limit: WRITTEN_AT_ONCE });
      if (items.length === 0) return written;
      await Promise.all(items.map((letter) => this.#write(letter)));
      written += items.length;
    }
  }

  async #write(letter: Letter): Promise<void> {
    const body = await this.#memory.body(letter.id);
    if (this.#memory.peek(letter.id) !== letter) return;
    const { id } = await this.#inner.park(asNew(letter), body);
    if (id !== letter.id) remember(this.#aliases, letter.id, id, this.#bounds.maxLetters);
    const now = this.#memory.peek(letter.id);
    if (now === letter) await this.#memory.drop([letter.id]);
    // Dropped meanwhile; one that was parked again stays for the next round.
    if (now === undefined && id === letter.id) await this.#inner.drop([id]);
  }

  #keepSettlement(id: string, outcome: Settlement): void {
    this.#forgetSettlement(id);
    const bytes = sizeOf(outcome);
    const fits = this.#settledBytes + bytes <= this.#bounds.maxBytes;
    // Better an ending without its reply than none: the letter would be sent again.
    const kept = fits || outcome.to !== 'done' ? outcome : { ...outcome, response: undefined };
    this.#settledBytes += sizeOf(kept);
    remember(this.#settled, id, kept, this.#bounds.maxLetters);
  }

  #forgetSettlement(id: string): void {
    const before = this.#settled.get(id);
    if (before) this.#settledBytes -= sizeOf(before);
    this.#settled.delete(id);
  }

  #real(id: string): string {
    return this.#aliases.get(id) ?? id;
  }
}

function asNew({ updatedAt, ...letter }: Letter): NewLetter {
  const { body, redrives, response, ...rest } = letter;
  return { ...rest, state: letter.state === 'needs_client' ? 'needs_client' : 'parked' };
}

function sizeOf(outcome: Settlement): number {
  return outcome.to === 'done' ? (outcome.response?.body.byteLength ?? 0) : 0;
}

/** A map that forgets its oldest entry rather than grow beyond `most`. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
