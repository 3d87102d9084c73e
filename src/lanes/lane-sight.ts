import type { Host } from './host.ts';

/** What can be shown of one lane. Instants in epoch ms. */
export interface LaneSight {
  readonly id: string;
  readonly host: string;
  readonly state: 'isolated' | 'breaker_open' | 'breaker_half_open' | 'paused' | 'active' | 'idle';
  /** undefined: not paused. */
  readonly pausedUntil: number | undefined;
  /** Starts per second: what was learned or what is configured, whichever is less; null: not limited. */
  readonly rate: number | null;
  /** Retries that may be scheduled now. */
  readonly budget: number;
  readonly breaker: 'closed' | 'open' | 'half_open';
  readonly breakerUntil: number | undefined;
  readonly waiting: number;
  readonly inFlight: number;
  readonly concurrency: number;
  readonly failuresInRow: number;
}

/** Shows the lanes of a host. */
export function sightOf(
  host: Host,
  { now, isolated }: { readonly now: number; readonly isolated: boolean },
): LaneSight[] {
  const { pacing, breaker, failuresInRow } = host.health;
  const pausedUntil = pacing.pausedUntil > now ? pacing.pausedUntil : undefined;
  return [...host.lanes()].map((lane) => {
    const isActive = lane.queue.size > 0 || lane.inFlight > 0;
    return {
      id: lane.id,
      host: host.authority,
      state: isolated
        ? 'isolated'
        : (hostState(breaker.state, pausedUntil) ?? (isActive ? 'active' : 'idle')),
      pausedUntil,
      rate: least(pacing.rate, lane.policy.pace.ratePerSecond),
      budget: host.health.budgetLeft(lane.policy),
      breaker: breaker.state,
      breakerUntil: breaker.state === 'open' ? breaker.until : undefined,
      waiting: lane.queue.size,
      inFlight: lane.inFlight,
      concurrency: lane.concurrency,
      failuresInRow,
    };
  });
}

/** An isolated host that nobody asked for yet. */
export function isolatedSight(host: string): LaneSight {
  return {
    ...{ id: host, host, state: 'isolated', pausedUntil: undefined, rate: null, budget: 0 },
    ...{ breaker: 'closed', breakerUntil: undefined, waiting: 0, inFlight: 0 },
    ...{ concurrency: 0, failuresInRow: 0 },
  };
}

function hostState(
  breaker: LaneSight['breaker'],
  pausedUntil: number | undefined,
): LaneSight['state'] | undefined {
  if (breaker === 'open') return 'breaker_open';
  if (pausedUntil !== undefined) return 'paused';
  return breaker === 'half_open' ? 'breaker_half_open' : undefined;
}

function least(learned: number | null, configured: number | null): number | null {
  if (learned === null || configured === null) return learned ?? configured;
  return Math.min(learned, configured);
}
