import type { Clock } from '../clock.ts';
import { isOutage, type Letters } from '../store/store.ts';
import { HostRun, type Sender } from './host-run.ts';
import type { Redriven } from './send-again.ts';

/** What redriving needs of the rest. */
export interface RedriveDeps {
  readonly letters: Letters;
  readonly clock: Clock;
  readonly send: Sender;
  /** The store fails in another way than by being out of reach. */
  readonly onTrouble: (error: unknown) => void;
}

/** A letter that waits for its turn. */
interface Asked {
  readonly id: string;
  readonly host: string;
  readonly lane: string;
  readonly force: boolean;
}

/** Letters looked for at once, and taken in at once for one host. */
const DUE_AT_ONCE = 500;
const MOST_WAITING = 100;
/** While some are under way. */
const LOOK_BESIDES_MS = 2_000;
/** After trouble with the store. */
const LOOK_AGAIN_MS = 30_000;
const LONGEST_SLEEP_MS = 3_600_000;
const SWEEP_EVERY_MS = 3_600_000;

/** Sends letters again when they are due or when somebody says so: each host's on its own, one run at a time. */
export class Redrive {
  readonly #deps: RedriveDeps;
  readonly #runs = new Map<string, HostRun>();
  readonly #stopping = new AbortController();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  #looking: Promise<void> | undefined;
  #cancelSweep = () => {};
  #started = false;

  constructor(deps: RedriveDeps) {
    this.#deps = deps;
  }

  /** Begins to look for letters that are due, and to remove what is kept for too long. */
  start(): void {
    // What had to be read first may have taken longer than the proxy has lived.
    if (this.#stopping.signal.aborted) return;
    this.#started = true;
    this.#wakeIn(0);
    const sweep = (): void => {
      const { letters, clock } = this.#deps;
      letters.sweep(clock.now()).catch((error) => this.#trouble(error));
      this.#cancelSweep = clock.after(SWEEP_EVERY_MS, sweep);
    };
    sweep();
  }

  /** Ends what is under way: those letters go back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#timer?.cancel();
    this.#cancelSweep();
    await this.#looking;
    await Promise.all([...this.#runs.values()].map((run) => run.ended));
  }

  /** A letter has a new due time. */
  dueAt(at: number): void {
    if (this.#timer === undefined || at < this.#timer.at) {
      this.#wakeIn(at - this.#deps.clock.now());
    }
  }

  /** Sends one letter when it is its turn. Never rejects. */
  ask(asked: Asked): Promise<Redriven> {
    if (this.#stopping.signal.aborted) {
      const { id } = asked;
      return Promise.resolve({ id, outcome: 'interrupted', detail: 'The proxy is stopping.' });
    }
    return this.#runOf(asked.host).add(asked);
  }

  #runOf(host: string): HostRun {
    const known = this.#runs.get(host);
    if (known && !known.isOver) return known;
    const { letters, clock, send } = this.#deps;
    const run = new HostRun({ host, letters, clock, send, signal: this.#stopping.signal });
    this.#runs.set(host, run);
    void run.ended.then(() => {
      if (this.#runs.get(host) === run) this.#runs.delete(host);
      this.#wakeIn(0);
    });
    return run;
  }

  #wakeIn(ms: number): void {
    if (!this.#started || this.#stopping.signal.aborted) return;
    const { clock } = this.#deps;
    const delayMs = Math.min(LONGEST_SLEEP_MS, Math.max(0, ms));
    this.#timer?.cancel();
    const cancel = clock.after(delayMs, () => {
      this.#timer = undefined;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined;
      });
    });
    this.#timer = { at: clock.now() + delayMs, cancel };
  }

  async #look(): Promise<void> {
    const { letters, clock } = this.#deps;
    try {
      const due = await letters.due(clock.now(), DUE_AT_ONCE);
      for (const { id, host, lane } of due) {
        const run = this.#runs.get(host);
        if (run && (run.has(id) || run.size >= MOST_WAITING)) continue;
        void this.ask({ id, host, lane, force: false });
      }
      const next = await letters.nextDueAt();
      // Those that wait in a run are due still; its end is an occasion, too.
      const soonest = clock.now() + (this.#runs.size > 0 ? LOOK_BESIDES_MS : 1);
      if (next !== undefined) this.dueAt(Math.max(next, soonest));
    } catch (error) {
      this.#trouble(error);
      this.#wakeIn(LOOK_AGAIN_MS);
    }
  }

  #trouble(error: unknown): void {
    // That the disk is out of reach has been told by the store itself.
    if (!isOutage(error) && !this.#stopping.signal.aborted) this.#deps.onTrouble(error);
  }
}
