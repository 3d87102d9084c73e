import type { Readable } from 'node:stream';
import type { Ledger, Stop } from '../core/action.ts';
import type { BytesLeft } from '../core/byte-budget.ts';
import type { Policy } from '../core/policy.ts';
import type { Reply, Verdict } from '../core/verdict.ts';

/** One client request, and everything that stays fixed while it is retried. */
export interface Exchange {
  readonly id: string;
  readonly client: Client;
  readonly target: Target;
  /** Upper or lower case as sent. `CONNECT` for a blind tunnel. */
  readonly method: string;
  /** Names and values in turn, as the client sent them, less hop-by-hop, `Forbear-*` and `Proxy-*` fields. */
  readonly rawHeaders: readonly string[];
  /** Absent where no client worded the request. */
  readonly wording?: Wording | undefined;
  readonly body: RequestBody;
  readonly policy: Policy;
  /** The target rule's own lane within the host, if it has one. */
  readonly lane?: string | undefined;
  /** The client's session id, already bound to the client's name; undefined outside sessions. */
  readonly session: string | undefined;
  readonly country: string | undefined;
  /** The profile that the client chose. */
  readonly profile?: string | undefined;
  /** `redrive`: nobody waits for it, and everybody who does goes first. */
  readonly priority?: 'redrive';
  /** Text from `Forbear-Expect`. */
  readonly expectText: string | undefined;
  readonly retry: 'on' | 'off';
  /** Whether the client's own connection speaks HTTP/2: then the origin is offered it too. */
  readonly overH2?: boolean;
  /**
   * Hands an interim reply (103 Early Hints and other 1xx but 100 and 101) on to the client at once; absent where
   * its connection can take none. Called for the attempt that is under way, never after `run` has settled.
   */
  readonly inform?: (status: number, rawHeaders: readonly string[]) => void;
  /** What the client itself asked for; `policy` has it in it. */
  readonly wished?: { readonly patienceMs?: number; readonly maxAttempts?: number };
  readonly startedAt: number;
  /** Epoch ms at which the patience ends. */
  readonly deadline: number;
  /** Fires when the client has gone or the proxy stops at once. */
  readonly signal: AbortSignal;
  /** What it is doing right now, for heartbeats and the dashboard. Stages set it. */
  stage: Stage;
}

/** Fields of the client's connection that have a like on the way to the origin; undefined where it sent none. */
export interface Wording {
  readonly connection: Placed | undefined;
  readonly transferEncoding: Placed | undefined;
  /** That it can read trailers, which is all that is made anew of its TE. */
  readonly te: Placed | undefined;
}

/** A field, and the index in `rawHeaders` in front of which it stood. */
export interface Placed {
  readonly at: number;
  /** Its place among all that the client sent, since several may stand in front of one. */
  readonly rank: number;
  readonly name: string;
  readonly value: string;
}

export interface Client {
  /** The configured or given name, else the peer address: what fairness is between. */
  readonly name: string;
  readonly address: string;
}

export interface Target {
  readonly scheme: 'http' | 'https';
  /** Canonical: lower case, A-labels, no trailing dot, IPv6 in canonical text without brackets. */
  readonly host: string;
  readonly port: number;
  /** Host, plus `:port` where it is not the scheme's default; IPv6 in brackets. The lane's host key, and `Host` when the client gave none. */
  readonly authority: string;
  /** Path and query exactly as sent (`*` for OPTIONS *); empty for a tunnel. */
  readonly path: string;
}

export interface Stage {
  readonly kind:
    | 'queued'
    | 'paused'
    | 'pacing'
    | 'breaker'
    | 'backoff'
    | 'dialling'
    | 'awaiting_reply'
    | 'receiving'
    | 'streaming';
  readonly sinceAt: number;
  /** When it ends, if that is known. */
  readonly untilAt: number | undefined;
}

/** A request body that can be read again from its start for as long as all of it is kept. */
export interface RequestBody {
  /** The client's Content-Length; undefined when chunked; 0 when there is none. */
  readonly length: number | undefined;
  /** Whether there is a body at all (Content-Length above 0 or chunked). */
  readonly present: boolean;
  /** True while `open` may be called (again) and will give every byte. */
  readonly replayable: boolean;
  /** Settles when no more of it will come. Never rejects. Absent where nothing is on its way. */
  readonly ended?: Promise<void>;
  /** The client sends it only when it is asked to (`Expect: 100-continue`), and nobody has opened it yet. */
  readonly withheld?: boolean;
  /** All bytes, once all are here and as long as all are kept; disturbs no pass. */
  kept?(): Uint8Array | undefined;
  /** A pass over the whole body; what has not arrived yet follows live. Ends any earlier pass. */
  open(): Readable;
  /** Trailer fields, names and values in turn; filled when the body has ended. */
  readonly rawTrailers: readonly string[];
}

export interface Upstream {
  readonly name: string;
  readonly kind: 'direct' | 'list' | 'gateway';
}

/** One address to send from. */
export interface Route {
  /** Stable over restarts; never holds a credential. */
  readonly id: string;
  /** Upstream name and a short hash, for `Forbear-Route` and logs. */
  readonly label: string;
  readonly upstream: string;
  readonly way: Way;
  /** Set when the route is leased: its sockets are never shared. */
  readonly session: string | undefined;
  /** A gateway without a session token: each connection is a new address, so sockets are not reused after a rotation. */
  readonly generation: number;
}

export type Way = { readonly kind: 'direct' } | ProxyWay;

