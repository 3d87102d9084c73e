import { LRUCache } from 'lru-cache';
import { newTrend, observe, raised, type Signal, sightingOf, type Trend } from '../core/trend.ts';
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
}

type Attempt = Extract<ProxyEvent, { type: 'attempt_finished' }>;

interface Watched {
  trend: Trend;
  /** When a throttle was last counted: those that were on their way then belong to it. */
  throttledAt: number;
}

const MOST_LANES = 2_000;

/** Makes the watch over all lanes; `timeOfDay` writes an instant as the reader's clock shows it. */
export function createWarnings(o: {
  readonly emit: Emit;
  readonly timeOfDay: (at: number) => string;
}): Warnings {
  const lanes = new LRUCache<string, Watched>({ max: MOST_LANES });

  const tell = (lane: string, at: number, warning: ReturnType<typeof raised>[number]): void => {
    const { kind, ...facts } = warning;
    const sentence = sentenceOf(warning, o.timeOfDay);
    o.emit({ type: 'early_warning', at, lane, raised: kind === 'raised', ...facts, sentence });
  };

  return {
    record(event) {
      if (event.type !== 'attempt_finished') return;
      const watched = lanes.get(event.lane) ?? { trend: newTrend(), throttledAt: 0 };
      if (belongsToEarlier(event, watched)) return;
      const seen = sightingOf(event.verdict, event.route.id, event.at);
      const { trend, warnings } = observe(watched.trend, seen);
      watched.trend = trend;
      lanes.set(event.lane, watched);
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
