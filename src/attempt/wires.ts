import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { HeldMemory } from '../exchange/held-memory.ts';
import { type Attempts, createAttempts } from './attempt.ts';
import type { Resolve } from './dial.ts';
import { createGuard } from './guard.ts';

/** The attempts under the current configuration, and those of earlier ones until their sockets have ended. */
export class Wires {
  /** The ways over the wire, always under the current configuration. */
  readonly legs: Pick<Attempts, 'attempt' | 'openTunnel' | 'openUpgrade'> = {
    attempt: (...asked) => this.#current.attempt(...asked),
    openTunnel: (...asked) => this.#current.openTunnel(...asked),
    openUpgrade: (...asked) => this.#current.openUpgrade(...asked),
  };
  #current: Attempts;
  readonly #make: (config: Config) => Attempts;
  readonly #earlier = new Set<Attempts>();
  #wiring: string;

  constructor(o: {
    readonly config: Config;
    readonly clock: Clock;
    /** What all bodies hold together. */
    readonly memory: HeldMemory;
    readonly resolve?: Resolve;
    readonly ownAddresses: () => readonly { readonly host: string; readonly port: number }[];
  }) {
    const { clock, resolve, memory, ownAddresses } = o;
    this.#make = ({ tls, limits, allowPrivateTargets }) =>
      createAttempts({
        clock,
        tls,
        guard: createGuard({ allowPrivate: allowPrivateTargets, ownAddresses }),
        replyTerms: { memory, maxHeadBytes: limits.replyHeaderBytes },
        ...(resolve ? { resolve } : {}),
      });
    this.#current = this.#make(o.config);
    this.#wiring = wiringOf(o.config);
  }

  reload(config: Config): void {
    if (wiringOf(config) === this.#wiring) return;
    this.#earlier.add(this.#current);
    this.#current = this.#make(config);
    this.#wiring = wiringOf(config);
  }

  /** Closes a route's idle sockets, and its busy ones when they end. */
  retire(routeId: string): void {
    for (const each of this.#all()) each.retire(routeId);
  }

  openSockets(): number {
    return this.#all().reduce((sum, each) => sum + each.openSockets(), 0);
  }

  close(): void {
    for (const each of this.#all()) each.close();
  }

  #all(): Attempts[] {
    for (const each of this.#earlier) if (each.openSockets() === 0) this.#earlier.delete(each);
    return [this.#current, ...this.#earlier];
  }
}

/** The settings that sockets are made under. */
const wiringOf = ({ tls, limits, allowPrivateTargets }: Config): string =>
  JSON.stringify([tls, limits.replyHeaderBytes, allowPrivateTargets]);
