import type { SessionsPolicy } from './policy.ts';

/** A client's session id: bound to one route for its life, then refused for a while. */
export type Session = ActiveSession | EndedSession;

export interface ActiveSession {
  readonly state: 'active';
  readonly upstream: string;
  readonly routeId: string;
  /** Counts the lives of this id from 0: each gets an address of its own. */
  readonly life: number;
  readonly country: string | undefined;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** Fixed when it was bound, like everything else about it. */
  readonly terms: SessionsPolicy;
}

export interface EndedSession {
  readonly state: 'burned' | 'expired';
  readonly life: number;
  /** Refused until then; after that the id is new again. */
  readonly untilAt: number;
}

/** What the id is bound to. */
export type Lease = Pick<ActiveSession, 'upstream' | 'routeId' | 'country'>;

/** The session as it stands at `now`: an active one may have run out, an ended one may be forgotten. */
export function sessionAt(session: Session | undefined, now: number): Session | undefined {
  if (session?.state !== 'active') return session && session.untilAt > now ? session : undefined;
  const endsAt = sessionEndsAt(session);
  if (endsAt > now) return session;
  const untilAt = endsAt + session.terms.burnedForMs;
  return untilAt > now ? { state: 'expired', life: session.life, untilAt } : undefined;
}

/** When an active session runs out, unless it is used again before. */
export function sessionEndsAt({ terms, createdAt, lastUsedAt }: ActiveSession): number {
  return Math.min(lastUsedAt + terms.idleMs, createdAt + terms.maxAgeMs);
}

/**
 * Begins a life of an id. `ttlMs` is how long the provider keeps the address: a session must end before the
 * address is changed under it.
 */
export function bind(
  previous: Session | undefined,
  lease: Lease,
  start: { readonly now: number; readonly terms: SessionsPolicy; readonly ttlMs: number | null },
): ActiveSession {
  const { now, terms, ttlMs } = start;
  return {
    state: 'active',
    ...lease,
    life: nextLife(previous),
    createdAt: now,
    lastUsedAt: now,
    terms: { ...terms, maxAgeMs: Math.min(terms.maxAgeMs, ttlMs ?? Number.POSITIVE_INFINITY) },
  };
}

/** The number of the life that would begin now. */
export function nextLife(previous: Session | undefined): number {
  return previous ? previous.life + 1 : 0;
}

/** Enters a use, which puts off the idle end. */
export function touch(session: ActiveSession, now: number): ActiveSession {
  return { ...session, lastUsedAt: Math.max(session.lastUsedAt, now) };
}

/** Ends an active session for cause. */
export function burn(session: ActiveSession, now: number, burnedForMs: number): EndedSession {
  return { state: 'burned', life: session.life, untilAt: now + burnedForMs };
}
