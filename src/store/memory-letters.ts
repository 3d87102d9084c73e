import { byPlace, cursorAfter, pageLimit, readCursor } from './cursor.ts';
import { FairTurns } from './fair-turns.ts';
import type { Letter, LetterNeed, NewLetter, Settlement } from './letter.ts';
import {
  claimed,
  firstParked,
  OPEN_STATES,
  parkedAgain,
  settledAs,
  storedPart,
} from './letter-changes.ts';
import {
  type LetterCount,
  type LetterPage,
  type LetterQuery,
  type Letters,
  type Parked,
  type StoredResponse,
  StoreError,
} from './store.ts';

export interface MemoryBounds {
  readonly maxLetters: number;
  /** Bodies and header fields of all letters together, about. */
  readonly maxBytes: number;
}

interface Held {
  readonly letter: Letter;
  readonly body: Uint8Array | undefined;
  readonly response: Uint8Array | undefined;
  readonly bytes: number;
}

/** Dead letters in memory, within bounds. */
export class MemoryLetters implements Letters {
  readonly #bounds: MemoryBounds;
  readonly #held = new Map<string, Held>();
  readonly #openByKey = new Map<string, string>();
  readonly #turns = new FairTurns();
  #bytes = 0;
  #ended = false;

  constructor(bounds: MemoryBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#held.size;
  }

  /** The letter itself, at once. */
  peek(id: string): Letter | undefined {
    return this.#held.get(id)?.letter;
  }

  /** Removes the open letter with this key, at once. Its id, if there was one. */
  forget(key: string): string | undefined {
    const id = this.#openByKey.get(key);
    if (id !== undefined) this.#remove(id);
    return id;
  }

  end(): void {
    this.#ended = true;
    this.#held.clear();
    this.#openByKey.clear();
    this.#bytes = 0;
  }

  async park(letter: NewLetter, body: Uint8Array | undefined): Promise<Parked> {
    this.#live();
    const sameId = this.#held.get(letter.id);
    if (sameId && !isOpen(sameId.letter)) return parkedAs(sameId.letter);
    const open = sameId ?? this.#held.get(this.#openByKey.get(letter.key) ?? '');
    const kept = body === undefined ? 'lost' : 'kept';
    const next = open ? parkedAgain(open.letter, letter, kept) : firstParked(letter, kept);
    this.#put(next, body && new Uint8Array(body), undefined);
    return parkedAs(next);
  }

  async get(id: string): Promise<Letter | undefined> {
    this.#live();
    return this.#held.get(id)?.letter;
  }

  async body(id: string): Promise<Uint8Array | undefined> {
    this.#live();
    return this.#held.get(id)?.body;
  }

  async response(id: string): Promise<StoredResponse | undefined> {
    this.#live();
    const held = this.#held.get(id);
    const meta = held?.letter.response;
    return meta && { ...meta, body: held.response ?? new Uint8Array() };
  }

  async list(query: LetterQuery): Promise<LetterPage> {
    this.#live();
    const after = query.cursor === undefined ? undefined : readCursor(query.cursor);
    const found = this.#all()
      .filter((letter) => matches(letter, query))
      .filter((letter) => after === undefined || byPlace(after, letter) < 0)
      .sort(byPlace);
    const items = found.slice(0, pageLimit(query.limit));
    const last = items.at(-1);
    return { items, next: last && found.length > items.length ? cursorAfter(last) : undefined };
  }

