import { LRUCache } from 'lru-cache';
import { newTrend, observe, raised, type Signal, sightingOf, type Trend } from '../core/trend.ts';
import { readTrend } from '../core/trend-saved.ts';
import type { KeptChange, KeptRow, KeptTable } from '../exchange/kept.ts';
import type { Emit, ProxyEvent } from './events.ts';

/** One early warning that is raised. Shares are of attempts, 0 to 1; instants are epoch ms. */
export interface RaisedWarning {
  readonly lane: string;
  readonly signal: Signal;
  readonly before: number;
  readonly now: number;
  readonly since: number;
  readonly badRoutes: number;
  readonly routes: number;
  /** What has changed, in one sentence. */
  readonly sentence: string;
}

/** Watches what each lane's attempts usually come to, and tells when that changes: before the success rate does. */
export interface Warnings {
  readonly record: (event: ProxyEvent) => void;
  /** Those that are raised now. */
  raised(): readonly RaisedWarning[];
  /** What is usual in each lane, row by row. */
  readonly kept: KeptTable;
}

type Attempt = Extract<ProxyEvent, { type: 'attempt_finished' }>;

interface Watched {
  trend: Trend;
  /** When a throttle was last counted: those that were on their way then belong to it. */
  throttledAt: number;
}

const MOST_LANES = 2_000;
/** A trend changes with every attempt, and a minute of it is soon learned again. */
const SAVE_EVERY_MS = 60_000;

/** Makes the watch over all lanes; `timeOfDay` writes an instant as the reader's clock shows it. */
export function createWarnings(o: {
  readonly emit: Emit;
  readonly timeOfDay: (at: number) => string;
}): Warnings {
  const lanes = new LRUCache<string, Watched>({
    max: MOST_LANES,
    dispose: (_, lane, reason) => reason === 'evict' && kept.changed(lane, 0),
  });
  const kept = new KeptTrends(lanes);

  const tell = (lane: string, at: number, warning: ReturnType<typeof raised>[number]): void => {
    const { kind, ...facts } = warning;
    const sentence = sentenceOf(warning, o.timeOfDay);
    o.emit({ type: 'early_warning', at, lane, raised: kind === 'raised', ...facts, sentence });
  };

  return {
    kept,
    record(event) {
      if (event.type !== 'attempt_finished') return;
      const watched = lanes.get(event.lane) ?? { trend: newTrend(), throttledAt: 0 };
      if (belongsToEarlier(event, watched)) return;
      const seen = sightingOf(event.verdict, event.route.id, event.at);
      const { trend, warnings } = observe(watched.trend, seen);
      watched.trend = trend;
      lanes.set(event.lane, watched);
      kept.changed(event.lane, event.at);
      for (const warning of warnings) tell(event.lane, event.at, warning);
    },
    raised: () =>
      [...lanes.entries()].flatMap(([lane, { trend }]) =>
        raised(trend).map((warning) => {
          const { kind: _, ...facts } = warning;
          return { lane, ...facts, sentence: sentenceOf(warning, o.timeOfDay) };
        }),
      ),
  };
}

/** The trends as rows; one that was forgotten takes its row along. */
class KeptTrends implements KeptTable {
  readonly name = 'trends';
  readonly #lanes: LRUCache<string, Watched>;
  readonly #changed = new Set<string>();
  #changedAt = 0;
  #savedAt = 0;

  constructor(lanes: LRUCache<string, Watched>) {
    this.#lanes = lanes;
  }

  changed(lane: string, at: number): void {
    this.#changed.add(lane);
    this.#changedAt = Math.max(this.#changedAt, at);
  }

  *changes(how: 'rough' | 'all'): Generator<KeptChange> {
    if (how === 'rough' && this.#changedAt - this.#savedAt < SAVE_EVERY_MS) return;
    this.#savedAt = this.#changedAt;
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const key of changed) yield { key, value: this.#lanes.peek(key)?.trend };
  }

  restore(rows: readonly KeptRow[]): readonly string[] {
    const useless: string[] = [];
    for (const { key, value, shiftMs } of rows) {
      const trend = readTrend(value, shiftMs);
      if (trend === undefined || this.#lanes.size >= MOST_LANES) useless.push(key);
      else if (!this.#lanes.has(key)) this.#lanes.set(key, { trend, throttledAt: 0 });
    }
    return useless;
  }
}

/** All that were under way when a site asked for less are one event, not many. */
function belongsToEarlier({ verdict, at, durationMs }: Attempt, watched: Watched): boolean {
  if (verdict.fault !== 'host' || verdict.kind !== 'rate') return false;
  if (at - durationMs < watched.throttledAt) return true;
  watched.throttledAt = at;
  return false;
}

function sentenceOf(
  { kind, signal, before, now, since, badRoutes, routes }: ReturnType<typeof raised>[number],
  timeOfDay: (at: number) => string,
): string {
  const what = signal === 'retry' ? 'attempts that fail' : signal;
  if (kind === 'cleared') return `${what}: back at ${percent(now)}`;
  const where = routes > 1 ? ` on ${badRoutes} of ${routes} routes` : '';
  return `${what}: ${percent(before)} → ${percent(now)}${where} since ${timeOfDay(since)}`;
}

function percent(share: number): string {
  const of100 = share * 100;
  return `${of100 >= 0.05 && of100 < 10 ? of100.toFixed(1) : Math.round(of100)} %`;
}
