import type { Action, Ledger, Stop } from '../core/action.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Delivery, Exchange, Received, Route } from './ports.ts';

/** The last attempt of an exchange, with what was made of it. */
export interface Attempted {
  readonly received: Received;
  readonly route: Route;
  /** undefined when the attempt was cut off before it could be judged. */
  readonly verdict: Verdict | undefined;
}

/** The answer that follows from a final action. */
export function endOf(
  action: Exclude<Action, { kind: 'wait' | 'rotate' }>,
  last: Attempted,
  ledger: Ledger,
): Delivery {
  switch (action.kind) {
    case 'deliver':
      return { ...last, stop: undefined, retryAfterMs: undefined, ledger };
    case 'burn':
      return gaveUp('session_burned', last, ledger);
    case 'fail':
      return gaveUp(action.stop, last, ledger);
  }
}

/** It ends here; `last` is the last real reply, if there was one. */
export function gaveUp(
  stop: Stop,
  last: Attempted | undefined,
  ledger: Ledger,
  why?: {
    readonly retryAfterMs: number | undefined;
    readonly status?: number;
    readonly accountsOut?: boolean;
  },
): Delivery {
  return {
    received: last?.received,
    verdict: last?.verdict,
    route: last?.route,
    stop,
    retryAfterMs: why?.retryAfterMs,
    ...(why?.status === undefined ? {} : { fuseStatus: why.status }),
    ...(why?.accountsOut ? { accountsOut: true } : {}),
    ledger,
  };
}

/** The client left, or its patience ended, within the attempt: that says nothing about anybody, so nothing is recorded. */
export function interrupted(
  exchange: Exchange,
  now: Attempted,
  last: Attempted | undefined,
  ledger: Ledger,
): Delivery | undefined {
  if (exchange.signal.aborted) {
    now.received.discard();
    last?.received.discard();
    return gaveUp('client_gone', undefined, ledger);
  }
  const { reply } = now.received;
  if (reply.kind !== 'failure' || reply.code !== 'patience') return undefined;
  // An earlier real reply, if it is still at hand, is better than none.
  return gaveUp('patience_exceeded', last?.received.deliverable ? last : now, ledger);
}
