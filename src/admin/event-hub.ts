import type { ServerResponse } from 'node:http';
import type { Clock } from '../clock.ts';
import type { EventView } from '../telemetry/event-view.ts';
import { EventRing, type Held } from './event-ring.ts';
import { LaneDeltas } from './lane-deltas.ts';
import type { LaneDesk } from './views.ts';

const MOST_SUBSCRIBERS = 256;
const HEARTBEAT_MS = 15_000;
const LANES_EVERY_MS = 1_000;
/** One that reads so much slower than things happen is let go; it may resume. */
const MOST_UNREAD_BYTES = 1024 * 1024;

interface Subscriber {
  readonly response: ServerResponse;
  /** Empty: all. */
  readonly types: ReadonlySet<string>;
}

/** Hands what happens to everybody who listens over server-sent events. */
export class EventHub {
  readonly #clock: Clock;
  readonly #ring: EventRing;
  readonly #deltas: LaneDeltas;
  readonly #subscribers = new Set<Subscriber>();
  #cancel = () => {};

  constructor(o: { clock: Clock; lanes: LaneDesk; boot: string }) {
    this.#clock = o.clock;
    this.#ring = new EventRing(o.boot);
    this.#deltas = new LaneDeltas(o.lanes);
  }

  get hasRoom(): boolean {
    return this.#subscribers.size < MOST_SUBSCRIBERS;
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Keeps an event for those who resume, and tells all who listen. */
  tell(view: EventView): void {
    const held = this.#ring.add(view);
    for (const subscriber of this.#subscribers) this.#send(subscriber, held);
  }

  /** Streams until the client leaves, or is let go for not reading. */
  subscribe(response: ServerResponse, o: { types: readonly string[]; after: string }): void {
    const subscriber = { response, types: new Set(o.types) };
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      // Buffers on the way would hold events back.
      'X-Accel-Buffering': 'no',
    });
    response.socket?.setTimeout(0);
    const { lastId } = this.#ring;
    const missed = this.#ring.after(o.after, MOST_UNREAD_BYTES / 2);
    // Without an id of its own where older events follow: a cut among them must not lose the rest.
    const isNew = missed.kind === 'gap' || missed.events.length === 0;
    response.write(`retry: 2000\n${message('hello', lastId, isNew ? lastId : undefined)}`);
    if (missed.kind === 'gap') {
      response.write(message('gap', { last_event_id: o.after }, lastId));
    } else for (const held of missed.events) this.#send(subscriber, held);
    if (this.#subscribers.size === 0) this.#begin();
    this.#subscribers.add(subscriber);
    response.once('close', () => this.#leave(subscriber));
  }

  /** Ends all streams. */
  close(): void {
    for (const { response } of this.#subscribers) response.end();
  }

  #send(subscriber: Subscriber, held: Held): void {
    const { types } = subscriber;
    if (types.size > 0 && !types.has(held.view.type)) return;
    this.#write(subscriber, held.text);
  }

  #write({ response }: Subscriber, text: string): void {
    if (response.destroyed) return;
    if (response.writableLength > MOST_UNREAD_BYTES) response.destroy();
    else response.write(text);
  }

  #begin(): void {
    this.#deltas.reset();
    let beatAt = this.#clock.now() + HEARTBEAT_MS;
    const tick = (): void => {
      const now = this.#clock.now();
      const changed = this.#deltas.changes();
      const text = changed && message('lanes', changed);
      const beats = now >= beatAt;
      if (beats) beatAt = now + HEARTBEAT_MS;
      for (const subscriber of this.#subscribers) {
        if (text && wants(subscriber, 'lanes')) this.#write(subscriber, text);
        // Its id tells those who listen to a few types only how far they are.
        if (beats) this.#write(subscriber, `: still here\nid: ${this.#ring.lastId}\n\n`);
      }
      this.#cancel = this.#clock.after(LANES_EVERY_MS, tick);
    };
    this.#cancel = this.#clock.after(LANES_EVERY_MS, tick);
  }

  #leave(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size === 0) this.#cancel();
  }
}

const wants = ({ types }: Subscriber, type: string): boolean => types.size === 0 || types.has(type);

/** One message of an event stream; JSON has no line ends of its own. */
function message(type: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}
