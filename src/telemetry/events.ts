import type { Action, Progress, Stop } from '../core/action.ts';
import type { Judge } from '../core/classify.ts';
import type { Signal } from '../core/trend.ts';
import type { Reply, Verdict } from '../core/verdict.ts';
import type { Cause } from '../exchange/account.ts';
import type { Delivery, Exchange, Route, Stage } from '../exchange/ports.ts';

/** All that verdict and action rest on besides the reply and the policy. */
export interface Basis {
  readonly judge: Judge;
  readonly progress: Progress;
  /** Whole retries that the lane's budget still paid for. */
  readonly retriesLeft: number;
}

/** Everything the proxy tells the outside world, as one union. Logs, metrics and the dashboard subscribe. */
export type ProxyEvent =
  | { readonly type: 'exchange_started'; readonly at: number; readonly exchange: Exchange }
  | {
      readonly type: 'attempt_finished';
      readonly at: number;
      readonly exchange: Exchange;
      readonly lane: string;
      /** 1-based. */
      readonly n: number;
      readonly route: Route;
      readonly reply: Reply;
      readonly verdict: Verdict;
      readonly action: Action;
      /** What it was judged and decided by; absent where the rest of a body was asked for. */
      readonly basis?: Basis;
      readonly durationMs: number;
      /** Over the wire so far: the body of a reply that goes on is not counted in. */
      readonly sentBytes: number;
      readonly receivedBytes: number;
    }
  /** The wire of an attempt was let go: all its bytes have passed, TLS and what the upstream was asked included. */
  | {
      readonly type: 'attempt_closed';
      readonly at: number;
      readonly exchange: Exchange;
      readonly lane: string;
      readonly n: number;
      readonly route: Route;
      readonly cause: Cause;
      readonly sentBytes: number;
      readonly receivedBytes: number;
    }
  /** A good-looking reply that may be none: by what its lane usually gets, or by a marker that is only reported. */
  | {
      readonly type: 'suspicious_reply';
      readonly at: number;
      readonly exchange: Exchange;
      readonly lane: string;
      readonly route: Route;
      /** `learned`, or the marker's name. */
      readonly sign: string;
      readonly for: readonly string[];
      readonly against: readonly string[];
      /** 1 is enough. */
      readonly score: number;
      /** Whether it was made a verdict. */
      readonly enforced: boolean;
    }
  /** Pages look different for everybody from now on: a new look, not a block. Told once per change. */
  | {
      readonly type: 'site_changed';
      readonly at: number;
      readonly lane: string;
      readonly exchange: Exchange;
    }
  /** Still waiting, not hanging. */
  | {
      readonly type: 'heartbeat';
      readonly at: number;
      readonly exchange: Exchange;
      readonly stage: Stage;
    }
  | {
      readonly type: 'exchange_finished';
      readonly at: number;
      readonly exchange: Exchange;
      readonly delivery: Delivery;
      /** What the client got: a status, or how its connection ended. */
      readonly answered: number | 'client_gone' | 'broken_off';
      readonly sentBytes: number;
      readonly receivedBytes: number;
    }
  /** A body that broke off on its way to the client goes on where it ended. */
  | {
      readonly type: 'download_resumed';
      readonly at: number;
      readonly exchange: Exchange;
      readonly lane: string;
      readonly route: Route;
      /** Which resumption of this download; 1-based. */
      readonly n: number;
      /** Bytes that were there already. */
      readonly offset: number;
      readonly totalBytes: number;
    }
  /** A body broke off on its way to the client, and could not go on. */
  | {
      readonly type: 'download_lost';
      readonly at: number;
      readonly exchange: Exchange;
      readonly lane: string;
      readonly route: Route;
      readonly offset: number;
      /** A stop, a verdict's reason, or how the answer did not fit. */
      readonly reason: string;
      readonly detail: string;
    }
  /** What a lane's attempts come to has changed beyond chance, or is as before again. */
  | {
      readonly type: 'early_warning';
      readonly at: number;
      readonly lane: string;
      readonly raised: boolean;
      readonly signal: Signal;
      /** Shares of attempts, 0 to 1. */
      readonly before: number;
      readonly now: number;
      readonly since: number;
      readonly badRoutes: number;
      readonly routes: number;
      readonly sentence: string;
    }
  | {
      readonly type: 'lane_paused';
      readonly at: number;
      readonly lane: string;
      readonly untilAt: number;
    }
  /** The operator holds a host back, or lets it go on. */
  | {
      readonly type: 'lane_isolated';
      readonly at: number;
      readonly lane: string;
      readonly isolated: boolean;
    }
  | {
      readonly type: 'breaker_changed';
      readonly at: number;
      readonly lane: string;
      readonly state: 'closed' | 'open' | 'half_open';
      readonly untilAt: number | undefined;
    }
  | {
      readonly type: 'fuse_changed';
      readonly at: number;
      readonly lane: string;
      readonly state: 'blown' | 'mended';
      /** What the one-time probe found, when there is one. */
      readonly finding: 'credentials' | 'all_well' | 'unreachable' | undefined;
    }
  | {
      readonly type: 'route_ejected';
      readonly at: number;
      readonly route: Route;
      /** undefined: everywhere. */
      readonly lane: string | undefined;
      readonly untilAt: number;
    }
  /** The operator took a route back in. */
  | { readonly type: 'route_restored'; readonly at: number; readonly route: Route }
  | {
      readonly type: 'upstream_out';
      readonly at: number;
      readonly upstream: string;
      readonly verdict: Verdict;
      readonly untilAt: number;
    }
  | {
      readonly type: 'session_ended';
      readonly at: number;
      readonly session: string;
      readonly end: 'burned' | 'expired';
    }
  /** A request that never became an exchange. */
  | {
      readonly type: 'request_refused';
      readonly at: number;
      readonly status: number;
      readonly reason: Stop | string;
      readonly detail: string;
    }
  | {
      readonly type: 'client_tls_failed';
      readonly at: number;
      readonly host: string;
      readonly detail: string;
    }
  /** An exchange that ended badly is kept, before its client hears of it. */
  | {
      readonly type: 'dead_letter_parked';
      readonly at: number;
      readonly exchange: Exchange;
      readonly id: string;
      readonly lane: string;
      /** How many requests it stands for now. */
      readonly count: number;
      readonly state: 'parked' | 'needs_client';
      /** The verdict's reason, or the stop. */
      readonly reason: string;
      readonly dueAt: number;
      /** `memory`: lost if the process dies before the disk takes it. */
      readonly kept: 'durable' | 'memory';
    }
  /** The client's own later try of the same request has succeeded. */
  | { readonly type: 'dead_letter_closed'; readonly at: number; readonly id: string }
  /** A redrive has ended, or was not begun. */
  | {
      readonly type: 'dead_letter_redriven';
      readonly at: number;
      readonly id: string;
      readonly lane: string;
      readonly outcome: RedriveOutcome;
      /** One sentence. */
      readonly detail: string;
    }
  /** Something that must outlive the process could not be kept, or not read. */
  | {
      readonly type: 'store_trouble';
      readonly at: number;
      /** What was to be done, as in "park a dead letter". */
      readonly doing: string;
      readonly code: string;
      readonly message: string;
    }
  | {
      readonly type: 'notice';
      readonly at: number;
      readonly level: 'info' | 'warn' | 'error';
      readonly message: string;
    };

/** What became of one letter when it was to be redriven. */
export type RedriveOutcome =
  | 'done'
  /** It failed again, and is due later. */
  | 'parked'
  /** It failed too often. */
  | 'expired'
  | 'needs_client'
  /** The first letter of its host failed, so the others were not tried. */
  | 'put_off'
  /** Somebody else has it, or it is over. */
  | 'busy'
  /** There is no such letter. */
  | 'missing'
  /** It cannot be sent as it is: its body or its credentials were not kept, or consent is missing. */
  | 'unsendable'
  /** The proxy stops, or the store is in trouble. */
  | 'interrupted';

export type Emit = (event: ProxyEvent) => void;
