import type { Admission, Exchange } from '../exchange/ports.ts';
import { Heap, type Place } from './heap.ts';

/** One exchange that waits for its turn. */
export interface Waiter {
  readonly exchange: Exchange;
  /** Hash of the credentials it carries. */
  readonly credential: string | undefined;
  /** Arrival number, for those that began in the same millisecond. */
  readonly order: number;
  /** Whether it was sent before: it comes back for another try. */
  readonly returning: boolean;
  settle(admission: Admission): void;
}

interface Line {
  readonly client: string;
  readonly heap: Heap<Waiter>;
  /** When the youngest exchange that ever joined this line began. */
  youngestAt: number;
}

/**
 * Waiting exchanges, released in turn across clients, and the oldest exchange first within one:
 * a retry goes before what its client began later, and no client can crowd out another. Redrives
 * have lines of their own behind all of these: nobody waits for them.
 */
export class FairQueue {
  /** In order of their turns. */
  readonly #lines = new Map<string, Line>();
  readonly #behind = new Map<string, Line>();
  #redrives = 0;
  readonly #places = new Map<Waiter, { readonly line: Line; readonly place: Place<Waiter> }>();

  get size(): number {
    return this.#places.size;
  }

  /** How many wait whom somebody waits for. */
  get live(): number {
    return this.size - this.#redrives;
  }

  waiters(): IterableIterator<Waiter> {
    return this.#places.keys();
  }

  add(waiter: Waiter): void {
    const client = waiter.exchange.client.name;
    const lines = this.#linesOf(waiter.exchange);
    const line = lines.get(client) ?? open(client, lines);
    line.youngestAt = Math.max(line.youngestAt, waiter.exchange.startedAt);
    if (lines === this.#behind) this.#redrives += 1;
    this.#places.set(waiter, { line, place: line.heap.add(waiter) });
  }

  /** Whose turn it is. */
  peek(): Waiter | undefined {
    return this.#first?.heap.peek()?.value;
  }

  /** Takes out whose turn it is, and passes the turn on to the next client. */
  take(): Waiter | undefined {
    const line = this.#first;
    const waiter = line?.heap.peek()?.value;
    if (!line || !waiter) return undefined;
    const lines = this.#linesOf(waiter.exchange);
    this.remove(waiter);
    if (lines.delete(line.client)) lines.set(line.client, line);
    return waiter;
  }

  remove(waiter: Waiter): boolean {
    const found = this.#places.get(waiter);
    if (!found) return false;
    this.#places.delete(waiter);
    found.line.heap.remove(found.place);
    const lines = this.#linesOf(waiter.exchange);
    if (found.line.heap.size === 0) lines.delete(found.line.client);
    if (lines === this.#behind) this.#redrives -= 1;
    return true;
  }

  /** How many will be released before a newcomer, at the least. */
  ahead(exchange: Exchange): number {
    // Behind all who are here now; who comes later goes first too, which nobody can know.
    if (exchange.priority === 'redrive') return this.size;
    const own = this.#lines.get(exchange.client.name);
    if (!own) return this.#served(1);
    // An exchange older than others of its client goes before some of them; how many is not worth a search.
    if (exchange.startedAt < own.youngestAt) return 0;
    return own.heap.size + this.#served(own.heap.size, own);
  }

  /** How many of the other lines' waiters have gone when each line had `turns`; counts a bounded number of lines. */
  #served(turns: number, except?: Line): number {
    let served = 0;
    let counted = 0;
    for (const line of this.#lines.values()) {
      if (line !== except) served += Math.min(turns, line.heap.size);
      counted += 1;
      if (counted === COUNTED_LINES) break;
    }
    return served;
  }

  get #first(): Line | undefined {
    return this.#lines.values().next().value ?? this.#behind.values().next().value;
  }

  #linesOf({ priority }: Exchange): Map<string, Line> {
    return priority === 'redrive' ? this.#behind : this.#lines;
  }
}

function open(client: string, lines: Map<string, Line>): Line {
  const line = { client, heap: new Heap<Waiter>(isBefore), youngestAt: Number.NEGATIVE_INFINITY };
  lines.set(client, line);
  return line;
}

const COUNTED_LINES = 64;

function isBefore(a: Waiter, b: Waiter): boolean {
  const ages = a.exchange.startedAt - b.exchange.startedAt;
  return ages === 0 ? a.order < b.order : ages < 0;
}
