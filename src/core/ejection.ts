import type { AccountReason, RouteReason } from './verdict.ts';

/** A route that is out, for one lane or everywhere; kept after its return until a success forgives it. */
export interface Ejection {
  readonly reason: RouteReason;
  readonly untilAt: number;
  /** Ejections in a row. */
  readonly times: number;
}

/** An upstream's account that is out: bad credentials, no quota, or its own rate limit. */
export interface Outage {
  readonly reason: AccountReason | 'unreachable';
  readonly untilAt: number;
  readonly times: number;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const LONGEST_EJECTION_MS = 24 * HOUR_MS;

const coolDowns: Readonly<Record<Outage['reason'], { baseMs: number; capMs: number }>> = {
  upstream_auth: { baseMs: 5 * MINUTE_MS, capMs: 6 * HOUR_MS },
  upstream_quota: { baseMs: 15 * MINUTE_MS, capMs: 6 * HOUR_MS },
  // Its own limit names its time, or is short; it does not grow.
  upstream_rate_limited: { baseMs: 30 * SECOND_MS, capMs: 30 * SECOND_MS },
  unreachable: { baseMs: 5 * SECOND_MS, capMs: 2 * MINUTE_MS },
};

/** Whether it has not come back yet. */
export function isOut(entry: { readonly untilAt: number } | undefined, now: number): boolean {
  return entry !== undefined && entry.untilAt > now;
}

/**
 * Takes a route out for `retireForMs`, doubling each time in a row up to a day. `roll` lengthens it by up to a
 * tenth, so that routes that left together do not return together.
 */
export function eject(
  previous: Ejection | undefined,
  cause: { readonly reason: RouteReason; readonly retireForMs: number; readonly roll: number },
  now: number,
): Ejection {
  // Stragglers sent before the ejection neither extend nor renew it.
  if (previous && isOut(previous, now)) return previous;
  const times = previous && now - previous.untilAt < LONGEST_EJECTION_MS ? previous.times + 1 : 1;
  const spanMs = doubled(cause.retireForMs, times, LONGEST_EJECTION_MS);
  return { reason: cause.reason, times, untilAt: now + spanMs * (1 + 0.1 * cause.roll) };
}

/** Takes an account out; a longer time named by the upstream itself wins, a shorter one shortens nothing. */
export function takeOut(
  previous: Outage | undefined,
  cause: { readonly reason: Outage['reason']; readonly waitMs: number | undefined },
  now: number,
): Outage {
  const { reason, waitMs } = cause;
  if (previous && isOut(previous, now)) {
    return { ...previous, untilAt: Math.max(previous.untilAt, now + (waitMs ?? 0)) };
  }
  const { baseMs, capMs } = coolDowns[reason];
  const times = previous?.reason === reason ? previous.times + 1 : 1;
  const spanMs = Math.max(doubled(baseMs, times, capMs), waitMs ?? 0);
  const named = reason === 'upstream_rate_limited' && waitMs !== undefined;
  return { reason, times, untilAt: now + (named ? waitMs : spanMs) };
}

const doubled = (baseMs: number, times: number, capMs: number): number =>
  Math.max(baseMs, Math.min(capMs, baseMs * 2 ** Math.min(times - 1, 40)));

/**
 * The routes that are out but used all the same, least bad (earliest to return) first, because more are out than
 * `maxRatio` of the list allows. At least one route of a list is always usable.
 */
export function beyondCap(
  routes: readonly string[],
  outUntil: (route: string) => number | undefined,
  maxRatio: number,
): readonly string[] {
  const out = routes.flatMap((route) => {
    const untilAt = outUntil(route);
    return untilAt === undefined ? [] : [{ route, untilAt }];
  });
  const allowed = Math.min(Math.floor(routes.length * maxRatio), routes.length - 1);
  if (out.length <= allowed) return [];
  const leastBadFirst = out.sort((a, b) => a.untilAt - b.untilAt);
  return leastBadFirst.slice(0, out.length - allowed).map(({ route }) => route);
}

/** Ejections everywhere within the last moment, and whether so many at once were announced. */
export interface Volley {
  readonly shots: readonly { readonly route: string; readonly at: number }[];
  readonly announced: boolean;
}

export const newVolley: Volley = { shots: [], announced: false };

const VOLLEY_MS = SECOND_MS;

/** Enters that a route failed everywhere. */
export function shot(volley: Volley, route: string, now: number): Volley {
  const recent = volley.shots.filter((one) => now - one.at < VOLLEY_MS && one.route !== route);
  return { ...volley, shots: [...recent, { route, at: now }] };
}

/** Whether so many of a list failed within a second that the cause must be elsewhere. */
export function isVolley(volley: Volley, listSize: number): boolean {
  return volley.shots.length >= 3 && volley.shots.length > listSize / 2;
}
