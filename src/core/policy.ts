import type { Marker } from './marker.ts';

/** The rules one exchange lives under: `policy` of the configuration with the matching target and profile merged over it. */
export interface Policy {
  /** How long the client is held in all. */
  readonly patienceMs: number;
  /** Tries in all, the first included; bounds transient retries and rotations together. */
  readonly maxAttempts: number;
  /** Different addresses one exchange may be sent from. */
  readonly maxAddresses: number;
  readonly maxRateWaits: number;
  readonly backoff: BackoffPolicy;
  readonly transientStatuses: readonly number[];
  /** A longer Retry-After is not waited for. */
  readonly retryAfter: { readonly maxMs: number };
  readonly budget: BudgetPolicy;
  /** Bytes that a host may cost from midnight to midnight UTC, both ways; null: no limit. */
  readonly byteBudget: { readonly perDay: number | null };
  readonly breaker: BreakerPolicy;
  readonly pace: PacePolicy;
  readonly routes: RoutesPolicy;
  readonly sessions: SessionsPolicy;
  readonly timeouts: TimeoutsPolicy;
  /** Request bodies up to this many bytes are kept and can be sent again. */
  readonly replayBodyBytes: number;
  /** Methods that may be sent again after bytes of them went out (upper case). */
  readonly replayMethods: readonly string[];
  readonly inspect: InspectPolicy;
  readonly softBlocks: { readonly markers: Enforcement; readonly learned: Enforcement };
  /** An address with a good record is ejected for a bare 403 only if another address is served. */
  readonly controlRequests: boolean;
  /** The user's own challenge, block and throttle pages; looked for before those that are built in. */
  readonly markers: readonly Marker[];
  /** Consecutive 401/403 with the same credentials until they are refused locally; 0 turns the fuse off. */
  readonly authFuse: number;
  /** Asked once when the auth fuse blows: is it the credentials, or something else? */
  readonly probe: ProbePolicy | null;
  readonly heartbeatMs: number;
  readonly deadLetters: DeadLettersPolicy;
  readonly resumeDownloads: boolean;
  readonly annotate: boolean;
  readonly lenient: boolean;
  /** Whether https origins are offered HTTP/2: when the client speaks it too, always, or never. */
  readonly http2: 'auto' | 'always' | 'never';
  /** Names of the upstreams to use, in order; null means all that are configured. */
  readonly upstreams: readonly string[] | null;
  readonly replies: readonly ReplyRule[];
  readonly expect: readonly ExpectRule[];
}

export type Enforcement = 'off' | 'report' | 'enforce';

export interface BackoffPolicy {
  readonly baseMs: number;
  readonly factor: number;
  readonly capMs: number;
  /** A number j spreads the delay over ceiling × U(1−j, 1+j). */
  readonly jitter: 'full' | 'equal' | 'decorrelated' | number;
  /** What n counts: this exchange's tries, or the lane's failures in a row. */
  readonly count: 'attempts' | 'lane';
}

export interface BudgetPolicy {
  /** Retries earned by each exchange that ended well. */
  readonly ratio: number;
  readonly floorPerMinute: number;
  readonly windowMs: number;
}

export interface BreakerPolicy {
  readonly failureRatio: number;
  readonly minAttempts: number;
  readonly consecutive: number;
  readonly windowMs: number;
  readonly cooldownMs: number;
  readonly maxCooldownMs: number;
  readonly probes: number;
  readonly whenOpen: 'auto' | 'wait' | 'refuse';
}

export interface PacePolicy {
  /** Least distance between two starts, drawn uniformly. */
  readonly delay: { readonly minMs: number; readonly maxMs: number };
  readonly concurrency: number;
  /** A fixed ceiling in starts per second; null: the lane learns it. */
  readonly ratePerSecond: number | null;
  /** Exchanges that may wait for their turn; the next is refused. */
  readonly queue: number;
}

export interface RoutesPolicy {
  readonly rotation: 'keep' | 'fresh';
  readonly warm: 'auto' | number;
  readonly maxUses: number | null;
  readonly retireForMs: number;
}

export interface SessionsPolicy {
  readonly idleMs: number;
  readonly maxAgeMs: number;
  readonly burnedForMs: number;
}

export interface TimeoutsPolicy {
  /** TCP, the upstream's handshake and TLS, each. */
  readonly connectMs: number;
  readonly firstByteMs: number;
  /** Silence inside a body. */
  readonly idleMs: number;
  /** How long a silent client of a tunnel is waited for before the tunnel is joined blindly. */
  readonly sniffMs: number;
  /** How long one side of a tunnel may outlive the other. */
  readonly lingerMs: number;
}

export interface InspectPolicy {
  /** Decoded bytes that are looked at. */
  readonly bytes: number;
  /** Encoded bytes that are held back until the verdict is in. */
  readonly holdBytes: number;
  /** A body of unknown length is held at most this long. */
  readonly holdMs: number;
  /** Media types, `text/*` and `application/*+json` style. A reply without a type is inspected. */
  readonly types: readonly string[];
}

export interface ProbePolicy {
  readonly url: string;
  readonly expect: string;
}

export interface DeadLettersPolicy {
  readonly enabled: boolean;
  readonly cooldownMs: number;
  readonly maxRedrives: number;
  readonly keepMs: number;
  readonly keepSecrets: boolean;
  /** What a letter of a session that has ended does: wait for the client, or go out in a session of its own. */
  readonly redrive: 'same_session' | 'fresh_session';
  /** No more of a redrive's reply is stored. */
  readonly maxResponseBytes: number;
  /** Told of each letter that is done. */
  readonly webhook: { readonly url: string; readonly secret: string } | null;
  /** For so long the same request gets what its redrive brought; null: it is sent. */
  readonly serveRedrivenMs: number | null;
}

/** A user's rule over replies; the first that matches decides, before any other evidence. */
export interface ReplyRule {
  readonly when: ReplyCondition;
  readonly verdict: 'terminal' | 'transient' | 'rate' | 'address' | 'ok';
  readonly label: string;
}

export interface ReplyCondition {
  /** Any of these. */
  readonly statuses?: readonly number[];
  /** Path glob over path and query. */
  readonly path?: string;
  readonly method?: string;
  readonly bodyContains?: string;
  /** RE2 syntax. */
  readonly bodyMatches?: string;
  /** Header names in lower case; the value must contain the text (empty: be present). */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Something a good reply shows. All keys given must hold. */
export interface ExpectCheck {
  readonly bodyContains?: string;
  /** RE2 syntax. */
  readonly bodyMatches?: string;
  /** JSON Pointer (RFC 6901) that must exist, or what must stand there. */
  readonly json?: string | JsonCheck;
  readonly minBytes?: number;
  /** Media type, wildcards as in `inspect.types`. */
  readonly contentType?: string;
  readonly css?: { readonly selector: string; readonly min: number };
  readonly all?: readonly ExpectCheck[];
  readonly any?: readonly ExpectCheck[];
  readonly not?: ExpectCheck;
}

/** What must stand where a JSON Pointer leads. All keys given must hold. */
export interface JsonCheck {
  readonly pointer: string;
  readonly exists?: boolean;
  readonly equals?: string | number | boolean | null;
  /** Entries of a list or an object. */
  readonly minItems?: number;
}

/** What a good reply must show, and what it means when it does not. */
export interface ExpectRule extends ExpectCheck {
  /** Without `statuses`: any 2xx but 204 and 206. */
  readonly when: {
    readonly path?: string;
    readonly method?: string;
    readonly statuses?: readonly number[];
  };
  readonly otherwise: 'transient' | 'rate' | 'address' | 'terminal';
  readonly label: string;
}