export interface ProxyWay {
  readonly kind: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: number;
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Sent to the upstream on CONNECT and on forwarded plain requests, names and values in turn. */
  readonly headers: readonly string[];
  /** Plain http targets: by absolute-form (default), or through a tunnel. */
  readonly plain: 'forward' | 'tunnel';
}

/** What counts of a connection while it is used for one attempt. */
export type Wire = Pick<Received, 'closed' | 'sentBytes' | 'receivedBytes'>;

/** One attempt's result: the facts to judge, and the live response they were read from. */
export interface Received {
  readonly reply: Reply;
  /** Present when `reply.kind` is `response`. */
  readonly response: Response | undefined;
  /** Settles when the wire is no longer used: body at its end, kept, discarded or broken off. Never rejects. */
  readonly closed: Promise<void>;
  /** Settles when its lane may have the slot back: earlier than `closed` for a wire that carries another protocol from now on. */
  readonly released?: Promise<void>;
  /** Lets the wire go and keeps the rest of the body in memory, if it is small and comes soon; else it is lost. */
  keep(): void;
  /** Lets the wire and the body go. */
  discard(): void;
  /** False once the body is (partly) lost: the reply cannot be delivered any more. */
  readonly deliverable: boolean;
  /** Bytes over the wire so far. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface Response {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: readonly string[];
  /**
   * The encoded body from its first byte. Destroyed with an error when it is cut short; the error's code is
   * `FORBEAR_CODING_CUT` where its framing was whole, and only its content coding tells.
   */
  readonly body: Readable;
  /** Trailer fields; filled when the body has ended. */
  readonly rawTrailers: readonly string[];
}

/** Sends the exchange once. Never rejects: whatever goes wrong on the wire is a `FailureReply`. */
export type Attempt = (
  exchange: Exchange,
  route: Route,
  /** Asked before the free replay of a request whose kept-alive socket had died: may it go out again now? */
  readmit?: () => Promise<boolean>,
) => Promise<Received>;

export type Admission =
  | {
      readonly kind: 'admitted';
      readonly startedAt: number;
      /** The breaker's lease, when this attempt is its probe. */
      readonly lease: number | undefined;
      /** Gives the slot back (and the probe's lease, if nothing was recorded). Any number of calls. */
      release(): void;
    }
  | {
      readonly kind: 'refused';
      readonly stop: Stop;
      readonly retryAfterMs: number | undefined;
      /** The origin's last status for these credentials, when the auth fuse refuses them. */
      readonly status?: number;
    };

/** Who may go now: breaker, pause, pace and slots of one host (or of one path rule within it). */
export interface Lane {
  readonly id: string;
  readonly host: string;
  /** Waits for its turn, within the exchange's deadline. Never rejects. */
  admit(exchange: Exchange): Promise<Admission>;
  /** Charges the verdict to the lane, if it is the lane's to bear. */
  record(outcome: {
    exchange: Exchange;
    admission: Admission;
    verdict: Verdict;
    route: Route;
  }): void;
  readonly pausedUntil: number;
  /** Failures in a row, of the kind `backoff.count: lane` counts. */
  readonly failuresInRow: number;
  readonly budgetLeft: boolean;
  /** Whole retries that its budget still pays for. */
  readonly retriesLeft: number;
  /** What the day's byte budget still allows. */
  readonly bytesLeft: BytesLeft;
  /** Takes one retry out of the budget; the returned function gives it back. */
  withdraw(): () => void;
  /** Counts what an attempt sends and receives against the byte budget, as it passes. */
  spend(wire: Wire): void;
  /** The addresses that met a 403 on this path pattern lately, for `persistent_block`. */
  blockedAddresses(path: string): readonly string[];
}

export type Choice =
  | { readonly kind: 'route'; readonly route: Route }
  | {
      readonly kind: 'none';
      readonly stop: Stop;
      readonly retryAfterMs: number | undefined;
      /** Every upstream is out for want of credentials or quota: a matter of the configuration. */
      readonly accountsOut?: boolean;
    };

/** Which way out. */
export interface Routes {
  choose(exchange: Exchange, laneId: string, ledger: Ledger): Choice;
  /** Charges the verdict to the route or its upstream, if it is theirs to bear. */
  record(outcome: {
    exchange: Exchange;
    laneId: string;
    route: Route;
    verdict: Verdict;
    headMs: number | undefined;
  }): void;
  /** What could still be chosen after `ledger`. */
  left(
    exchange: Exchange,
    laneId: string,
    ledger: Ledger,
  ): { readonly routes: boolean; readonly upstreams: boolean };
  /** Ends the exchange's session; the id stays refused for a while. */
  burn(exchange: Exchange): void;
  sessionState(exchange: Exchange): 'active' | 'burned' | 'expired' | undefined;
}

/** The one final answer to an exchange. */
export interface Delivery {
  /** The reply to hand on, if there is one that can be; else one of our own is made. */
  readonly received: Received | undefined;
  readonly verdict: Verdict | undefined;
  /** Why it was not tried again; undefined when the reply is simply delivered. */
  readonly stop: Stop | undefined;
  readonly retryAfterMs: number | undefined;
  /** The status to answer with when the auth fuse refuses. */
  readonly fuseStatus?: number;
  /** Nothing was sent, because every upstream is out for want of credentials or quota. */
  readonly accountsOut?: boolean;
  readonly ledger: Ledger;
  readonly route: Route | undefined;
  /** The dead letter it became. */
  readonly deadLetter?: string;
  /** Nothing was sent: it is what an earlier redrive brought. */
  readonly source?: 'dead-letter';
}
