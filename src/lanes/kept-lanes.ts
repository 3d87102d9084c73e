import type { Clock } from '../clock.ts';
import type { KeptChange, KeptRow, KeptTable } from '../exchange/kept.ts';
import type { Host } from './host.ts';
import type { HostTable } from './host-table.ts';
import { isOfUse, movedHost, readSavedHost, type SavedHost } from './saved-state.ts';

/** What is kept of all hosts, one row each. */
export class KeptLanes implements KeptTable {
  readonly name = LANES;
  readonly #hosts: HostTable;
  readonly #clock: Pick<Clock, 'now'>;
  #savedAt = 0;
  /** Keys of the rows there are: a host that is forgotten takes its row along. */
  readonly #rows = new Set<string>();

  constructor(hosts: HostTable, clock: Pick<Clock, 'now'>) {
    this.#hosts = hosts;
    this.#clock = clock;
  }

  *changes(): Generator<KeptChange> {
    const since = this.#savedAt;
    this.#savedAt = this.#clock.now();
    // All at once, since a host that is used meanwhile moves to the end of its table.
    for (const host of [...this.#hosts.all()]) {
      if (host.usedAt < since) continue;
      this.#rows.add(host.authority);
      yield { key: host.authority, value: savedHost(host) };
    }
    for (const key of [...this.#rows]) {
      if (this.#hosts.has(key)) continue;
      this.#rows.delete(key);
      yield { key, value: undefined };
    }
  }

  restore(rows: readonly KeptRow[]): readonly string[] {
    const now = this.#clock.now();
    const useless: string[] = [];
    for (const { key, value, shiftMs } of rows) {
      const saved = readSavedHost(value);
      const host = saved && movedHost(saved, shiftMs);
      if (host?.host !== key || !isOfUse(host, now)) {
        useless.push(key);
        continue;
      }
      this.#hosts.get(key).health.load(host);
      this.#rows.add(key);
    }
    return useless;
  }
}

/** The table of the lanes' rows. */
export const LANES = 'lanes';

/** What one host has taught, as plain JSON. */
export const savedHost = (host: Host): SavedHost => ({
  host: host.authority,
  usedAt: host.usedAt,
  ...host.health.save(),
  bytes: host.health.bytes.book,
});
