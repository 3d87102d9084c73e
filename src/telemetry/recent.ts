import type { Exchange } from '../exchange/ports.ts';
import {
  type AttemptView,
  attemptFacts,
  attemptView,
  type EventView,
  endView,
  eventView,
  iso,
  requestView,
  stageView,
} from './event-view.ts';
import type { ProxyEvent } from './events.ts';
import { laneOf } from './lane-labels.ts';
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

/** A trail, before it is put into words. */
export interface KnownTrail extends Pick<TrailView, 'id' | 'lane' | 'client' | 'state'> {
  /** Epoch ms. */
  readonly startedAt: number;
  view(): TrailView;
}

/** The exchanges that run, those that ended lately, and a feed of all events in the form in which they are shown. */
export interface Recent {
  /** undefined: unknown, or forgotten. */
  trail(id: string): TrailView | undefined;
  /** Those under way. */
  open(): Iterable<KnownTrail>;
  /** Those that ended. */
  finished(): Iterable<KnownTrail>;
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
  readonly attempts: KeptAttempt[];
  attempted: number;
}

/** Hardly any of them is ever looked at: what can be put into words later is. */
interface KeptAttempt {
  view(): AttemptView;
  /** Of the texts in it that others choose the length of. */
  readonly chars: number;
}

interface KeptTrail extends KnownTrail {
  readonly attempts: readonly KeptAttempt[];
  readonly chars: number;
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
    if (event.type === 'attempt_finished') addAttempt(running, keptAttempt(event));
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
      return running ? underWay(running) : (troubled.get(id) ?? smooth.get(id))?.view();
    },
    *open() {
      for (const running of open.values()) yield known(running);
    },
    *finished() {
      yield* troubled.all();
      yield* smooth.all();
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function addAttempt(running: Open, attempt: KeptAttempt): void {
  running.attempted += 1;
  running.attempts.push(attempt);
  if (running.attempts.length > MOST_ATTEMPTS) running.attempts.shift();
}

const stateOf = ({ stage }: Exchange) => (WAITING.has(stage.kind) ? 'waiting' : 'running');

function known(running: Open): KnownTrail {
  const { exchange } = running;
  return {
    ...{ id: exchange.id, startedAt: exchange.startedAt, state: stateOf(exchange) },
    ...{ lane: laneOf(exchange), client: exchange.client.name },
    view: () => underWay(running),
  };
}

function underWay({ exchange, attempts, attempted }: Open): TrailView {
  const { stage } = exchange;
  return {
    ...headOf(requestView(exchange), exchange),
    state: stateOf(exchange),
    stage: { ...stageView(stage), explain: STAGES[stage.kind] },
    attempted,
    attempts: attempts.map((attempt) => attempt.view()),
    end: null,
  };
}

function keptAttempt(event: Extract<ProxyEvent, { type: 'attempt_finished' }>): KeptAttempt {
  const facts = attemptFacts(event);
  // Other evidence quotes the reply, and would hold on to all of it.
  if (facts.verdict.evidence.kind === 'status') return { chars: 0, view: () => attemptView(facts) };
  const view = attemptView(facts);
  return { chars: view.explain.length + sizeOf(view.evidence), view: () => view };
}

function over({ exchange, attempts, attempted }: Open, end: ReturnType<typeof endView>): KeptTrail {
  const request = requestView(exchange);
  const { startedAt, deadline } = exchange;
  const own = request.url.length + request.client.length + (request.session?.length ?? 0);
  return {
    ...{ id: exchange.id, lane: request.lane, client: request.client },
    ...{ state: 'done', startedAt, attempts },
    chars: attempts.reduce((sum, { chars }) => sum + chars, own),
    view: () => ({
      ...headOf(request, { startedAt, deadline }),
      ...{ state: 'done', stage: null, attempted, end },
      attempts: attempts.map((attempt) => attempt.view()),
    }),
  };
}

function headOf(
  { exchange: id, ...rest }: ReturnType<typeof requestView>,
  { startedAt, deadline }: Pick<Exchange, 'startedAt' | 'deadline'>,
): TrailHead {
  return { id, ...rest, started_at: iso(startedAt), deadline: iso(deadline) };
}

/** The newest trails; the oldest go when there are too many, or too many attempts among them. */
class Shelf {
  readonly #most: number;
  readonly #trails = new Map<string, KeptTrail>();
  #attempts = 0;
  #chars = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(trail: KeptTrail): void {
    this.#trails.set(trail.id, trail);
    this.#attempts += trail.attempts.length;
    this.#chars += trail.chars;
    for (const [id, oldest] of this.#trails) {
      if (this.#fits()) return;
      this.#trails.delete(id);
      this.#attempts -= oldest.attempts.length;
      this.#chars -= oldest.chars;
    }
  }

  get(id: string): KeptTrail | undefined {
    return this.#trails.get(id);
  }

  all(): Iterable<KeptTrail> {
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

const sizeOf = (facts: Readonly<Record<string, unknown>>): number =>
  Object.values(facts).reduce<number>((sum, fact) => sum + String(fact).length, 0);
