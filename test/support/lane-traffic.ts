import { Readable } from 'node:stream';
import type { Stop } from '../../src/core/action.ts';
import type { Policy } from '../../src/core/policy.ts';
import type { Verdict } from '../../src/core/verdict.ts';
import type { Admission, Exchange, Lane, Route } from '../../src/exchange/ports.ts';
import { createLanes, type Lanes, type LanesOptions } from '../../src/lanes/lanes.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { FakeClock, seededRandom } from './fake-clock.ts';

export type Admitted = Extract<Admission, { kind: 'admitted' }>;
export type Refused = Extract<Admission, { kind: 'refused' }>;

/** The parts of a policy that lanes look at. */
export type LanePolicy = Pick<
  Policy,
  'backoff' | 'budget' | 'byteBudget' | 'breaker' | 'pace' | 'timeouts' | 'authFuse' | 'probe'
>;

const DEFAULTS: LanePolicy = {
  backoff: { baseMs: 1_000, factor: 2, capMs: 60_000, jitter: 'full', count: 'attempts' },
  budget: { ratio: 0.1, floorPerMinute: 6, windowMs: 60_000 },
  byteBudget: { perDay: null },
  breaker: {
    failureRatio: 0.5,
    minAttempts: 5,
    consecutive: 7,
    windowMs: 30_000,
    cooldownMs: 30_000,
    maxCooldownMs: 600_000,
    probes: 3,
    whenOpen: 'auto',
  },
  pace: { delay: { minMs: 0, maxMs: 0 }, concurrency: 32, ratePerSecond: null, queue: 1_000 },
  timeouts: {
    connectMs: 10_000,
    firstByteMs: 30_000,
    idleMs: 30_000,
    sniffMs: 1_000,
    lingerMs: 5_000,
  },
  authFuse: 3,
  probe: null,
};

export interface Ask {
  readonly host?: string;
  readonly client?: string;
  readonly path?: string;
  readonly headers?: readonly string[];
  readonly patienceMs?: number;
  readonly laneKey?: string;
  readonly policy?: { readonly [K in keyof LanePolicy]?: Partial<LanePolicy[K]> | null };
}

/** One exchange asking for a place: what became of it is known once the clock was wound or flushed. */
export interface Asked {
  readonly exchange: Exchange;
  readonly lane: Lane;
  readonly abort: () => void;
  /** Asks (again); `answer` is the last answer, undefined while it waits. */
  readonly admit: () => Promise<Admission>;
  answer: Admission | undefined;
  /** `waiting`, `admitted`, or why it was refused. */
  readonly state: 'waiting' | 'admitted' | Stop;
  /** The place; throws when it has none. */
  readonly place: Admitted;
  /** The refusal; throws when there is none. */
  readonly refusal: Refused;
  /** Reports the verdict and lets the place go. */
  readonly finish: (verdict: Verdict, routeId?: string) => void;
}

/** Lanes on a clock wound by hand, and exchanges to send through them. */
export class Traffic {
  readonly clock: FakeClock;
  readonly events: ProxyEvent[] = [];
  readonly lanes: Lanes;
  #ids = 0;

  constructor(options: Partial<LanesOptions> & { readonly clock?: FakeClock } = {}) {
    this.clock = options.clock ?? new FakeClock();
    this.lanes = createLanes({
      random: seededRandom(7),
      emit: (event) => this.events.push(event),
      ...options,
      clock: this.clock,
    });
  }

  /** Makes an exchange that has not asked yet. */
  make(ask: Ask = {}): Asked {
    this.#ids += 1;
    const stop = new AbortController();
    const exchange = exchangeOf(ask, `x${this.#ids}`, this.clock.now(), stop.signal);
    const lane = this.lanes.laneFor(exchange, ask.laneKey);
    return new Asking(exchange, lane, stop);
  }

  /** Makes an exchange and asks for a place. */
  ask(ask: Ask = {}): Asked {
    const asked = this.make(ask);
    void asked.admit();
    return asked;
  }

  askMany(count: number, ask: Ask = {}): Asked[] {
    return Array.from({ length: count }, () => this.ask(ask));
  }

  /** Opens a lane all the way, so that a test may start from one in full swing. */
  async warmUp(ask: Ask = {}, rounds = 40): Promise<void> {
    for (let i = 0; i < rounds; i += 1) {
      const asked = this.ask(ask);
      await this.clock.advance(0);
      asked.finish(ok);
    }
  }

  eventsOf<T extends ProxyEvent['type']>(type: T): Extract<ProxyEvent, { type: T }>[] {
    return this.events.filter((e): e is Extract<ProxyEvent, { type: T }> => e.type === type);
  }
}

