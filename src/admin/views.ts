import type { LetterView } from '../dead-letters/view.ts';
import type { LaneSight } from '../lanes/lane-sight.ts';
import type { Repute } from '../routes/reputation.ts';
import type { WaysOutView } from '../routes/routes.ts';
import type { InterceptionView } from '../telemetry/interception.ts';
import type { Recent } from '../telemetry/recent.ts';
import type { SpendView } from '../telemetry/spend.ts';
import type { RaisedWarning } from '../telemetry/warnings.ts';

/** What the admin server is handed: views as plain data and commands. It knows no part of the proxy itself. */
export interface AdminPorts {
  readonly status: () => StatusFacts;
  readonly lanes: LaneDesk;
  readonly routes: RouteDesk;
  /** Trails of the exchanges, and what happens. */
  readonly recent: Recent;
  readonly deadLetters: LetterDesk;
  /** The configuration with all secrets blanked. */
  readonly config: () => unknown;
  /** Settles when what a command has changed would outlive the process, or after a bounded time. */
  readonly kept: () => Promise<void>;
  /** Begins to drain; called again, it changes nothing. */
  readonly drain: () => void;
  /** What the traffic cost. */
  readonly spend: () => SpendView;
  /** Early warnings that are raised. */
  readonly warnings: () => readonly RaisedWarning[];
  /** How opened TLS fares beside sealed tunnels. */
  readonly interception: () => readonly InterceptionView[];
  /** Prometheus text. */
  readonly metrics: () => Promise<MetricsText>;
}

/** How the process is doing. Instants in epoch ms. */
export interface StatusFacts {
  readonly version: string;
  readonly startedAt: number;
  /** `starting`: not listening yet, or still taking back what it knew. */
  readonly state: 'starting' | 'ready' | 'draining';
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly connections: number;
  readonly exchanges: number;
  readonly sockets: number;
}

/** The lanes, for display and for the operator's hand. */
export interface LaneDesk {
  list(): readonly LaneSight[];
  /** Nothing is sent to the host any more until it is resumed; `full`: too many are isolated already. */
  isolate(host: string): 'now' | 'already' | 'full';
  /** False when it was not isolated. */
  resume(host: string): boolean;
}

/** The ways out, for display and for the operator's hand. */
export interface RouteDesk {
  list(): WaysOutView;
  /** Takes a route out everywhere until an instant; false when there is no such route. */
  eject(routeId: string, untilAt: number): boolean;
  /** Takes a route back in, for every lane; false when there is no such route. */
  restore(routeId: string): boolean;
  /** What is known of a route, everywhere and by lane; undefined when there is no such route. */
  reputation(routeId: string): readonly Repute[] | undefined;
  /** False when there is no such active session. */
  endSession(id: string): boolean;
}

/** Dead letters, in the form in which they are shown. Everything rejects with an error with a `code` when the store fails. */
export interface LetterDesk {
  list(query: LetterFilter & { readonly cursor?: string; readonly limit: number }): Promise<{
    readonly items: readonly LetterView[];
    readonly next: string | undefined;
  }>;
  get(id: string): Promise<LetterView | undefined>;
  /** The request's body; undefined where it was not kept. */
  body(id: string): Promise<Uint8Array | undefined>;
  /** The reply that a redrive has brought. */
  response(id: string): Promise<StoredReply | undefined>;
  counts(): Promise<
    readonly { readonly lane: string; readonly state: LetterView['state']; letters: number }[]
  >;
  drop(ids: readonly string[]): Promise<number>;
  /** Resolves when every letter has come to an end; `onEach` hears of each. */
  redrive(which: LetterChoice, onEach: (told: RedriveTold) => void): Promise<RedriveSummary>;
  export(
    query: LetterFilter,
    o: { readonly format: 'jsonl' | 'curl' | 'har'; readonly withSecrets: boolean },
  ): AsyncIterable<string>;
}

/** Which letters are meant; all conditions hold. Instants in epoch ms. */
export interface LetterFilter {
  readonly state?: LetterView['state'];
  readonly lane?: string;
  readonly host?: string;
  readonly reason?: string;
  readonly session?: string;
  readonly olderThan?: number;
  readonly newerThan?: number;
}

/** Which letters a redrive means. */
export type LetterChoice =
  | { readonly kind: 'ids'; readonly ids: readonly string[]; readonly force: boolean }
  | { readonly kind: 'due' }
  | { readonly kind: 'all' };

/** What became of one letter. */
export interface RedriveTold {
  readonly id: string;
  readonly outcome: string;
  readonly detail: string;
}

/** How many letters came to each end. */
export type RedriveSummary = Readonly<Record<string, number | undefined>>;

/** A reply as it came; header text is latin1. */
export interface StoredReply {
  readonly status: number;
  readonly reason: string;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

export interface MetricsText {
  readonly contentType: string;
  readonly text: string;
}
