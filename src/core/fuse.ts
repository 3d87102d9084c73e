/** More credentials than this are not remembered per lane. */
const MOST_CREDENTIALS = 64;

/** Refusals in a row per credential of one lane, the latest to be refused last. */
export interface Fuse {
  readonly strikes: readonly Strike[];
}

export interface Strike {
  /** A hash; the credentials themselves are never kept. */
  readonly credential: string;
  readonly refusals: number;
  /** The last refusal's status: 401 or 403. */
  readonly status: number;
  /** In the past, or 0, while the fuse is whole. */
  readonly blownUntil: number;
}

export type FuseState =
  | { readonly kind: 'whole' }
  | { readonly kind: 'blown'; readonly status: number; readonly untilAt: number };

/** A fuse that knows no credentials. */
export const newFuse = (): Fuse => ({ strikes: [] });

/** Whether requests with this credential are refused locally. */
export function fuseState(fuse: Fuse, credential: string, now: number): FuseState {
  const strike = fuse.strikes.find((s) => s.credential === credential);
  if (!strike || now >= strike.blownUntil) return { kind: 'whole' };
  return { kind: 'blown', status: strike.status, untilAt: strike.blownUntil };
}

/**
 * Counts a refusal (`status` 401 or 403), or forgets all of them after a success (`status` undefined).
 * `blown` is true for the one refusal that blew it. After the cool-down one more refusal blows it again.
 */
export function recordAuth(
  fuse: Fuse,
  outcome: { credential: string; status: number | undefined },
  now: number,
  policy: { limit: number; cooldownMs: number },
): { fuse: Fuse; blown: boolean } {
  const { credential, status } = outcome;
  const before = fuse.strikes.find((s) => s.credential === credential);
  const others = fuse.strikes.filter((s) => s !== before);
  if (status === undefined) return { fuse: before ? { strikes: others } : fuse, blown: false };
  const refusals = (before?.refusals ?? 0) + 1;
  const wasBlown = before !== undefined && now < before.blownUntil;
  const blown = !wasBlown && policy.limit > 0 && refusals >= policy.limit;
  // Refusals still in flight when it blew do not prolong it.
  const blownUntil = blown ? now + policy.cooldownMs : (before?.blownUntil ?? 0);
  const strikes = [...others, { credential, refusals, status, blownUntil }];
  return { fuse: { strikes: bounded(strikes, now) }, blown };
}

function bounded(strikes: readonly Strike[], now: number): readonly Strike[] {
  if (strikes.length <= MOST_CREDENTIALS) return strikes;
  // A blown fuse is worth more than an old count.
  const whole = strikes.findIndex((s, i) => now >= s.blownUntil && i < strikes.length - 1);
  return strikes.toSpliced(Math.max(0, whole), 1);
}
