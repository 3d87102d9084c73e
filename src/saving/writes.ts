import type { Clock } from '../clock.ts';
import type { Moment } from '../core/elapsed.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { Json, State } from '../store/store.ts';
import type { Emit } from '../telemetry/events.ts';

/** Rows that belong to one host and to one session; those of any other table concern everybody. */
const LANES = 'lanes';
const SESSIONS = 'sessions';

/** Writes under way, so that a reply can wait for those that it tells of, and for no others. */
export class Writes {
  readonly #deps: {
    readonly state: State;
    readonly clock: Pick<Clock, 'now'>;
    readonly moment: () => Moment;
    readonly emit: Emit;
  };
  /** By host, by session, and by table for the rest. The latest of a key is on disk last. */
  readonly #pending = new Map<string, Promise<void>>();
  #hasFailed = false;

  constructor(deps: { state: State; clock: Pick<Clock, 'now'>; moment: () => Moment; emit: Emit }) {
    this.#deps = deps;
  }

  /** A row that replies wait for. */
  write(table: string, key: string, value: unknown): void {
    const isOnes = table === LANES || table === SESSIONS;
    void this.#begin(isOnes ? `${table}/${key}` : table, table, key, value);
  }

  /** A row that nobody waits for. */
  writeQuietly(table: string, key: string, value: unknown): Promise<void> {
    return this.#begin(QUIETLY, table, key, value);
  }

  // What cannot be kept is told, and the proxy goes on.
  #begin(owner: string, table: string, key: string, value: unknown): Promise<void> {
    const writing = this.#put(table, key, value).catch((error: unknown) => this.#fail(error));
    this.#pending.set(owner, writing);
    void writing.then(() => {
      if (this.#pending.get(owner) === writing) this.#pending.delete(owner);
    });
    return writing;
  }

  /** What this exchange may tell of; undefined when all of it is on disk, which is nearly always. */
  of({ target, session }: Exchange): Promise<void> | undefined {
    if (this.#pending.size === 0) return undefined;
    const owners = [`${LANES}/${target.authority}`, ...WAYS];
    if (session !== undefined) owners.push(`${SESSIONS}/${session}`);
    const writing = owners.flatMap((owner) => this.#pending.get(owner) ?? []);
    return writing.length === 0 ? undefined : Promise.all(writing).then(() => {});
  }

  all(): Promise<void> {
    return Promise.all(this.#pending.values()).then(() => {});
  }

  async #put(table: string, key: string, value: unknown): Promise<void> {
    const rows = this.#deps.state.rows(table);
    if (value === undefined) await rows.delete(key);
    else await rows.put(key, { at: { ...this.#deps.moment() }, value: value as Json });
    this.#hasFailed = false;
  }

  /** Beyond what the store's own fallback bears; told once until something is written again. */
  #fail(error: unknown): void {
    const { code = 'internal', message = String(error) } = error as { code?: string } & Error;
    if (this.#hasFailed || code === 'closed') return;
    this.#hasFailed = true;
    const doing = 'keep what is known over a restart';
    this.#deps.emit({ type: 'store_trouble', at: this.#deps.clock.now(), doing, code, message });
  }
}

const QUIETLY = 'quietly';
const WAYS = ['ejections', 'outages', 'gateways'] as const;
