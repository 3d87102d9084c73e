import type { ProxyEvent } from './events.ts';

type Finished = Extract<ProxyEvent, { type: 'exchange_finished' }>;

/**
 * How an exchange ended for its client:
 * - `ok_first`, `ok_retried`: the first, or a later, attempt has brought what was asked for
 * - `client_error`: the site has refused the request itself (404 and the like), which no retry mends
 * - `failed`: it was sent, and brought nothing usable
 * - `not_sent`: it was refused without being sent (paused, breaker, queue, budget, session, draining)
 * - `client_gone`, `broken_off`: the client left, or its reply broke off on the way
 */
export type Outcome =
  | 'ok_first'
  | 'ok_retried'
  | 'client_error'
  | 'failed'
  | 'not_sent'
  | 'client_gone'
  | 'broken_off';

/** The outcome of an exchange that is over. */
export function outcomeOf({ delivery, answered }: Finished): Outcome {
  if (typeof answered === 'string') return answered;
  const { verdict, ledger, stop } = delivery;
  if (verdict === undefined || ledger.attempts === 0) {
    return ledger.attempts === 0 ? 'not_sent' : 'failed';
  }
  // Blocked wherever it came from: the site refuses us, not the request.
  if (verdict.reason === 'persistent_block') return 'failed';
  if (verdict.fault === 'client') return 'client_error';
  if (verdict.fault !== 'none' || stop !== undefined) return 'failed';
  return ledger.attempts === 1 ? 'ok_first' : 'ok_retried';
}