  async counts(): Promise<readonly LetterCount[]> {
    this.#live();
    const lanes = Map.groupBy(this.#all(), (letter) => letter.lane);
    return [...lanes].flatMap(([lane, letters]) => {
      const states = Map.groupBy(letters, (letter) => letter.state);
      return [...states].map(([state, { length }]) => ({ lane, state, letters: length }));
    });
  }

  async due(now: number, limit: number): Promise<readonly Letter[]> {
    this.#live();
    const candidates = this.#parked().filter((letter) => letter.dueAt <= now);
    return this.#turns
      .pick(candidates, limit)
      .flatMap(({ id }) => this.#held.get(id)?.letter ?? []);
  }

  async nextDueAt(): Promise<number | undefined> {
    this.#live();
    return this.#parked().reduce<number | undefined>(
      (first, { dueAt }) => (first === undefined ? dueAt : Math.min(first, dueAt)),
      undefined,
    );
  }

  async claim(id: string, at: number, afterCrash?: LetterNeed): Promise<boolean> {
    this.#live();
    const held = this.#held.get(id);
    if (held?.letter.state !== 'parked' && held?.letter.state !== 'needs_client') return false;
    this.#put(claimed(held.letter, at, afterCrash), held.body, undefined);
    return true;
  }

  async settle(id: string, outcome: Settlement): Promise<boolean> {
    this.#live();
    const held = this.#held.get(id);
    if (held?.letter.state !== 'redriving') return false;
    const reply = outcome.to === 'done' && outcome.response;
    const response = reply ? new Uint8Array(storedPart(reply)) : undefined;
    this.#put(settledAs(held.letter, outcome), held.body, response);
    return true;
  }

  async close(key: string, at: number): Promise<string | undefined> {
    this.#live();
    const held = this.#held.get(this.#openByKey.get(key) ?? '');
    if (!held) return undefined;
    this.#put({ ...held.letter, state: 'done', updatedAt: at }, held.body, undefined);
    return held.letter.id;
  }

  async putOff(host: string, dueAt: number): Promise<number> {
    this.#live();
    const early = this.#parked().filter((letter) => letter.host === host && letter.dueAt < dueAt);
    for (const letter of early) {
      const held = this.#held.get(letter.id);
      this.#put({ ...letter, dueAt }, held?.body, held?.response);
    }
    return early.length;
  }

  async *openKeys(): AsyncGenerator<readonly string[]> {
    this.#live();
    yield [...this.#openByKey.keys()];
  }

  async drop(ids: readonly string[]): Promise<number> {
    this.#live();
    return ids.filter((id) => this.#remove(id)).length;
  }

  async sweep(now: number): Promise<number> {
    this.#live();
    return this.drop(
      this.#all()
        .filter(({ keepUntil, state }) => keepUntil <= now && state !== 'redriving')
        .map(({ id }) => id),
    );
  }

  #live(): void {
    if (this.#ended) throw new StoreError('closed', 'the store is closed');
  }

  #all(): Letter[] {
    return [...this.#held.values()].map(({ letter }) => letter);
  }

  #parked(): Letter[] {
    return this.#all().filter(({ state }) => state === 'parked');
  }

  #put(letter: Letter, body: Uint8Array | undefined, response: Uint8Array | undefined): void {
    if (![letter.parkedAt, letter.dueAt, letter.keepUntil].every(Number.isFinite)) {
      throw new StoreError('invalid', `letter ${letter.id} has a time that is none`);
    }
    const before = this.#held.get(letter.id);
    const bytes = weight(letter) + (body?.byteLength ?? 0) + (response?.byteLength ?? 0);
    const total = this.#bytes - (before?.bytes ?? 0) + bytes;
    const grows = bytes > (before?.bytes ?? 0);
    if (grows && (total > this.#bounds.maxBytes || (!before && this.#full))) {
      throw new StoreError(
        'no_room',
        `no more room for dead letters in memory: ${this.#held.size} letters, ${this.#bytes} bytes`,
      );
    }
    this.#bytes = total;
    this.#held.set(letter.id, { letter, body, response, bytes });
    if (isOpen(letter)) this.#openByKey.set(letter.key, letter.id);
    else if (this.#openByKey.get(letter.key) === letter.id) this.#openByKey.delete(letter.key);
  }

  get #full(): boolean {
    return this.#held.size >= this.#bounds.maxLetters;
  }

  #remove(id: string): boolean {
    const held = this.#held.get(id);
    if (!held) return false;
    this.#bytes -= held.bytes;
    if (this.#openByKey.get(held.letter.key) === id) this.#openByKey.delete(held.letter.key);
    return this.#held.delete(id);
  }
}

const isOpen = ({ state }: Letter): boolean => OPEN_STATES.includes(state);
const parkedAs = ({ id, count }: Letter): Parked => ({ id, count, kept: 'memory' });

function matches(letter: Letter, query: LetterQuery): boolean {
  const wanted = ['state', 'lane', 'host', 'reason', 'session'] as const;
  return (
    wanted.every((field) => query[field] === undefined || query[field] === letter[field]) &&
    (query.olderThan === undefined || letter.parkedAt < query.olderThan) &&
    (query.newerThan === undefined || letter.parkedAt > query.newerThan)
  );
}

/** Roughly what a letter takes, less bodies. */
function weight(letter: Letter): number {
  const texts = letter.rawHeaders.reduce((sum, { length }) => sum + length, 0);
  return 500 + letter.url.length + texts + 300 * letter.attempts.length;
}
