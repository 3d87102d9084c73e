import type { AccountVerdict, RouteVerdict } from './verdict.ts';

/** What happens next. */
export type Action =
  | { readonly kind: 'deliver' }
  | Wait
  | Rotate
  /** The session ends here; the reply goes to the client, marked. */
  | { readonly kind: 'burn' }
  | { readonly kind: 'fail'; readonly stop: Stop };

/** Waits, then (save for `elsewhere`) the same route again. This is all that a rate verdict can lead to, short of an end. */
export interface Wait {
  readonly kind: 'wait';
  readonly ledger: 'rate' | 'transient' | 'account' | 'self' | 'session_route';
  /** From now. For `rate` the lane's pause holds the exchange too. */
  readonly delayMs: number;
  /** Taken from the lane's retry budget. */
  readonly charged: boolean;
  /** Site or upstream may have failed: after the wait another route is asked, and the two together tell. */
  readonly elsewhere?: true;
}

/** Takes another way out. It carries its reason, so that a rate verdict cannot be made into one. */
export interface Rotate {
  readonly kind: 'rotate';
  readonly because: RouteVerdict | AccountVerdict;
  readonly charged: boolean;
}

/** Why it was not tried again: `Forbear-Stop`, and the same word in logs, metrics and dead letters. */
export type Stop =
  | 'attempts_exhausted'
  | 'addresses_exhausted'
  | 'rate_waits_exhausted'
  | 'retry_budget_spent'
  /** The lane's bytes of the day are spent: all of them, or as many as retries may have of them. */
  | 'byte_budget_spent'
  | 'patience_exceeded'
  /** The site asked for a longer wait than `retry_after.max`. */
  | 'wait_too_long'
  | 'body_not_replayable'
  /** Bytes of a request that may not be repeated were sent: it may have been executed. */
  | 'maybe_executed'
  | 'retry_off'
  | 'breaker_open'
  | 'lane_paused'
  | 'queue_full'
  | 'no_route'
  | 'session_burned'
  | 'session_expired'
  /** This upstream cannot hold a session. */
  | 'session_unsupported'
  | 'auth_fuse'
  | 'draining'
  /** The operator holds this host back. */
  | 'isolated'
  | 'client_gone';

/** Where one exchange stands; each kind of repetition has its own count. */
export interface Ledger {
  /** Tries so far. */
  readonly attempts: number;
  readonly rateWaits: number;
  /** Waits for an upstream that limits its own customer: us. */
  readonly accountWaits: number;
  readonly transientRetries: number;
  readonly rotations: number;
  /** Ids of the routes used so far, in order of first use. */
  readonly addresses: readonly string[];
  /** Routes and upstreams this exchange will not use again. */
  readonly avoidRoutes: readonly string[];
  readonly avoidUpstreams: readonly string[];
  /** The route to stay on, if the last action was a wait. */
  readonly stayOn: string | undefined;
  /** Time held by waits, pauses and queues. */
  readonly waitedMs: number;
  /** The last backoff, for `decorrelated`. */
  readonly lastDelayMs: number | undefined;
}

/** Time, chance and shared state as plain values. */
export interface Progress {
  readonly ledger: Ledger;
  readonly now: number;
  readonly deadline: number;
  /** One uniform draw from [0, 1). */
  readonly roll: number;
  readonly replay: Replay;
  readonly retry: 'on' | 'off';
  readonly inSession: boolean;
  readonly budgetLeft: boolean;
  /** Whether the day's bytes allow a retry. */
  readonly bytesLeft: boolean;
  /** Failures of the lane in a row, this one included; 0 after a success. */
  readonly laneFailures: number;
  /** When the lane's pause ends, epoch ms; in the past when there is none. */
  readonly pausedUntil: number;
  /** Whether another route (of the same upstream), or another upstream, could be taken. */
  readonly routesLeft: boolean;
  readonly upstreamsLeft: boolean;
}

export interface Replay {
  /** The whole body is at hand, or will be. */
  readonly bodyKept: boolean;
  /** By method, Idempotency-Key or the user's rule. */
  readonly repeatable: boolean;
  /** Bytes of it reached the origin's side. */
  readonly sent: boolean;
  /** The reply itself says that nothing was done: 429, 503 with Retry-After, 421, 425. */
  readonly unprocessed: boolean;
}
