import type { Surroundings } from './health.ts';
import { Host } from './host.ts';

/** Hosts that nobody asked for this long are forgotten. */
const IDLE_MS = 24 * 3_600_000;
/** Hosts looked at per lookup, so that forgetting needs no timer and no long sweep. */
const LOOKS = 2;

/**
 * All hosts, at most `maxHosts` of them. Healthy idle ones are forgotten first, the longest unused
 * before others; then paused and broken ones; a host with live exchanges never.
 */
export class HostTable {
  readonly #maxHosts: number;
  readonly #around: Surroundings;
  /** Longest unused first. */
  readonly #hosts = new Map<string, Host>();
  /** Those that were found troubled or busy when their turn to be forgotten came. */
  readonly #spared = new Map<string, Host>();

  constructor(maxHosts: number, around: Surroundings) {
    this.#maxHosts = maxHosts;
    this.#around = around;
  }

  *all(): Generator<Host> {
    yield* this.#spared.values();
    yield* this.#hosts.values();
  }

  get size(): number {
    return this.#hosts.size + this.#spared.size;
  }

  now(): number {
    return this.#around.clock.now();
  }

  has(authority: string): boolean {
    return this.#hosts.has(authority) || this.#spared.has(authority);
  }

  /** The host, made when it is new, and from now on the one used last. */
  get(authority: string): Host {
    const known = this.#hosts.get(authority) ?? this.#spared.get(authority);
    const host = known ?? new Host(authority, this.#around);
    host.usedAt = this.#around.clock.now();
    this.#spared.delete(authority);
    this.#hosts.delete(authority);
    this.#hosts.set(authority, host);
    this.#forgetLongUnused(host.usedAt);
    if (!known) this.#makeRoom(host);
    return host;
  }

  #forgetLongUnused(now: number): void {
    let looks = LOOKS;
    for (const [authority, host] of this.#hosts) {
      if (looks === 0 || now - host.usedAt < IDLE_MS) break;
      looks -= 1;
      this.#hosts.delete(authority);
      if (isKept(host, now)) this.#spared.set(authority, host);
    }
    looks = LOOKS;
    for (const [authority, host] of this.#spared) {
      if (looks === 0) break;
      looks -= 1;
      this.#spared.delete(authority);
      const isOver = now - host.usedAt >= IDLE_MS && !isKept(host, now);
      if (!isOver) this.#spared.set(authority, host);
    }
  }

  #makeRoom(newcomer: Host): void {
    const now = newcomer.usedAt;
    for (const [authority, host] of this.#hosts) {
      if (this.size <= this.#maxHosts || host === newcomer) break;
      this.#hosts.delete(authority);
      if (isKept(host, now)) this.#spared.set(authority, host);
    }
    // Each look at a spared host moves it to the end: live ones are bounded by the live exchanges.
    let looks = this.#spared.size;
    for (const [authority, host] of this.#spared) {
      if (this.size <= this.#maxHosts || looks === 0) return;
      looks -= 1;
      this.#spared.delete(authority);
      if (host.isBusy) this.#spared.set(authority, host);
    }
  }
}

const isKept = (host: Host, now: number): boolean => host.isBusy || host.health.isTroubled(now);
