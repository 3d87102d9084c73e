import type { Clock } from '../clock.ts';
import { type Moment, shiftMs } from '../core/elapsed.ts';
import type { KeptRow, KeptTable } from '../exchange/kept.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { Json, State } from '../store/store.ts';
import type { Emit } from '../telemetry/events.ts';
import { Writes } from './writes.ts';

export interface SavingDeps {
  readonly state: State;
  readonly clock: Clock;
  readonly moment: () => Moment;
  readonly emit: Emit;
}

/** What the proxy remembers over restarts: what matters at once, the rest every few seconds. */
export interface Saving {
  /** Writes one row at once. See `Keep`. */
  keep(table: string, key: string, value: unknown): void;
  /** Gives the tables back what they knew, and begins to save them. Never rejects. */
  restore(tables: readonly KeptTable[]): Promise<void>;
  /** The loop: it begins when all is restored, and its answer goes out when what it tells is on disk. */
  durably<Rest extends unknown[], Answer>(
    run: (exchange: Exchange, ...rest: Rest) => Promise<Answer>,
  ): (exchange: Exchange, ...rest: Rest) => Promise<Answer>;
  /** Settles when all that was to be written at once is on disk, or after a bounded time. Never rejects. */
  kept(): Promise<void>;
  /** Writes all that has changed. Settles when it is on disk, or after a bounded time. Never rejects. */
  saveAll(): Promise<void>;
  /** Saves no more by itself. */
  stop(): void;
}

const SAVE_EVERY_MS = 5_000;
/** So long a reply waits for the disk; then it goes out, and that is told. */
const REPLY_WAIT_MS = 250;
const LAST_WAIT_MS = 5_000;
/** Rows that are written without a pause: thousands at once would hold every exchange up. */
const ROWS_AT_ONCE = 100;
/** A disk that is slow is told once in this time. */
const TELL_EVERY_MS = 60_000;

/** Makes the saving of one proxy's memory. */
export function createSaving(deps: SavingDeps): Saving {
  return new TableSaving(deps);
}

class TableSaving implements Saving {
  readonly #deps: SavingDeps;
  readonly #writes: Writes;
  readonly #restored = Promise.withResolvers<void>();
  #isRestored = false;
  #isStopped = false;
  #tables: readonly KeptTable[] = [];
  #cancel = () => {};
  /** One save at a time. */
  #saving = Promise.resolve();
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(deps: SavingDeps) {
    this.#deps = deps;
    this.#writes = new Writes(deps);
  }

  keep(table: string, key: string, value: unknown): void {
    this.#writes.write(table, key, value);
  }

  async restore(tables: readonly KeptTable[]): Promise<void> {
    await Promise.all(tables.map((table) => this.#restoreOne(table)));
    this.#tables = tables;
    this.#isRestored = true;
    this.#restored.resolve();
    this.#saveLater();
  }

  durably<Rest extends unknown[], Answer>(
    run: (exchange: Exchange, ...rest: Rest) => Promise<Answer>,
  ): (exchange: Exchange, ...rest: Rest) => Promise<Answer> {
    return async (exchange, ...rest) => {
      if (!this.#isRestored) await this.#restored.promise;
      const answer = await run(exchange, ...rest);
      const writing = this.#writes.of(exchange);
      if (writing) await this.#within(REPLY_WAIT_MS, writing);
      return answer;
    };
  }

  kept(): Promise<void> {
    return this.#within(REPLY_WAIT_MS, this.#writes.all());
  }

  async saveAll(): Promise<void> {
    const saved = this.#save('all').then(() => this.#writes.all());
    await this.#within(LAST_WAIT_MS, saved);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#tables = [];
  }

  async #restoreOne(table: KeptTable): Promise<void> {
    const { state, moment, clock, emit } = this.#deps;
    try {
      const rows = await state.rows(table.name).entries();
      const now = moment();
      const good = rows.flatMap(([key, row]) => readRow(key, row, now) ?? []);
      for (const key of table.restore(good)) {
        void this.#writes.writeQuietly(table.name, key, undefined);
      }
    } catch (error) {
      const { code = 'internal', message = String(error) } = error as { code?: string } & Error;
      const doing = `read back what was known (${table.name}), so that is learned anew`;
      emit({ type: 'store_trouble', at: clock.now(), doing, code, message });
    }
  }

  #saveLater(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#deps.clock.after(SAVE_EVERY_MS, () => {
      void this.#save('rough').then(() => this.#saveLater());
    });
  }

  #save(how: 'rough' | 'all'): Promise<void> {
    this.#saving = this.#saving.then(async () => {
      for (const table of this.#tables) await this.#saveOne(table, how);
    });
    return this.#saving;
  }

  async #saveOne(table: KeptTable, how: 'rough' | 'all'): Promise<void> {
    let writes: Promise<void>[] = [];
    for (const { key, value } of table.changes(how)) {
      writes.push(this.#writes.writeQuietly(table.name, key, value));
      if (writes.length < ROWS_AT_ONCE) continue;
      await Promise.all(writes);
      writes = [];
    }
  }

  async #within(ms: number, writing: Promise<void>): Promise<void> {
    const { clock, emit } = this.#deps;
    const { promise, resolve } = Promise.withResolvers<'late'>();
    const cancel = clock.after(ms, () => resolve('late'));
    const end = await Promise.race([writing, promise]);
    cancel();
    const at = clock.now();
    if (end !== 'late' || at - this.#toldAt < TELL_EVERY_MS) return;
    this.#toldAt = at;
    const message = `it takes longer than ${ms} ms, and what waits for it goes on`;
    emit({ type: 'store_trouble', at, doing: 'write to disk in time', code: 'slow', message });
  }
}

/** Undefined for what is not whole: that is learned anew. */
function readRow(key: string, row: Json, now: Moment): KeptRow | undefined {
  if (typeof row !== 'object' || row === null || !('at' in row) || !('value' in row)) return;
  const { at, value } = row as { readonly at: Partial<Moment> | null; readonly value: unknown };
  const { now: savedNow, wall, uptimeMs, boot } = at ?? {};
  if (![savedNow, wall, uptimeMs].every(Number.isFinite)) return;
  const saved = { now: savedNow, wall, uptimeMs, boot: boot ?? null } as Moment;
  return { key, value, shiftMs: shiftMs(saved, now) };
}
