import { Worker } from 'node:worker_threads';
import type { Complaint } from './kind.ts';
import { holds } from './world.ts';

/** Errors that nobody caught. */
export class Troubles {
  readonly #met: string[] = [];
  readonly #onError = (error: unknown) => {
    this.#met.push(error instanceof Error ? `${error.stack}` : String(error));
  };

  constructor() {
    process.on('uncaughtException', this.#onError).on('unhandledRejection', this.#onError);
  }

  take(): Complaint | undefined {
    const [detail] = this.#met.splice(0);
    return detail === undefined ? undefined : { rule: 'nobody_caught', detail };
  }

  stop(): void {
    process.off('uncaughtException', this.#onError).off('unhandledRejection', this.#onError);
  }
}

/** Sockets and servers that are open although nothing runs. */
export async function leftOpen(): Promise<Complaint | undefined> {
  const open = () => process.getActiveResourcesInfo().filter((name) => /^TCP|^TLS/.test(name));
  if (await holds(() => open().length === 0)) return undefined;
  return { rule: 'left_open', detail: open().join(', ') };
}

/** Ends the process, with word of the case, when the event loop stands still: nothing on it could tell. */
export class Watchdog {
  readonly #shared = new Int32Array(new SharedArrayBuffer(12));
  readonly #worker: Worker;
  readonly #timer: NodeJS.Timeout;

  constructor(o: { readonly seed: number; readonly names: readonly string[] }) {
    const workerData = { ...o, shared: this.#shared };
    this.#worker = new Worker(WATCH, { eval: true, workerData });
    this.#worker.unref();
    this.#timer = setInterval(() => Atomics.add(this.#shared, 0, 1), 200).unref();
  }

  /** Says which case is played from now on. */
  at(kind: number, n: number): void {
    Atomics.store(this.#shared, 1, kind);
    Atomics.store(this.#shared, 2, n);
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#worker.terminate();
  }
}

const WATCH = `
const { workerData: { shared, seed, names } } = require('node:worker_threads');
const { writeSync } = require('node:fs');
let beats = -1;
let still = 0;
setInterval(() => {
  const now = Atomics.load(shared, 0);
  still = now === beats ? still + 1 : 0;
  beats = now;
  if (still < 10) return;
  const kind = names[Atomics.load(shared, 1)];
  const n = Atomics.load(shared, 2);
  writeSync(2, 'the event loop stood still for 10 s: --seed ' + seed + ' --only ' + kind + ' --case ' + n + '\\n');
  process.kill(process.pid, 'SIGKILL');
}, 1000);
`;

/** The heap at the end of each round of a kind, where it ought to be flat. */
export class HeapTrend {
  readonly #readings = new Map<string, number[]>();

  /** Takes a reading; needs --expose-gc. */
  read(kind: string): void {
    globalThis.gc?.();
    const readings = this.#readings.get(kind) ?? [];
    this.#readings.set(kind, [...readings, process.memoryUsage().heapUsed]);
  }

  /** A kind whose heap has grown in each of its last rounds, by more than could be chance. */
  complaint(): Complaint | undefined {
    for (const [kind, readings] of this.#readings) {
      const last = readings.slice(-ROUNDS);
      const grows = last.every((bytes, i) => i === 0 || bytes > (last[i - 1] ?? 0));
      const grown = (last.at(-1) ?? 0) - (last[0] ?? 0);
      if (last.length < ROUNDS || !grows || grown < GROWN_BYTES) continue;
      const megabytes = last.map((bytes) => Math.round(bytes / 1e6)).join(', ');
      return { rule: 'heap_grows', detail: `${kind}: ${megabytes} MB` };
    }
    return undefined;
  }
}

const ROUNDS = 6;
const GROWN_BYTES = 24_000_000;
