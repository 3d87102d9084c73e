import type { Policy } from '../core/policy.ts';

/** The whole configuration, checked, with defaults filled in. Durations in ms, sizes in bytes. */
export interface Config {
  /** Where it was read from; undefined when all is default. */
  readonly file: string | undefined;
  readonly listen: Address;
  readonly admin: { readonly listen: Address | 'off'; readonly token: string | null };
  readonly metrics: { readonly maxLanes: number };
  readonly clients: readonly { readonly name: string; readonly password: string }[];
  readonly auth: 'optional' | 'required';
  readonly allowPrivateTargets: boolean;
  readonly intercept: InterceptConfig;
  readonly tls: TlsConfig;
  readonly drainMs: number;
  readonly limits: LimitsConfig;
  readonly memory: { readonly maxHeldBytes: number };
  /** Never empty: `direct` is put in when the list is. */
  readonly upstreams: readonly UpstreamConfig[];
  readonly policy: Policy;
  readonly profiles: Readonly<Record<string, PolicyPatch>>;
  readonly targets: readonly TargetConfig[];
  readonly store: { readonly kind: 'embedded' | 'memory' };
  readonly log: LogConfig;
  readonly earlyWarning: { readonly webhook: string | null };
  /** Keys that were set although this version does not act on them yet. */
  readonly notices: readonly string[];
}

export interface LogConfig {
  readonly level: LogLevel;
  readonly format: 'auto' | 'pretty' | 'json';
  /** The attempt log, as an absolute path or relative to the working directory; null: none. Read at start. */
  readonly attempts: string | null;
  /** How many characters of a body a line holds: of good replies, and of others. */
  readonly attemptBodies: { readonly goodChars: number; readonly otherChars: number };
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What clients may take up. Those that say so are read at start only. */
export interface LimitsConfig {
  /** Request line and header fields of one request. Read at start. */
  readonly headerBytes: number;
  /** From the opening of a connection, or the first byte of a later request, to the end of the head. Read at start. */
  readonly headMs: number;
  /** Silence between two requests on one connection. Read at start. */
  readonly keepAliveMs: number;
  /** All client connections together. */
  readonly connections: number;
  readonly clientConnections: number;
  readonly tunnels: number;
  /** HTTP/2 streams at once on one connection. */
  readonly streams: number;
  /** Silence at both ends of a blind tunnel or a switched protocol. */
  readonly tunnelIdleMs: number;
  readonly replyHeaderBytes: number;
}

export interface InterceptConfig {
  readonly mode: 'all' | 'none';
  /** Host globs. */
  readonly except: readonly string[];
  readonly only: readonly string[];
  readonly onUntrusted: 'fail' | 'tunnel';
}

export interface TlsConfig {
  /** PEM texts, read at load. */
  readonly extraCa: readonly string[];
  readonly insecureHosts: readonly string[];
  readonly clientCerts: readonly {
    readonly host: string;
    readonly cert: string;
    readonly key: string;
  }[];
}

/** `policy` keys as given for a target or profile, already parsed; merged key by key over the defaults. */
export type PolicyPatch = DeepPartial<Policy>;
type DeepPartial<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;

export interface TargetConfig {
  readonly match: TargetMatch;
  readonly patch: PolicyPatch;
  /** Set when this target has a `pace` of its own: it is a lane within the host then. A stable text. */
  readonly lane: string | undefined;
}

export interface TargetMatch {
  readonly host: string;
  readonly path: string | undefined;
  readonly method: string | undefined;
  readonly client: string | undefined;
}

export type UpstreamConfig = DirectUpstream | ListUpstream | GatewayUpstream;

interface UpstreamCommon {
  readonly name: string;
  readonly pricePerGb: number | null;
  readonly exitIp: { readonly header: string } | { readonly url: string } | null;
}

export interface DirectUpstream extends UpstreamCommon {
  readonly kind: 'direct';
}

export interface ListUpstream extends UpstreamCommon {
  readonly kind: 'list';
  readonly routes: readonly ProxyAddress[];
  readonly maxEjectedRatio: number;
}

export interface ProxyAddress {
  readonly scheme: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: number;
  /** Percent-decoded. */
  readonly username: string | undefined;
  readonly password: string | undefined;
}

/** Username, password, host, port and headers are templates (see core/template.ts). */
export interface GatewayUpstream extends UpstreamCommon {
  readonly kind: 'gateway';
  readonly scheme: 'http' | 'https' | 'socks5';
  readonly host: string;
  readonly port: string;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Values for template variables: account, password, zone, country, region, city, asn. */
  readonly variables: Readonly<Record<string, string>>;
  readonly sessionTtlMs: number | null;
  /** Whether any template uses `{session}`: without it each connection is a new address and no session can be held. */
  readonly holdsSessions: boolean;
  /** The preset that was applied, given or recognised by host. */
  readonly provider: string | null;
  readonly plain: 'forward' | 'tunnel';
}
