import type { ConnectionKey } from './connections.ts';
import type { H2Session } from './h2-session.ts';

/** The open HTTP/2 sessions, which many exchanges use at a time, and the dials that may become some. */
export class H2Sessions {
  readonly #sessions = new Map<string, Set<H2Session>>();
  readonly #dials = new Map<string, Promise<void>>();

  /** A session with room for one more request; of several, the one that was made first. */
  take(
    key: ConnectionKey,
    o: { readonly now: number; readonly maxIdleMs: number; readonly bornSince: number },
  ): H2Session | undefined {
    for (const session of this.#sessions.get(key.text) ?? []) {
      const fresh = session.bornAt >= o.bornSince && session.idleMs(o.now) <= o.maxIdleMs;
      if (fresh && session.room > 0) return session;
    }
    return undefined;
  }

  /** Takes charge of a session that was just made. */
  add(session: H2Session): void {
    const { text } = session.key;
    const sessions = this.#sessions.get(text) ?? new Set();
    this.#sessions.set(text, sessions.add(session));
    void session.closed.then(() => {
      sessions.delete(session);
      if (sessions.size === 0 && this.#sessions.get(text) === sessions) this.#sessions.delete(text);
    });
  }

  /** What to wait for before dialling: somebody else is at it, and there may be room on what comes of it. */
  dialling(key: ConnectionKey): Promise<void> | undefined {
    return this.#dials.get(key.text);
  }

  /** Says that a dial is under way, until `over` settles. One at a time is waited for. */
  announce(key: ConnectionKey, over: Promise<void>): void {
    if (this.#dials.has(key.text)) return;
    this.#dials.set(key.text, over);
    void over.then(() => this.#dials.delete(key.text));
  }

  /** Closes all idle sessions for one use: when one was stale, its neighbours are. */
  dropIdle(key: ConnectionKey): void {
    for (const session of this.#sessions.get(key.text) ?? []) {
      if (session.isIdle) session.destroy();
    }
  }

  /** Closes a route's sessions, busy ones when their requests have ended. */
  retire(routeId: string): void {
    for (const session of this.#all()) if (session.key.routeId === routeId) session.retire();
  }

  /** Closes all of them at once. */
  close(): void {
    for (const session of this.#all()) session.destroy();
  }

  #all(): H2Session[] {
    return [...this.#sessions.values()].flatMap((sessions) => [...sessions]);
  }
}
