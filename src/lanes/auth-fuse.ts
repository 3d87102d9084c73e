import type { Fuse, FuseState } from '../core/fuse.ts';
import { fuseState, newFuse, recordAuth } from '../core/fuse.ts';
import type { Policy, ProbePolicy } from '../core/policy.ts';
import type { Exchange } from '../exchange/ports.ts';
import type { AuthSign } from './showing.ts';

/** What a one-time question to the user's probe URL found. */
export type Finding = 'credentials' | 'all_well' | 'unreachable';
/** Asks the user's probe URL once, with the refused exchange's credentials; may reject, which counts as `unreachable`. */
export type Probe = (probe: ProbePolicy, refused: Exchange) => Promise<Finding>;

export interface FuseReport {
  readonly state: 'blown' | 'mended';
  readonly finding: Finding | undefined;
}

const MAX_REMEMBERED = 64;

/** Refuses credentials that the host turned down several times in a row, and finds out whether it was them. */
export class AuthFuse {
  state: Fuse = newFuse();
  readonly #probe: Probe | undefined;
  readonly #report: (report: FuseReport) => void;
  /** Credentials whose fuse is reported as blown and not yet as mended. */
  readonly #reported = new Set<string>();
  #probing = false;

  constructor(o: { probe: Probe | undefined; report: (report: FuseReport) => void }) {
    this.#probe = o.probe;
    this.#report = o.report;
  }

  stateOf(credential: string | undefined, now: number, policy: Policy): FuseState {
    if (credential === undefined || policy.authFuse === 0) return { kind: 'whole' };
    return fuseState(this.state, credential, now);
  }

  /** Returns whether the fuse blew by this. */
  record(credential: string, sign: AuthSign, now: number, exchange: Exchange): boolean {
    const { policy } = exchange;
    if (policy.authFuse === 0 || sign.kind === 'nothing') return false;
    if (sign.kind === 'passed') {
      this.#mend(credential, now, policy, undefined);
      return false;
    }
    const { fuse, blown } = recordAuth(
      this.state,
      { credential, status: sign.status },
      now,
      limits(policy),
    );
    this.state = fuse;
    if (!blown) return false;
    this.#reported.delete(credential);
    this.#reported.add(credential);
    for (const oldest of this.#reported) {
      if (this.#reported.size <= MAX_REMEMBERED) break;
      this.#reported.delete(oldest);
    }
    this.#report({ state: 'blown', finding: undefined });
    void this.#ask(credential, now, exchange);
    return true;
  }

  #mend(credential: string, now: number, policy: Policy, finding: Finding | undefined): void {
    this.state = recordAuth(
      this.state,
      { credential, status: undefined },
      now,
      limits(policy),
    ).fuse;
    if (this.#reported.delete(credential)) this.#report({ state: 'mended', finding });
  }

  /** One question at a time: several credentials that fail together are one reason to ask. */
  async #ask(credential: string, now: number, exchange: Exchange): Promise<void> {
    const { policy } = exchange;
    const probe = this.#probe;
    const ask = policy.probe;
    if (!probe || !ask || this.#probing) return;
    this.#probing = true;
    const finding = await found(() => probe(ask, exchange));
    this.#probing = false;
    // A good reply may have mended it while the question was out.
    if (!this.#reported.has(credential)) return;
    if (finding === 'credentials') this.#report({ state: 'blown', finding });
    else this.#mend(credential, now, policy, finding);
  }
}

async function found(ask: () => Promise<Finding>): Promise<Finding> {
  try {
    return await ask();
  } catch {
    return 'unreachable';
  }
}

/** A blown fuse stays for as long as a breaker that keeps tripping. */
const limits = (policy: Policy): { readonly limit: number; readonly cooldownMs: number } => ({
  limit: policy.authFuse,
  cooldownMs: policy.breaker.maxCooldownMs,
});
