import type { Duplex } from 'node:stream';
import type { Clock, Random } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { Policy } from '../core/policy.ts';
import type { Flight } from '../exchange/flight.ts';
import type { HeldMemory } from '../exchange/held-memory.ts';
import type { Delivery, Exchange } from '../exchange/ports.ts';
import type { Switched } from '../exchange/upgrade.ts';
import type { Emit } from '../telemetry/events.ts';
import type { Authority } from './authority.ts';

/** What the client side is handed in. */
export interface ListenerDeps {
  /** The current one: a reload changes it. */
  readonly config: () => Config;
  readonly authority: Authority;
  readonly clock: Clock;
  readonly random: Random;
  readonly emit: Emit;
  /** What request bodies hold, all together. */
  readonly memory: HeldMemory;
  readonly policyFor: (request: {
    readonly host: string;
    readonly authority: string;
    readonly path: string;
    readonly method: string;
    readonly client: string;
    readonly profile: string | undefined;
  }) => { readonly policy: Policy; readonly lane?: string | undefined };
  /** The loop for HTTP. */
  readonly run: (exchange: Exchange) => Promise<Delivery>;
  /** The loop for a blind tunnel; `socket` is its far end, when it stands. */
  readonly runTunnel: (
    exchange: Exchange,
    flight: Flight,
  ) => Promise<Delivery & { readonly socket?: Duplex | undefined }>;
  /** The loop for a request to switch protocols. */
  readonly runUpgrade: (
    exchange: Exchange,
  ) => Promise<Delivery & { readonly switched?: Switched | undefined }>;
  readonly sessionState: (exchange: Exchange) => 'active' | 'burned' | 'expired' | undefined;
}
