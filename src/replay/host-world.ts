import { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import type { Policy } from '../core/policy.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Exchange, Route } from '../exchange/ports.ts';
import { Health } from '../lanes/health.ts';
import type { AttemptLine } from '../telemetry/attempt-line.ts';

/** Why an attempt would not have started when it did. */
export type Hold = 'breaker' | 'pause';

/** One host as it would have fared under one set of rules: the same health that the proxy keeps, on the log's time. */
export class HostWorld {
  /** Times the breaker opened, and the lane was paused. */
  trips = 0;
  pauses = 0;
  /** The least that the budget ever had left; undefined: nothing was decided yet. */
  lowestBudget: number | undefined;
  readonly #health: Health;
  #now = 0;
  #openedAt = 0;
  #pausedAt = 0;

  constructor(authority: string) {
    this.#health = new Health(authority, {
      clock: { ...STILL, now: () => this.#now },
      // The middle of every spread: what differs between two worlds then differs by the rules alone.
      random: () => 0.5,
      emit: (event) => {
        if (event.type !== 'breaker_changed' || event.state !== 'open') return;
        this.trips += 1;
        this.#openedAt = event.at;
      },
      probe: undefined,
      network: undefined,
      keep: undefined,
    });
  }

  get failuresInRow(): number {
    return this.#health.failuresInRow;
  }

  get pausedUntil(): number {
    return this.#health.pacing.pausedUntil;
  }

  /** Whether something that was decided before would have held back what started at this instant. */
  holds(startedAt: number): Hold | undefined {
    const { breaker, pacing } = this.#health;
    if (breaker.state === 'open' && this.#openedAt <= startedAt && startedAt < breaker.until) {
      return 'breaker';
    }
    return this.#pausedAt <= startedAt && startedAt < pacing.pausedUntil ? 'pause' : undefined;
  }

  budgetLeft(policy: Policy, at: number): number {
    this.#now = at;
    const left = this.#health.budgetLeft(policy);
    this.lowestBudget = Math.min(left, this.lowestBudget ?? left);
    return left;
  }

  blockedAddresses(path: string, at: number): readonly string[] {
    this.#now = at;
    return this.#health.forbiddenAddresses(path);
  }

  withdraw(policy: Policy, at: number): void {
    this.#now = at;
    this.#health.withdraw(policy);
  }

  /** Books one attempt, with what was made of it. */
  record(line: AttemptLine, policy: Policy, verdict: Verdict): void {
    const startedAt = line.at - line.ms;
    const passage = this.#health.passage(policy, startedAt);
    this.#now = startedAt;
    if (passage.kind === 'granted') this.#health.start(passage, startedAt, 'wanted');
    this.#now = line.at;
    const before = this.pausedUntil;
    this.#health.record({
      exchange: standIn(line, policy),
      route: routeOf(line),
      credential: undefined,
      startedAt,
      lease: passage.kind === 'granted' ? passage.lease : undefined,
      verdict,
    });
    if (this.pausedUntil <= before) return;
    if (before > line.at) return;
    this.pauses += 1;
    this.#pausedAt = line.at;
  }
}

const STILL: Clock = {
  now: () => 0,
  sleep: () => Promise.resolve('aborted'),
  after: () => () => {},
};

const NEVER = new AbortController().signal;

/** The recorded exchange, as far as its host's health asks for it. */
function standIn({ request, authority, exchange: id }: AttemptLine, policy: Policy): Exchange {
  return {
    id,
    client: { name: request.client, address: '' },
    target: {
      scheme: request.scheme,
      host: request.host,
      port: 0,
      authority,
      path: request.path,
    },
    method: request.method,
    rawHeaders: [],
    body: NO_BODY,
    policy,
    session: undefined,
    country: undefined,
    expectText: undefined,
    retry: 'on',
    startedAt: request.startedAt,
    deadline: 0,
    signal: NEVER,
    stage: { kind: 'receiving', sinceAt: 0, untilAt: undefined },
  };
}

const NO_BODY: Exchange['body'] = {
  length: 0,
  present: false,
  replayable: true,
  open: () => Readable.from([]),
  rawTrailers: [],
};

const routeOf = ({ route }: AttemptLine): Route => ({
  ...route,
  way: { kind: 'direct' },
  session: undefined,
  generation: 0,
});
