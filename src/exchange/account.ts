import type { Clock } from '../clock.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Exchange, Lane, Received, Route } from './ports.ts';

/** What the bytes of an attempt were spent on. */
export type Cause = 'first_try' | 'retry' | 'rejected_body' | 'tunnel';

/**
 * Tells what an attempt has cost once its wire is let go: only then all of its bytes have passed. Returns how its
 * verdict is to be entered.
 */
export function accountFor(
  attempt: {
    readonly exchange: Exchange;
    readonly lane: Lane;
    readonly route: Route;
    readonly n: number;
    readonly received: Received;
  },
  { clock, emit }: { readonly clock: Clock; readonly emit: Emit },
): (verdict: Verdict) => void {
  const { received, exchange, route, n, lane } = attempt;
  lane.spend(received);
  let verdict: Verdict | undefined;
  void received.closed.then(() => {
    const { sentBytes, receivedBytes } = received;
    const cause = causeOf(attempt, verdict);
    const which = { exchange, lane: lane.id, n, route, cause };
    emit({ type: 'attempt_closed', at: clock.now(), ...which, sentBytes, receivedBytes });
  });
  return (judged) => {
    verdict = judged;
  };
}

function causeOf(
  { received, n }: { readonly received: Received; readonly n: number },
  verdict: Verdict | undefined,
): Cause {
  if (received.released !== undefined) return 'tunnel';
  const { reply } = received;
  const looksGood = reply.kind === 'response' && reply.status < 400;
  if (looksGood && verdict !== undefined && verdict.fault !== 'none') return 'rejected_body';
  return n === 1 ? 'first_try' : 'retry';
}
