import type { LetterView } from '../../dead-letters/view.ts';
import type { AttemptView, EventView } from '../../telemetry/event-view.ts';
import type { TrailView } from '../../telemetry/recent.ts';
import type { SpendRow, SpendView } from '../../telemetry/spend.ts';
import type { laneView } from '../lane-endpoints.ts';

/** What the API shows, as the page reads it. */
export type Lane = ReturnType<typeof laneView>;
export type Trail = TrailView;
export type Attempt = AttemptView;
export type Letter = LetterView;
export type Happening = EventView;
export type { SpendRow, SpendView };

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export interface Status {
  readonly version: string;
  readonly started_at: string;
  readonly state: 'starting' | 'ready' | 'draining';
  readonly listen: string | null;
  readonly connections: number;
  readonly exchanges: number;
  readonly sockets: number;
  readonly waiting: number;
  readonly lanes: Readonly<Record<'all' | Lane['state'], number>>;
  readonly routes: { readonly in: number; readonly ejected: number };
  readonly sessions: Readonly<Record<'active' | 'burned' | 'expired', number>>;
  readonly dead_letters: Readonly<Record<Letter['state'], number>> | null;
}

export interface RouteRow {
  readonly id: string;
  readonly label: string;
  readonly upstream: string;
  readonly state: 'in' | 'ejected';
  readonly ejected_until: string | null;
  readonly sessions: number;
}

export interface UpstreamRow {
  readonly name: string;
  readonly kind: 'direct' | 'list' | 'gateway';
  readonly out_until: string | null;
}

/** What one lane, or (lane null) everybody, knows of a route. */
export interface Reputation {
  readonly lane: string | null;
  readonly good: number;
  readonly bad: number;
  readonly score: number;
  readonly head_ms: number | null;
  readonly ejected_until: string | null;
  readonly reason: string | null;
}

/** A lane's attempts come to something else than usual. */
/** How a lane's opened TLS fares beside sealed tunnels. */
export interface Interception {
  readonly lane: string;
  readonly intercepted: { readonly attempts: number; readonly blocked: number };
  readonly tunnelled: { readonly attempts: number; readonly blocked: number };
  readonly advice: string | null;
  readonly sentence: string | null;
}

export interface Warning {
  readonly lane: string;
  readonly signal: string;
  readonly since: string;
  readonly sentence: string;
}

export interface SessionRow {
  readonly id: string;
  readonly state: 'active' | 'burned' | 'expired';
  readonly upstream: string | null;
  readonly route: string | null;
  readonly country: string | null;
  readonly created_at: string | null;
  readonly last_used_at: string | null;
  readonly ends_at: string | null;
  readonly refused_until: string | null;
}
