import type { Clock } from '../clock.ts';
import type { Ejection, Outage } from '../core/ejection.ts';
import { moved } from '../core/elapsed.ts';
import type { Health } from '../core/selection.ts';
import type { ActiveSession, Session } from '../core/session.ts';
import type { KeptChange, KeptRow, KeptTable } from '../exchange/kept.ts';
import type { Route } from '../exchange/ports.ts';
import type { Accounts } from './accounts.ts';
import type { Reputation } from './reputation.ts';
import { readEjection, readHealth, readOutage, readSession } from './saved-ways.ts';
import type { Sessions } from './sessions.ts';
import type { Upstreams } from './upstreams.ts';

interface Ways {
  readonly clock: Pick<Clock, 'now'>;
  readonly sessions: Sessions;
  readonly upstreams: Upstreams;
  readonly reputation: Reputation;
  readonly accounts: Accounts;
}

/** A day: an ejection or outage that ended longer ago does not make the next one longer. */
const OLD_MS = 24 * 3_600_000;
const OLD_SESSION_MS = 30 * OLD_MS;

/** What is kept of the ways out, in the order in which it is taken back. */
export function keptWays(ways: Ways): readonly KeptTable[] {
  const { clock, reputation, accounts, upstreams } = ways;
  const isOld = (at: number) => clock.now() - at > OLD_MS;
  return [
    keptSessions(ways),
    table('ejections', ({ key, value, shiftMs }) => {
      const ejection = until(readEjection(value), shiftMs);
      if (!ejection || isOld(ejection.untilAt)) return false;
      reputation.restoreEjection(key, ejection);
      return true;
    }),
    table('outages', ({ key, value, shiftMs }) => {
      const outage = until(readOutage(value), shiftMs);
      if (!outage || isOld(outage.untilAt)) return false;
      accounts.restore(key, outage);
      return true;
    }),
    table('gateways', ({ key, value }) => {
      if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) return false;
      upstreams.startAbove(key, value);
      return true;
    }),
    table('reputations', restoringHealth(ways, isOld), function* () {
      for (const [key, value] of reputation.changedHealth()) yield { key, value };
    }),
  ];
}

/** What is written of a session. */
export function savedSession(
  session: Session | undefined,
  route: Route | undefined,
  upstreams: Upstreams,
): unknown {
  if (session?.state !== 'active' || !route) return session;
  return { ...session, way: upstreams.wayHash(route) };
}

function keptSessions({ sessions, upstreams, clock }: Ways): KeptTable {
  const restore = ({ key, value, shiftMs }: KeptRow): boolean => {
    const saved = readSession(value);
    if (!saved) return false;
    const session = movedSession(saved.session, shiftMs);
    if (session.state !== 'active') {
      // Beyond its refusal too: the next life must not get the address of the last.
      sessions.restore(key, session, undefined);
      return clock.now() - session.untilAt < OLD_SESSION_MS;
    }
    sessions.restore(key, session, upstreams.leased(key, session, saved.way));
    return true;
  };
  return table('sessions', restore, function* (how) {
    // What must not be lost was kept at once.
    if (how === 'rough') return;
    for (const { id, session, route } of sessions.used()) {
      yield { key: id, value: savedSession(session, route, upstreams) };
    }
  });
}

function restoringHealth({ reputation }: Ways, isOld: (at: number) => boolean) {
  return ({ key, value, shiftMs }: KeptRow): boolean => {
    const health: Health | undefined = readHealth(value);
    if (!health) return false;
    const at = moved(health.at, shiftMs);
    if (isOld(at)) return false;
    reputation.restoreHealth(key, { ...health, at });
    return true;
  };
}

/** A table of rows that are each of use or not. Without `changes` its rows are all kept at once. */
function table(
  name: string,
  take: (row: KeptRow) => boolean,
  changes: (how: 'rough' | 'all') => Iterable<KeptChange> = () => [],
): KeptTable {
  return {
    name,
    changes,
    restore: (rows) => rows.filter((row) => !take(row)).map(({ key }) => key),
  };
}

function movedSession(session: Session, byMs: number): Session {
  if (session.state !== 'active') return { ...session, untilAt: moved(session.untilAt, byMs) };
  const active: ActiveSession = session;
  return {
    ...active,
    createdAt: moved(active.createdAt, byMs),
    lastUsedAt: moved(active.lastUsedAt, byMs),
  };
}

function until<Entry extends Ejection | Outage>(
  entry: Entry | undefined,
  byMs: number,
): Entry | undefined {
  return entry && { ...entry, untilAt: moved(entry.untilAt, byMs) };
}
