import type { Exchange } from '../exchange/ports.ts';
import {
  type AttemptView,
  attemptView,
  type EventView,
  endView,
  eventView,
  iso,
  requestView,
  stageView,
} from './event-view.ts';
import type { ProxyEvent } from './events.ts';
import { STAGES } from './log-lines.ts';

/** What happened to one exchange so far. */
export interface TrailView extends TrailHead {
  /** `waiting`: nothing of it is on the wire. */
  readonly state: 'waiting' | 'running' | 'done';
  /** What it is doing, or waits for, and until when if that is known; null when it is done. */
  readonly stage: StageView | null;
  /** Attempts in all; of a long trail only the newest are kept. */
  readonly attempted: number;
  readonly attempts: readonly AttemptView[];
  /** How it ended; null while it goes on. */
  readonly end: ReturnType<typeof endView> | null;
}

interface TrailHead {
  readonly id: string;
  readonly lane: string;
  readonly client: string;
  readonly session: string | null;
  readonly method: string;
  readonly url: string;
  readonly redrive: boolean;
  readonly started_at: string;
  /** When the client's patience ends. */
  readonly deadline: string;
}

type StageView = ReturnType<typeof stageView> & { readonly explain: string };

/** The exchanges that run, those that ended lately, and a feed of all events in the form in which they are shown. */
export interface Recent {
  /** undefined: unknown, or forgotten. */
  trail(id: string): TrailView | undefined;
  /** Those under way, the longest first. */
  open(): Iterable<TrailView>;
  /** Those that ended, the newest first. */
  finished(): readonly TrailView[];
  /** Until the returned function is called. */
  onEvent(listener: (view: EventView) => void): () => void;
}

/** Exchanges that ended well at once, and those that did not, are remembered apart: trouble is what is looked for. */
const MOST_SMOOTH = 500;
const MOST_TROUBLED = 1_500;
const MOST_ATTEMPTS = 50;
/** All together, so that the memory is bounded however long the trails are. */
const MOST_KEPT_ATTEMPTS = 10_000;
/** Of the texts that others choose the length of: URLs, sentences, evidence. */
const MOST_KEPT_CHARS = 8_000_000;

const WAITING: ReadonlySet<Exchange['stage']['kind']> = new Set([
  'queued',
  'paused',
  'pacing',
  'breaker',
  'backoff',
]);

interface Open {
  readonly exchange: Exchange;
  readonly attempts: AttemptView[];
  attempted: number;
}

/** Makes the memory, with the subscriber that fills it. */
export function createRecent(): Recent & { record(event: ProxyEvent): void } {
  const open = new Map<string, Open>();
  const smooth = new Shelf(MOST_SMOOTH);
  const troubled = new Shelf(MOST_TROUBLED);
  const listeners = new Set<(view: EventView) => void>();

  const track = (event: ProxyEvent): void => {
    if (!('exchange' in event)) return;
    const { exchange } = event;
    const running = open.get(exchange.id);
    if (event.type === 'exchange_started') {
      open.set(exchange.id, { exchange, attempts: [], attempted: 0 });
    }
    if (!running) return;
    if (event.type === 'attempt_finished') addAttempt(running, attemptView(event));
    if (event.type !== 'exchange_finished') return;
    open.delete(exchange.id);
    const isTroubled = running.attempted > 1 || event.delivery.stop !== undefined;
    (isTroubled ? troubled : smooth).add(over(running, endView(event)));
  };

  return {
    record(event) {
      track(event);
      if (listeners.size === 0) return;
      const view = eventView(event);
      for (const listener of listeners) listener(view);
    },
    trail(id) {
      const running = open.get(id);
      return running ? underWay(running) : (troubled.get(id) ?? smooth.get(id));
    },
    *open() {
      for (const running of open.values()) yield underWay(running);
    },
    finished: () =>
      [...troubled.all(), ...smooth.all()].sort((a, b) => (a.started_at < b.started_at ? 1 : -1)),
    onEvent(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function addAttempt(running: Open, attempt: AttemptView): void {
  running.attempted += 1;
  running.attempts.push(attempt);
  if (running.attempts.length > MOST_ATTEMPTS) running.attempts.shift();
}

function underWay({ exchange, attempts, attempted }: Open): TrailView {
  const { stage } = exchange;
  return {
    ...head(exchange),
    state: WAITING.has(stage.kind) ? 'waiting' : 'running',
    stage: { ...stageView(stage), explain: STAGES[stage.kind] },
    attempted,
    attempts: [...attempts],
    end: null,
  };
}

function over({ exchange, attempts, attempted }: Open, end: ReturnType<typeof endView>): TrailView {
  return { ...head(exchange), state: 'done', stage: null, attempted, attempts, end };
}

function head(exchange: Exchange): TrailHead {
  const { exchange: id, ...rest } = requestView(exchange);
  const { startedAt, deadline } = exchange;
  return { id, ...rest, started_at: iso(startedAt), deadline: iso(deadline) };
}

/** The newest trails; the oldest go when there are too many, or too many attempts among them. */
class Shelf {
  readonly #most: number;
  readonly #trails = new Map<string, TrailView>();
  #attempts = 0;
  #chars = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(trail: TrailView): void {
    this.#trails.set(trail.id, trail);
    this.#attempts += trail.attempts.length;
    this.#chars += charsOf(trail);
    for (const [id, oldest] of this.#trails) {
      if (this.#fits()) return;
      this.#trails.delete(id);
      this.#attempts -= oldest.attempts.length;
      this.#chars -= charsOf(oldest);
    }
  }

  get(id: string): TrailView | undefined {
    return this.#trails.get(id);
  }

  all(): Iterable<TrailView> {
    return this.#trails.values();
  }

  #fits(): boolean {
    return (
      this.#trails.size <= this.#most &&
      this.#attempts <= MOST_KEPT_ATTEMPTS &&
      this.#chars <= MOST_KEPT_CHARS
    );
  }
}

function charsOf({ url, session, client, attempts }: TrailView): number {
  const own = url.length + client.length + (session?.length ?? 0);
  return attempts.reduce(
    (sum, { explain, evidence }) => sum + explain.length + sizeOf(evidence),
    own,
  );
}

const sizeOf = (facts: Readonly<Record<string, unknown>>): number =>
  Object.values(facts).reduce<number>((sum, fact) => sum + String(fact).length, 0);
