import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/clock.ts';
import { sleepOn } from '../../src/clock.ts';

interface Timer {
  readonly at: number;
  /** Timers due at the same instant run in the order they were set. */
  readonly order: number;
  readonly action: () => void;
}

/** A Clock that stands still until a test winds it. */
export class FakeClock implements Clock {
  #now: number;
  #set = 0;
  readonly #timers: Timer[] = [];
  readonly #live = new Set<Timer>();

  constructor(startAt = Date.UTC(2026, 0, 1)) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    if (Number.isNaN(ms)) throw new RangeError('a timer of NaN milliseconds');
    this.#set += 1;
    const timer = { at: this.#now + Math.max(0, ms), order: this.#set, action };
    this.#live.add(timer);
    push(this.#timers, timer);
    return () => {
      this.#live.delete(timer);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<'elapsed' | 'aborted'> {
    return sleepOn(this, ms, signal);
  }

  /** Timers that are set and not yet run or cancelled. */
  get pending(): number {
    return this.#live.size;
  }

  /** When the next timer is due, if there is one. */
  get nextAt(): number | undefined {
    return this.#peek()?.at;
  }

  /** Winds on by `ms`: due timers run in order, each at its own instant, and what they wake runs before the next. */
  async advance(ms: number): Promise<void> {
    await this.advanceTo(this.#now + ms);
  }

  /** Winds on to an instant; see `advance`. */
  async advanceTo(at: number): Promise<void> {
    await flush();
    for (let timer = this.#peek(); timer && timer.at <= at; timer = this.#peek()) {
      await this.#run(timer);
    }
    this.#now = Math.max(this.#now, at);
    await flush();
  }

  /** Winds on from timer to timer until none is left; throws when there is no end of them. */
  async runAll(limit = 100_000): Promise<void> {
    await flush();
    for (let timer = this.#peek(); timer; timer = this.#peek()) {
      limit -= 1;
      if (limit < 0) throw new Error('timers keep setting timers');
      await this.#run(timer);
    }
  }

  async #run(timer: Timer): Promise<void> {
    pop(this.#timers);
    this.#live.delete(timer);
    this.#now = Math.max(this.#now, timer.at);
    timer.action();
    await flush();
  }

  #peek(): Timer | undefined {
    for (let first = this.#timers[0]; first; first = this.#timers[0]) {
      if (this.#live.has(first)) return first;
      pop(this.#timers);
    }
    return undefined;
  }
}

/** Lets everything run that is ready to: promise callbacks, ticks and immediates. */
export async function flush(): Promise<void> {
  await nextTurn();
}

/** Fair dice for tests: the same seed gives the same rolls (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function before(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

function push(heap: Timer[], timer: Timer): void {
  let at = heap.length;
  while (at > 0) {
    const up = (at - 1) >> 1;
    const parent = heap[up] as Timer;
    if (!before(timer, parent)) break;
    heap[at] = parent;
    at = up;
  }
  heap[at] = timer;
}

function pop(heap: Timer[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    const left = heap[child];
    const right = heap[child + 1];
    if (!left) break;
    const least = right && before(right, left) ? right : left;
    if (least === right) child += 1;
    if (!before(least, last)) break;
    heap[at] = least;
    at = child;
  }
  heap[at] = last;
}
