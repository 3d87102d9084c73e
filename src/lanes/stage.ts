import type { Clock } from '../clock.ts';
import type { Stage } from '../exchange/ports.ts';
import type { Health } from './health.ts';
import type { PacedLane } from './paced-lane.ts';
import type { Waiter } from './queue.ts';

type Waits = Pick<Stage, 'kind' | 'untilAt'>;

/** What a waiting exchange waits for, worked out when somebody looks: ten thousand may wait and none be looked at. */
export function waitingStage(
  waiter: Waiter,
  lane: PacedLane,
  health: Health,
  clock: Pick<Clock, 'now'>,
): Stage {
  return {
    sinceAt: clock.now(),
    get kind() {
      return waitsFor(waiter, lane, health, clock.now()).kind;
    },
    get untilAt() {
      return waitsFor(waiter, lane, health, clock.now()).untilAt;
    },
  };
}

function waitsFor(waiter: Waiter, lane: PacedLane, health: Health, now: number): Waits {
  const { breaker, pacing } = health;
  if (breaker.state === 'open' && breaker.until > now) {
    return { kind: 'breaker', untilAt: breaker.until };
  }
  if (pacing.pausedUntil > now) return { kind: 'paused', untilAt: pacing.pausedUntil };
  if (breaker.state === 'half_open' && breaker.probe)
    return { kind: 'breaker', untilAt: undefined };
  const nextAt = Math.max(pacing.nextAt, lane.nextAt);
  if (nextAt <= now) return { kind: 'queued', untilAt: undefined };
  // Only the next in turn knows when; the others depend on how those before them fare.
  return { kind: 'pacing', untilAt: lane.queue.peek() === waiter ? nextAt : undefined };
}