class Asking implements Asked {
  readonly exchange: Exchange;
  readonly lane: Lane;
  readonly abort: () => void;
  answer: Admission | undefined;

  constructor(exchange: Exchange, lane: Lane, stop: AbortController) {
    this.exchange = exchange;
    this.lane = lane;
    this.abort = () => stop.abort();
  }

  readonly admit = async (): Promise<Admission> => {
    this.answer = undefined;
    const answer = await this.lane.admit(this.exchange);
    this.answer = answer;
    return answer;
  };

  get state(): 'waiting' | 'admitted' | Stop {
    if (!this.answer) return 'waiting';
    return this.answer.kind === 'admitted' ? 'admitted' : this.answer.stop;
  }

  get place(): Admitted {
    if (this.answer?.kind === 'admitted') return this.answer;
    throw new Error(`no place but ${JSON.stringify(this.answer)}`);
  }

  get refusal(): Refused {
    if (this.answer?.kind === 'refused') return this.answer;
    throw new Error(`no refusal but ${this.answer?.kind}`);
  }

  readonly finish = (verdict: Verdict, routeId = 'direct'): void => {
    const { place, exchange } = this;
    this.lane.record({ exchange, admission: place, verdict, route: routeOf(routeId) });
    place.release();
  };
}

export const startedOnes = (asked: readonly Asked[]): Asked[] =>
  asked.filter((one) => one.state === 'admitted');

export const states = (asked: readonly Asked[]): Asked['state'][] => asked.map((one) => one.state);

const status = (code: number) => ({ kind: 'status', status: code }) as const;

export const ok: Verdict = { fault: 'none', reason: 'ok', evidence: status(200) };
export const notFound: Verdict = { fault: 'client', reason: 'not_found', evidence: status(404) };
export const unauthorized: Verdict = {
  fault: 'client',
  reason: 'unauthorized',
  evidence: status(401),
};
export const overloaded: Verdict = {
  fault: 'host',
  kind: 'transient',
  reason: 'overloaded',
  evidence: status(503),
};
export const blocked: Verdict = {
  fault: 'route',
  reason: 'blocked',
  scope: 'lane',
  evidence: status(403),
};
export const unreachableRoute: Verdict = {
  fault: 'route',
  reason: 'unreachable',
  scope: 'everywhere',
  evidence: { kind: 'failure', phase: 'dial', code: 'timeout', detail: '' },
};
export const overrun: Verdict = {
  fault: 'self',
  reason: 'overrun',
  evidence: { kind: 'failure', phase: 'first_byte', code: 'timeout', detail: '' },
};

/** A 429; without `waitMs` it names no usable time. */
export function throttledFor(waitMs?: number): Verdict {
  const verdict = {
    fault: 'host',
    kind: 'rate',
    reason: 'rate_limited',
    evidence: status(429),
  } as const;
  return waitMs === undefined ? verdict : { ...verdict, waitMs };
}

export function routeOf(id: string): Route {
  return {
    id,
    label: id,
    upstream: 'direct',
    way: { kind: 'direct' },
    session: undefined,
    generation: 0,
  };
}

function exchangeOf(ask: Ask, id: string, now: number, signal: AbortSignal): Exchange {
  const host = ask.host ?? 'shop.test';
  const client = ask.client ?? 'tester';
  return {
    id,
    client: { name: client, address: '127.0.0.1' },
    target: { scheme: 'https', host, port: 443, authority: host, path: ask.path ?? '/items/1' },
    method: 'GET',
    rawHeaders: ask.headers ?? [],
    body: {
      length: 0,
      present: false,
      replayable: true,
      open: () => Readable.from([]),
      rawTrailers: [],
    },
    // Lanes look at no other part.
    policy: lanePolicy(ask) as Policy,
    session: undefined,
    country: undefined,
    expectText: undefined,
    retry: 'on',
    startedAt: now,
    deadline: now + (ask.patienceMs ?? 60_000),
    signal,
    stage: { kind: 'dialling', sinceAt: now, untilAt: undefined },
  };
}

function lanePolicy({ policy = {} }: Ask): LanePolicy {
  return {
    backoff: { ...DEFAULTS.backoff, ...policy.backoff },
    budget: { ...DEFAULTS.budget, ...policy.budget },
    byteBudget: { ...DEFAULTS.byteBudget, ...policy.byteBudget },
    breaker: { ...DEFAULTS.breaker, ...policy.breaker },
    pace: { ...DEFAULTS.pace, ...policy.pace },
    timeouts: { ...DEFAULTS.timeouts, ...policy.timeouts },
    authFuse: typeof policy.authFuse === 'number' ? policy.authFuse : DEFAULTS.authFuse,
    probe: policy.probe ? { url: '', expect: '', ...policy.probe } : null,
  };
}
