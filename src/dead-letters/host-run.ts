import type { Clock } from '../clock.ts';
import type { Letters } from '../store/store.ts';
import type { Job, Redriven } from './send-again.ts';

/** Sends one letter. Never rejects. */
export type Sender = (job: Job) => Promise<Redriven>;

interface Waiting {
  readonly id: string;
  readonly lane: string;
  readonly force: boolean;
  readonly settle: (redriven: Redriven) => void;
}

/** Under way at once beyond the first; the lane's own pace and slots hold besides. */
const AT_ONCE = 8;
/** A host that has answered is away after so many failures; one bad page is no outage. */
const MOST_FAILURES_IN_A_ROW = 3;

/**
 * The letters of one host: the first alone, and only when the host has answered it, the others, lane by lane.
 * When the host is away, none of the others is tried: all are put off.
 */
export class HostRun {
  /** Settles when all are done. Never rejects. */
  readonly ended: Promise<void>;
  readonly #o: {
    readonly host: string;
    readonly letters: Letters;
    readonly clock: Pick<Clock, 'now'>;
    readonly send: Sender;
    readonly signal: AbortSignal;
  };
  readonly #waiting = new Map<string, Waiting>();
  readonly #underWay = new Set<string>();
  /** When the host may be asked again, once it is known to be away. */
  #away: number | undefined;
  #hasAnswered = false;
  #failuresInARow = 0;
  #isOver = false;

  constructor(o: {
    host: string;
    letters: Letters;
    clock: Pick<Clock, 'now'>;
    send: Sender;
    signal: AbortSignal;
  }) {
    this.#o = o;
    // Not before those that come together are all here.
    this.ended = Promise.resolve().then(() => this.#go());
  }

  get size(): number {
    return this.#waiting.size;
  }

  has(id: string): boolean {
    return this.#waiting.has(id) || this.#underWay.has(id);
  }

  add({ id, lane, force }: Omit<Waiting, 'settle'>): Promise<Redriven> {
    if (this.has(id)) {
      return Promise.resolve({ id, outcome: 'busy', detail: 'It waits for its turn already.' });
    }
    const { promise, resolve } = Promise.withResolvers<Redriven>();
    this.#waiting.set(id, { id, lane, force, settle: resolve });
    return promise;
  }

  /** Whether it takes no more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  async #go(): Promise<void> {
    for (let first = this.#first(); first; first = this.#first()) {
      const { lane } = first;
      if (!this.#hasAnswered) await this.#send(first);
      else await Promise.all(Array.from({ length: AT_ONCE }, () => this.#work(lane)));
      if (this.#away !== undefined) await this.#putOff(this.#away);
      if (this.#o.signal.aborted) this.#interrupt();
    }
    this.#isOver = true;
  }

  async #work(lane: string): Promise<void> {
    for (let next = this.#first(lane); next; next = this.#first(lane)) {
      if (this.#away !== undefined || this.#o.signal.aborted) return;
      await this.#send(next);
    }
  }

  #first(lane?: string): Waiting | undefined {
    for (const waiting of this.#waiting.values()) {
      if (lane === undefined || waiting.lane === lane) return waiting;
    }
    return undefined;
  }

  async #send({ id, force, settle }: Waiting): Promise<Redriven> {
    this.#waiting.delete(id);
    this.#underWay.add(id);
    const redriven = await this.#o.send({ id, force, signal: this.#o.signal });
    this.#underWay.delete(id);
    const { outcome, hostAwayUntil } = redriven;
    if (outcome === 'done') {
      this.#hasAnswered = true;
      this.#failuresInARow = 0;
    } else if (hostAwayUntil !== undefined) {
      this.#failuresInARow += 1;
      const isAway = !this.#hasAnswered || this.#failuresInARow >= MOST_FAILURES_IN_A_ROW;
      if (isAway) this.#away = hostAwayUntil;
    }
    settle(redriven);
    return redriven;
  }

  async #putOff(until: number): Promise<void> {
    const rest = [...this.#waiting.values()];
    this.#waiting.clear();
    const { letters, host } = this.#o;
    await letters.putOff(host, until).catch(() => 0);
    for (const { id, settle } of rest) {
      const detail = 'The host failed another letter, so this one was not tried.';
      settle({ id, outcome: 'put_off', detail, hostAwayUntil: until });
    }
  }

  #interrupt(): void {
    const rest = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { id, settle } of rest) {
      settle({ id, outcome: 'interrupted', detail: 'The proxy is stopping.' });
    }
  }
}
