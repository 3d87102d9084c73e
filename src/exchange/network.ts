import type { Clock } from '../clock.ts';
import { seconds } from '../core/explain.ts';
import {
  answered,
  cutOff,
  failedToConnect,
  type Network,
  networkTurn,
  newNetwork,
  type Sign,
  startedUnder,
  wasCutOff,
} from '../core/outage.ts';
import type { Turn } from '../core/pacing.ts';
import type { Emit } from '../telemetry/events.ts';

/** Knows whether this machine reaches anything; says so once when that ends, and once when it is back. */
export class LocalNetwork {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #emit: Emit;
  #network: Network = newNetwork;

  constructor({ clock, emit }: { readonly clock: Pick<Clock, 'now'>; readonly emit: Emit }) {
    this.#clock = clock;
    this.#emit = emit;
  }

  /** Whether an attempt towards a host may start: all lanes ask. */
  turn(host: string, now: number): Turn {
    return networkTurn(this.#network, host, now);
  }

  started(host: string, now: number): void {
    this.#network = startedUnder(this.#network, host, now);
  }

  failedToConnect(sign: Omit<Sign, 'at'>, upstreams: number): void {
    const now = this.#clock.now();
    this.#set(failedToConnect(this.#network, { ...sign, at: now }, upstreams, now), now);
  }

  cutOff(): void {
    const now = this.#clock.now();
    this.#set(cutOff(this.#network, now), now);
  }

  answered(): void {
    const now = this.#clock.now();
    this.#set(answered(this.#network, now), now);
  }

  /** Whether an attempt that began then may have failed for want of a network. */
  wasCutOff(startedAt: number): boolean {
    return wasCutOff(this.#network, startedAt);
  }

  #set(network: Network, now: number): void {
    const before = this.#network;
    this.#network = network;
    if (before.state !== 'out' && network.state === 'out') {
      this.#notice(
        'warn',
        'nothing can be reached from this machine: all lanes pause, one probe a second goes out, ' +
          'and nobody is blamed',
        now,
      );
    }
    if (before.state === 'out' && network.state !== 'out') {
      const span = seconds(now - before.beganAt);
      this.#notice(
        'info',
        `the network is back after ${span}: all lanes go on, slowly at first`,
        now,
      );
    }
  }

  #notice(level: 'info' | 'warn', message: string, at: number): void {
    this.#emit({ type: 'notice', at, level, message });
  }
}
