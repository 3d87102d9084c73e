import { chance } from './chance.ts';

/** A token bucket, and how long the site closes when it is empty. */
export interface Limit {
  readonly ratePerSecond: number;
  readonly burst: number;
  /** Whole seconds, as Retry-After says it. */
  readonly retryAfterMs: number;
}

export interface RulesOptions {
  readonly seed: number;
  readonly perAddress?: Limit;
  /** `burnAbove`: when more addresses than this press on in one pause, they are one client, and all of them are banned. */
  readonly wholeSite?: Limit & { readonly burnAbove: number };
  /** Addresses that were banned for good before. */
  readonly burned?: (address: string) => boolean;
  /** Starts when so many requests were served; then every request fails for a while. */
  readonly outage?: { readonly afterServed: number; readonly lastsMs: number };
  /** Share of requests that fail by themselves: a reset, a 500, or half a body. */
  readonly faultRatio?: number;
}

export interface Visit {
  readonly address: string;
  readonly path: string;
}

/** What the site does with a request, settled at its arrival. */
export type Ruling =
  | { readonly kind: 'serve' }
  | { readonly kind: 'throttle'; readonly retryAfterMs: number; readonly strike: boolean }
  | { readonly kind: 'block'; readonly how: 'status' | 'challenge' }
  | { readonly kind: 'outage'; readonly how: 'status' | 'reset' }
  | { readonly kind: 'fault'; readonly how: 'status' | 'reset' | 'cut_short' };

/** What a client did to the site. */
export interface Damage {
  requests: number;
  throttles: number;
  /** Requests that came although they had been told to stay away. */
  strikes: number;
  bans: number;
  poolBurns: number;
  requestsIntoOutage: number;
}

const STRIKES_TO_BAN = 3;
const BAN_MS = 60_000;
/** What arrives this shortly after a pause began had left before it could be known. */
const GRACE_MS = 250;

interface Throttle {
  tokens: number;
  filledAt: number;
  pausedAt: number;
  pausedUntil: number;
  /** Addresses that pressed on in this pause. */
  readonly strikers: Set<string>;
}

interface Standing {
  strikes: number;
  bans: number;
  bannedUntil: number;
}

/** A site's limits, strikes, bans, outages and faults. The time is an argument; all chance comes from the seed. */
export class SiteRules {
  readonly damage: Damage = {
    requests: 0,
    throttles: 0,
    strikes: 0,
    bans: 0,
    poolBurns: 0,
    requestsIntoOutage: 0,
  };
  readonly #options: RulesOptions;
  readonly #throttles = new Map<string, Throttle>();
  readonly #standings = new Map<string, Standing>();
  readonly #visits = new Map<string, number>();
  #served = 0;
  #outageUntil: number | undefined;

  constructor(options: RulesOptions) {
    this.#options = options;
  }

  /** A request has arrived. */
  judge(visit: Visit, now: number): Ruling {
    this.damage.requests += 1;
    const nth = (this.#visits.get(visit.path) ?? 0) + 1;
    this.#visits.set(visit.path, nth);
    const roll = chance(this.#options.seed, visit.path, nth);
    if (this.#isOut(now)) {
      this.damage.requestsIntoOutage += 1;
      return { kind: 'outage', how: roll < 0.5 ? 'status' : 'reset' };
    }
    if (this.#isBanned(visit.address, now)) {
      return { kind: 'block', how: roll < 0.5 ? 'status' : 'challenge' };
    }
    const throttle = this.#throttled(visit.address, now);
    if (throttle) return throttle;
    if (roll < (this.#options.faultRatio ?? 0)) return fault(this.#options.seed, visit.path, nth);
    this.#served += 1;
    return { kind: 'serve' };
  }

  #isOut(now: number): boolean {
    const { outage } = this.#options;
    if (!outage || this.#served < outage.afterServed) return false;
    this.#outageUntil ??= now + outage.lastsMs;
    return now < this.#outageUntil;
  }

  #isBanned(address: string, now: number): boolean {
    if (this.#options.burned?.(address)) return true;
    return now < this.#standingOf(address).bannedUntil;
  }

  /** A pause or an empty bucket, of the site first, then of the address. */
  #throttled(address: string, now: number): Ruling | undefined {
    const { wholeSite, perAddress } = this.#options;
    const told = wholeSite && this.#ask('', wholeSite, address, now);
    return told ?? (perAddress && this.#ask(address, perAddress, address, now));
  }

  #ask(scope: string, limit: Limit, address: string, now: number): Ruling | undefined {
    const throttle = this.#throttleOf(scope, limit, now);
    if (now >= throttle.pausedUntil) {
      if (took(throttle, limit, now)) return undefined;
      throttle.pausedAt = now;
      throttle.pausedUntil = now + limit.retryAfterMs;
      throttle.strikers.clear();
    }
    const strike = now - throttle.pausedAt > GRACE_MS;
    if (strike) this.#strike(address, scope === '' ? throttle.strikers : undefined, now);
    this.damage.throttles += 1;
    return { kind: 'throttle', retryAfterMs: throttle.pausedUntil - now, strike };
  }

  #strike(address: string, strikers: Set<string> | undefined, now: number): void {
    this.damage.strikes += 1;
    const standing = this.#standingOf(address);
    standing.strikes += 1;
    if (standing.strikes >= STRIKES_TO_BAN) this.#ban(address, now);
    if (!strikers) return;
    const burnAbove = this.#options.wholeSite?.burnAbove ?? Number.POSITIVE_INFINITY;
    const before = strikers.size;
    strikers.add(address);
    if (strikers.size <= burnAbove) return;
    if (before <= burnAbove) this.damage.poolBurns += 1;
    for (const striker of strikers) this.#ban(striker, now);
  }

  #ban(address: string, now: number): void {
    const standing = this.#standingOf(address);
    if (now < standing.bannedUntil) return;
    this.damage.bans += 1;
    standing.strikes = 0;
    standing.bannedUntil = now + BAN_MS * 2 ** standing.bans;
    standing.bans += 1;
  }

  #throttleOf(scope: string, limit: Limit, now: number): Throttle {
    const known = this.#throttles.get(scope);
    if (known) return known;
    const strikers = new Set<string>();
    const made = { tokens: limit.burst, filledAt: now, pausedAt: 0, pausedUntil: 0, strikers };
    this.#throttles.set(scope, made);
    return made;
  }

  #standingOf(address: string): Standing {
    const known = this.#standings.get(address);
    if (known) return known;
    const made = { strikes: 0, bans: 0, bannedUntil: 0 };
    this.#standings.set(address, made);
    return made;
  }
}

function took(throttle: Throttle, limit: Limit, now: number): boolean {
  const refilled = ((now - throttle.filledAt) * limit.ratePerSecond) / 1000;
  throttle.tokens = Math.min(limit.burst, throttle.tokens + refilled);
  throttle.filledAt = now;
  if (throttle.tokens < 1) return false;
  throttle.tokens -= 1;
  return true;
}

function fault(seed: number, path: string, nth: number): Ruling {
  const roll = chance(seed, path, nth, 'how');
  if (roll < 1 / 3) return { kind: 'fault', how: 'reset' };
  return { kind: 'fault', how: roll < 2 / 3 ? 'status' : 'cut_short' };
}
