import type { EventView } from '../telemetry/event-view.ts';

const MOST_EVENTS = 2_000;

/** An event with its place in the order. */
export class Held {
  readonly id: string;
  readonly view: EventView;
  #text: string | undefined;

  constructor(id: string, view: EventView) {
    this.id = id;
    this.view = view;
  }

  /** As a message of an event stream; written once, however many read it. */
  get text(): string {
    this.#text ??= `id: ${this.id}\nevent: ${this.view.type}\ndata: ${JSON.stringify(this.view)}\n\n`;
    return this.#text;
  }
}

/** What a client that comes back has missed. */
export type Missed =
  | { readonly kind: 'events'; readonly events: readonly Held[] }
  /** More than is remembered, or of another process: what it shows is to be asked for anew. */
  | { readonly kind: 'gap' };

/** The newest events. Their ids name the process, since numbers begin anew with each. */
export class EventRing {
  readonly #boot: string;
  readonly #ring: Held[] = [];
  #count = 0;

  constructor(boot: string) {
    this.#boot = boot;
  }

  get lastId(): string {
    return `${this.#boot}-${this.#count}`;
  }

  add(view: EventView): Held {
    this.#count += 1;
    const held = new Held(this.lastId, view);
    this.#ring[this.#count % MOST_EVENTS] = held;
    return held;
  }

  /** What came after an id; nothing for a client that is new. More than it can be sent at once is a gap, too. */
  after(id: string, mostBytes: number): Missed {
    if (id === '') return { kind: 'events', events: [] };
    const [, boot, digits] = /^(.+)-(\d{1,15})$/.exec(id) ?? [];
    const last = Number(digits);
    const missed = this.#count - last;
    if (boot !== this.#boot || missed < 0 || missed > Math.min(MOST_EVENTS, this.#count)) {
      return { kind: 'gap' };
    }
    const events = Array.from(
      { length: missed },
      (_, i) => this.#ring[(last + 1 + i) % MOST_EVENTS],
    );
    const found = events.filter((held) => held !== undefined);
    const bytes = found.reduce((sum, { text }) => sum + text.length, 0);
    return bytes > mostBytes ? { kind: 'gap' } : { kind: 'events', events: found };
  }
}
