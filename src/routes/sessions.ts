import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { SessionsPolicy } from '../core/policy.ts';
import {
  type ActiveSession,
  bind,
  burn,
  type EndedSession,
  nextLife,
  type Session,
  sessionAt,
  sessionEndsAt,
  touch,
} from '../core/session.ts';
import type { Route } from '../exchange/ports.ts';
import type { Emit } from '../telemetry/events.ts';

interface Held {
  readonly session: ActiveSession;
  readonly route: Route;
  /** The last use that was kept. */
  readonly keptAt: number;
}

/** Called with a session that began, ended or is remembered no longer. */
export type OnSession = (
  id: string,
  session: Session | undefined,
  route: Route | undefined,
) => void;

const MOST_ACTIVE = 50_000;
const MOST_ENDED = 50_000;
const SWEEP_EVERY_MS = 10_000;
/** A use that puts the idle end off by this share is kept at once: a process may not live long enough to do it later. */
const USE_SHARE = 0.1;

/** The sessions of all clients. A session's route is kept here as it was bound: nothing can move it. */
export class Sessions {
  readonly #active = new Map<string, Held>();
  /** Those that ended, kept beyond their refusal too: the next life must not get the address of the last. */
  readonly #ended = new LRUCache<string, EndedSession>({
    max: MOST_ENDED,
    dispose: (_, id, why) => {
      if (why === 'evict') this.#onChange(id, undefined, undefined);
    },
  });
  readonly #used = new Set<string>();
  readonly #leases = new Map<string, number>();
  readonly #clock: Pick<Clock, 'now'>;
  readonly #emit: Emit;
  readonly #retire: (routeId: string) => void;
  readonly #onChange: OnSession;
  #sweptAt = 0;

  constructor(deps: {
    clock: Pick<Clock, 'now'>;
    emit: Emit;
    retire: (routeId: string) => void;
    onChange: OnSession;
  }) {
    this.#onChange = deps.onChange;
    this.#clock = deps.clock;
    this.#emit = deps.emit;
    this.#retire = deps.retire;
  }

  /** The session as it stands now; undefined when the id is new. */
  at(id: string): Session | undefined {
    const now = this.#clock.now();
    const held = this.#active.get(id);
    if (!held) return sessionAt(this.#ended.get(id), now);
    const session = sessionAt(held.session, now);
    if (session?.state !== 'active') {
      // Ended even where its refusal is over too: that it lived is remembered.
      const untilAt = sessionEndsAt(held.session) + held.session.terms.burnedForMs;
      this.#end(id, held, { state: 'expired', life: held.session.life, untilAt });
    }
    return session;
  }

  /** The route of an active session; a use. */
  use(id: string): Route | undefined {
    const held = this.#active.get(id);
    if (!held) return undefined;
    const session = touch(held.session, this.#clock.now());
    const aheadMs = session.lastUsedAt - held.keptAt;
    const isFar = aheadMs >= session.terms.idleMs * USE_SHARE;
    this.#active.set(id, { ...held, session, ...(isFar && { keptAt: session.lastUsedAt }) });
    if (isFar) this.#onChange(id, session, held.route);
    else this.#used.add(id);
    return held.route;
  }

  /** The number of the life that would begin now. */
  nextLife(id: string): number {
    return nextLife(this.#active.get(id)?.session ?? this.#ended.peek(id));
  }

  /** Whether there is room for one more. */
  get hasRoom(): boolean {
    this.#sweep();
    return this.#active.size < MOST_ACTIVE;
  }

  bind(
    id: string,
    route: Route,
    o: { terms: SessionsPolicy; ttlMs: number | null; country: string | undefined },
  ): Route {
    const previous = this.#ended.peek(id);
    const lease = { upstream: route.upstream, routeId: route.id, country: o.country };
    const start = { now: this.#clock.now(), terms: o.terms, ttlMs: o.ttlMs };
    const session = bind(previous, lease, start);
    const bound = this.#hold(id, session, route);
    this.#onChange(id, session, bound);
    return bound;
  }

  /** Takes back a session of an earlier process; without a route one whose address has gone is burned. */
  restore(id: string, session: Session, route: Route | undefined): void {
    if (this.#active.has(id)) return;
    if (session.state !== 'active') this.#ended.set(id, session);
    else if (route) this.#hold(id, session, route);
    else {
      const ended = burn(session, this.#clock.now(), session.terms.burnedForMs);
      this.#ended.set(id, ended);
      this.#onChange(id, ended, undefined);
    }
  }

  /** Those that were used since they were last kept. */
  *used(): Generator<{ id: string; session: ActiveSession; route: Route }> {
    const ids = [...this.#used];
    this.#used.clear();
    for (const id of ids) {
      const held = this.#active.get(id);
      if (!held) continue;
      this.#active.set(id, { ...held, keptAt: held.session.lastUsedAt });
      yield { id, session: held.session, route: held.route };
    }
  }

  #hold(id: string, session: ActiveSession, route: Route): Route {
    const bound = { ...route, session: id };
    this.#active.set(id, { session, route: bound, keptAt: session.lastUsedAt });
    this.#ended.delete(id);
    this.#leases.set(route.id, this.leasesOf(route.id) + 1);
    return bound;
  }

  burn(id: string, burnedForMs: number): void {
    const held = this.#active.get(id);
    if (held && this.at(id)?.state === 'active') {
      this.#end(id, held, burn(held.session, this.#clock.now(), burnedForMs));
    }
  }

  /** The client's own end: the id may begin anew at once. */
  finish(id: string): boolean {
    const held = this.#active.get(id);
    // One that ran out unseen has ended already, and stays refused.
    if (!held || this.at(id)?.state !== 'active') return false;
    const now = this.#clock.now();
    this.#end(id, held, { state: 'expired', life: held.session.life, untilAt: now });
    return true;
  }

  /** How many sessions have this address. */
  leasesOf(routeId: string): number {
    return this.#leases.get(routeId) ?? 0;
  }

  /** After a reload: `successor` gives the same address as it is dialled now, or undefined when it has gone. */
  carryOver(successor: (session: ActiveSession, route: Route) => Route | undefined): void {
    for (const [id, held] of this.#active) {
      const route = successor(held.session, held.route);
      if (!route) this.burn(id, held.session.terms.burnedForMs);
      else this.#active.set(id, { ...held, route: { ...route, session: id } });
    }
  }

  /** Every session that is active or refused, for display. */
  list(): readonly {
    readonly id: string;
    readonly session: Session;
    readonly label: string | undefined;
  }[] {
    const now = this.#clock.now();
    const ids = [...this.#active.keys(), ...this.#ended.keys()];
    return ids.flatMap((id) => {
      const label = this.#active.get(id)?.route.label;
      const session = sessionAt(this.#active.get(id)?.session ?? this.#ended.peek(id), now);
      return session ? [{ id, session, label }] : [];
    });
  }

  #end(id: string, { session, route }: Held, ended: EndedSession): void {
    this.#active.delete(id);
    this.#ended.set(id, ended);
    this.#onChange(id, ended, undefined);
    const left = this.leasesOf(session.routeId) - 1;
    if (left > 0) this.#leases.set(session.routeId, left);
    else this.#leases.delete(session.routeId);
    // An address of its own goes with it; one of a list stays in use by others.
    if (left <= 0) this.#retire(route.id);
    this.#emit({ type: 'session_ended', at: this.#clock.now(), session: id, end: ended.state });
  }

  /** Ends those that ran out unseen, now and then, when a new one comes. */
  #sweep(): void {
    const now = this.#clock.now();
    const everyMs = this.#active.size < MOST_ACTIVE ? SWEEP_EVERY_MS : SWEEP_EVERY_MS / 10;
    if (now - this.#sweptAt < everyMs) return;
    this.#sweptAt = now;
    for (const id of [...this.#active.keys()]) this.at(id);
  }
}
