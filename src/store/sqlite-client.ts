import { Worker } from 'node:worker_threads';
import type { Answer, Call, Calls, FromWorker, ToWorker } from './sqlite-calls.ts';
import type { FileTerms } from './sqlite-file.ts';
import { StoreError } from './store.ts';

interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: StoreError) => void;
}

// Beside this file: .ts in a checkout, .js where it was built.
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite-worker.ts' : './sqlite-worker.js',
  import.meta.url,
);

/** The proxy's end of the database's thread. A thread that dies is replaced at the next call. */
export class SqliteClient {
  readonly #terms: FileTerms;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #asked = 0;
  #closing: Promise<void> | undefined;

  constructor(terms: FileTerms) {
    this.#terms = terms;
  }

  /** Opens the file; rejects with the `StoreError` that says why it cannot. The claims of a crashed process that ended. */
  async open(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const worker = this.#started();
    worker.ref();
    worker.on('message', (message: FromWorker) => {
      if (message.kind === 'opened') resolve(message.recovered);
      if (message.kind === 'not_opened') reject(new StoreError(message.code, message.message));
    });
    worker.once('exit', () => reject(gone(this.#terms.file)));
    post(worker, { kind: 'open', recover: true });
    try {
      const recovered = await promise;
      this.#rest();
      return recovered;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Asks the database's thread; rejects with a `StoreError`. */
  async call<Name extends keyof Calls>(
    name: Name,
    ...args: Parameters<Calls[Name]>
  ): Promise<ReturnType<Calls[Name]>> {
    if (this.#closing) throw new StoreError('closed', 'the store is closed');
    this.#asked += 1;
    const n = this.#asked;
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<Calls[Name]>>();
    const worker = this.#started();
    post(worker, { kind: 'call', call: { n, name, args } as Call });
    // A process does not end while it waits for an answer.
    if (this.#waiting.size === 0) worker.ref();
    this.#waiting.set(n, { resolve, reject });
    return promise;
  }

  /** Does what was asked before, and lets the file go. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    if (!worker) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    worker.ref();
    worker.once('exit', () => resolve());
    post(worker, { kind: 'end' });
    await promise;
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(WORKER, {
      workerData: this.#terms,
      // Not the process's own flags; node:sqlite warns that it is young.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      name: 'forbear-store',
    });
    this.#worker = worker;
    worker.on('message', (message: FromWorker) => {
      if (message.kind !== 'answers') return;
      for (const answer of message.answers) this.#settle(answer);
      this.#rest();
    });
    // `exit` follows.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      const failure = gone(this.#terms.file);
      for (const { reject } of this.#waiting.values()) reject(failure);
      this.#waiting.clear();
    });
    worker.unref();
    return worker;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.n);
    this.#waiting.delete(answer.n);
    if (answer.kind === 'done') waiting?.resolve(answer.value as never);
    else waiting?.reject(new StoreError(answer.code, answer.message));
  }

  #rest(): void {
    if (this.#waiting.size === 0 && !this.#closing) this.#worker?.unref();
  }
}

function post(worker: Worker, message: ToWorker): void {
  worker.postMessage(message);
}

function gone(file: string): StoreError {
  return new StoreError('failed', `${file}: the thread that keeps it has ended`);
}
