import type { Action, Ledger } from './action.ts';

/** The books of an exchange that has not been sent yet. */
export const newLedger: Ledger = {
  attempts: 0,
  rateWaits: 0,
  accountWaits: 0,
  transientRetries: 0,
  rotations: 0,
  addresses: [],
  avoidRoutes: [],
  avoidUpstreams: [],
  stayOn: undefined,
  waitedMs: 0,
  lastDelayMs: undefined,
};

/** Enters the start of one attempt over a route, after `waitedMs` in pauses and queues. */
export function begin(ledger: Ledger, routeId: string, waitedMs: number): Ledger {
  return {
    ...ledger,
    attempts: ledger.attempts + 1,
    addresses: ledger.addresses.includes(routeId)
      ? ledger.addresses
      : [...ledger.addresses, routeId],
    waitedMs: ledger.waitedMs + waitedMs,
  };
}

/** Enters what was decided after an attempt over `route`. */
export function charge(
  ledger: Ledger,
  action: Action,
  route: { readonly id: string; readonly upstream: string },
): Ledger {
  switch (action.kind) {
    case 'deliver':
    case 'burn':
    case 'fail':
      return ledger;
    case 'rotate':
      return {
        ...ledger,
        rotations: ledger.rotations + 1,
        stayOn: undefined,
        avoidRoutes: [...ledger.avoidRoutes, route.id],
        avoidUpstreams:
          action.because.fault === 'account'
            ? [...ledger.avoidUpstreams, route.upstream]
            : ledger.avoidUpstreams,
      };
    case 'wait': {
      const next = { ...ledger, stayOn: route.id, lastDelayMs: action.delayMs };
      switch (action.ledger) {
        case 'rate':
          // The pause's length is no backoff: `decorrelated` must not grow from it.
          return { ...next, lastDelayMs: ledger.lastDelayMs, rateWaits: ledger.rateWaits + 1 };
        case 'account':
          return {
            ...next,
            lastDelayMs: ledger.lastDelayMs,
            accountWaits: ledger.accountWaits + 1,
          };
        case 'transient': {
          const retried = { ...next, transientRetries: ledger.transientRetries + 1 };
          if (!action.elsewhere) return retried;
          return {
            ...retried,
            stayOn: undefined,
            avoidRoutes: [...ledger.avoidRoutes, route.id],
          };
        }
        case 'self':
        case 'session_route':
          return { ...next, transientRetries: ledger.transientRetries + 1 };
      }
    }
  }
}
