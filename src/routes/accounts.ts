import { isOut, type Outage, takeOut } from '../core/ejection.ts';
import type { Verdict } from '../core/verdict.ts';
import type { Pool } from './pool.ts';

/** After so many failed dials in a row a gateway itself counts as away, whatever token was asked for. */
const DIALS_UNTIL_AWAY = 3;

/** Called with an outage that begins or grows, or is over. */
export type OnOutage = (key: string, outage: Outage | undefined) => void;

/** Which upstreams may not be asked now: their credentials, quota or rate limit said so, or nobody answers there. */
export class Accounts {
  readonly #outages = new Map<string, Outage>();
  readonly #away = new Map<string, Outage>();
  readonly #failedDials = new Map<string, number>();
  readonly #onChange: OnOutage;

  constructor(onChange: OnOutage) {
    this.#onChange = onChange;
  }

  /** Takes back an outage of an earlier process. */
  restore(key: string, outage: Outage): void {
    const [kind, name] = [key.slice(0, key.indexOf(' ')), key.slice(key.indexOf(' ') + 1)];
    if (kind === 'account') this.#outages.set(name, outage);
    if (kind === 'away') this.#away.set(name, outage);
  }

  /** Charges an account fault; tells when the whole upstream is back, or undefined when part of it still works. */
  fault(
    pool: Pool,
    routeId: string,
    verdict: Extract<Verdict, { fault: 'account' }>,
    now: number,
  ): number | undefined {
    const account = pool.accountOf(routeId);
    const cause = { reason: verdict.reason, waitMs: verdict.waitMs };
    const outage = takeOut(this.#outages.get(account), cause, now);
    this.#outages.set(account, outage);
    this.#onChange(`account ${account}`, outage);
    return this.#accountsOutUntil(pool, now);
  }

  /** A reply came through: what was over is forgiven. */
  works(pool: Pool, routeId: string, now: number): void {
    const account = pool.accountOf(routeId);
    if (!isOut(this.#outages.get(account), now)) this.#endOutage(account);
    this.answers(pool);
  }

  /** Something answered at the gateway's door. */
  answers(pool: Pool): void {
    this.#failedDials.delete(pool.upstream.name);
    this.#endAway(pool.upstream.name);
  }

  /** A gateway's door stayed shut: that is no token's fault. Tells until when it is away, once it counts as that. */
  failedDial(pool: Pool, now: number): number | undefined {
    const { name } = pool.upstream;
    const failed = (this.#failedDials.get(name) ?? 0) + 1;
    this.#failedDials.set(name, failed);
    if (failed < DIALS_UNTIL_AWAY || isOut(this.#away.get(name), now)) return undefined;
    const away = takeOut(this.#away.get(name), { reason: 'unreachable', waitMs: undefined }, now);
    this.#away.set(name, away);
    this.#onChange(`away ${name}`, away);
    return away.untilAt;
  }

  /** When the upstream may be asked again; undefined when it may be asked now. */
  outUntil(pool: Pool, now: number): number | undefined {
    const away = this.#away.get(pool.upstream.name);
    return (
      this.#accountsOutUntil(pool, now) ?? (away && isOut(away, now) ? away.untilAt : undefined)
    );
  }

  /** Whether it is out for want of good credentials or quota: a matter of the configuration, not of time. */
  areSpent(pool: Pool, now: number): boolean {
    const outages = pool.accounts.map((account) => this.#outages.get(account));
    return (
      outages.length > 0 &&
      outages.every((one) => isOut(one, now) && one?.reason !== 'upstream_rate_limited')
    );
  }

  /** The outage of the account behind one route. */
  outageOf(pool: Pool, routeId: string, now: number): Outage | undefined {
    const outage = this.#outages.get(pool.accountOf(routeId));
    return isOut(outage, now) ? outage : undefined;
  }

  /** Forgets what is no longer configured. */
  keepOnly(pools: readonly Pool[]): void {
    const accounts = new Set(pools.flatMap((pool) => pool.accounts));
    const names = new Set(pools.map((pool) => pool.upstream.name));
    for (const account of this.#outages.keys()) {
      if (!accounts.has(account)) this.#endOutage(account);
    }
    for (const name of [...this.#away.keys(), ...this.#failedDials.keys()]) {
      if (names.has(name)) continue;
      this.#endAway(name);
      this.#failedDials.delete(name);
    }
  }

  #endOutage(account: string): void {
    if (this.#outages.delete(account)) this.#onChange(`account ${account}`, undefined);
  }

  #endAway(name: string): void {
    if (this.#away.delete(name)) this.#onChange(`away ${name}`, undefined);
  }

  #accountsOutUntil(pool: Pool, now: number): number | undefined {
    const outages = pool.accounts.map((account) => this.#outages.get(account));
    if (outages.length === 0 || outages.some((outage) => !isOut(outage, now))) return undefined;
    return Math.min(...outages.map((outage) => outage?.untilAt ?? 0));
  }
}
