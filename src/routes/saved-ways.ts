import type { Ejection, Outage } from '../core/ejection.ts';
import type { Health } from '../core/selection.ts';
import type { ActiveSession, Session } from '../core/session.ts';

type Rec = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Rec =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const areNumbers = (record: Rec, ...keys: readonly string[]): boolean =>
  keys.every((key) => typeof record[key] === 'number' && Number.isFinite(record[key]));
const areTexts = (record: Rec, ...keys: readonly string[]): boolean =>
  keys.every((key) => typeof record[key] === 'string');

/** Reads a saved ejection; undefined when it is not whole, here as below. */
export const readEjection = (value: unknown): Ejection | undefined =>
  isRecord(value) && areTexts(value, 'reason') && areNumbers(value, 'untilAt', 'times')
    ? (value as unknown as Ejection)
    : undefined;

const OUTAGES: readonly string[] = [
  'upstream_auth',
  'upstream_quota',
  'upstream_rate_limited',
  'unreachable',
] satisfies readonly Outage['reason'][];

/** Reads a saved outage: its reason decides how long the next one is. */
export const readOutage = (value: unknown): Outage | undefined =>
  isRecord(value) &&
  OUTAGES.includes(value.reason as string) &&
  areNumbers(value, 'untilAt', 'times')
    ? (value as unknown as Outage)
    : undefined;

/** Reads what was known of a route. */
export const readHealth = (value: unknown): Health | undefined =>
  isRecord(value) &&
  areNumbers(value, 'good', 'bad', 'at') &&
  (value.headMs === null || areNumbers(value, 'headMs'))
    ? (value as unknown as Health)
    : undefined;

/** Reads a session; `way` tells an active one's address as it was dialled. */
export function readSession(value: unknown): { session: Session; way: string } | undefined {
  if (!isRecord(value) || !areNumbers(value, 'life')) return undefined;
  if (value.state === 'burned' || value.state === 'expired') {
    const { state, life, untilAt } = value as unknown as Exclude<Session, ActiveSession>;
    return areNumbers(value, 'untilAt')
      ? { session: { state, life, untilAt }, way: '' }
      : undefined;
  }
  if (value.state !== 'active' || !areTexts(value, 'upstream', 'routeId', 'way')) return undefined;
  const { terms, country } = value;
  if (!areNumbers(value, 'createdAt', 'lastUsedAt') || !isRecord(terms)) return undefined;
  if (!areNumbers(terms, 'idleMs', 'maxAgeMs', 'burnedForMs')) return undefined;
  if (country !== undefined && typeof country !== 'string') return undefined;
  const { way, ...session } = value as unknown as ActiveSession & { way: string };
  return { session: { ...session, country: session.country }, way };
}
