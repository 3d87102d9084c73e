import { fieldValue, fieldValues, type RawHeaders } from './fields.ts';
import { decimalSpan, durationSpan, httpDate, type Now, spanOrMoment } from './moments.ts';
import { rateLimitItems } from './rate-limit-fields.ts';

/** How long the site asked us to stay away (always more than 0), and the field that said so. */
export interface RateSignal {
  readonly waitMs: number;
  /** In lower case. */
  readonly header: string;
  readonly value: string;
}

/** Nothing is left, but the site did not say until when. */
export interface Unbounded {
  readonly waitMs: undefined;
  readonly header: string;
  readonly value: string;
}

/**
 * The wait a reply asks for. Retry-After wins, then retry-after-ms, then the longest of the rate-limit fields that
 * do not say that something is left. Negative, zero, past or unreadable is undefined: the caller's own backoff.
 * Absolute times are read against the reply's own Date where there is one, else against `nowWall` (epoch ms).
 */
export function rateSignal(raw: RawHeaders, nowWall: number): RateSignal | undefined {
  const now = replyNow(raw, nowWall);
  const told =
    longest(raw, 'retry-after', (text) => spanOrMoment(text, now)) ??
    longest(raw, 'retry-after-ms', (text) => decimalSpan(text, 1));
  if (told) return told;
  const limits = limitsIn(raw, now);
  const spent = limits.filter((limit) => limit.left === 'nothing');
  return longestReset(spent) ?? longestReset(limits.filter((limit) => limit.left === 'unknown'));
}

/** The sign that nothing is left (remaining = 0, in any known form), with the time of its reset where that is told. */
export function exhausted(raw: RawHeaders, nowWall: number): RateSignal | Unbounded | undefined {
  if (!namesLimits(raw)) return undefined;
  const now = replyNow(raw, nowWall);
  const spent = limitsIn(raw, now).filter((limit) => limit.left === 'nothing');
  const first = spent[0]?.sign;
  if (!first) return undefined;
  const waits = spent.flatMap(({ sign, reset }) =>
    reset ? [{ ...sign, waitMs: reset.waitMs }] : [],
  );
  return longer(waits) ?? { ...first, waitMs: undefined };
}

/** Whether there is a Retry-After at all, readable or not: with a 403 or 413 its presence alone means "later". */
export function hasRetryAfter(raw: RawHeaders): boolean {
  return (
    fieldValue(raw, 'retry-after') !== undefined || fieldValue(raw, 'retry-after-ms') !== undefined
  );
}

/** One limit of the site: what is left of it, and when it is refilled. */
interface Limit {
  readonly left: 'nothing' | 'something' | 'unknown';
  /** The field that tells what is left, else the one that tells the reset. */
  readonly sign: { readonly header: string; readonly value: string };
  readonly reset: RateSignal | undefined;
}

// Pairs of fields that older and vendors' APIs use: what is left, and when it is refilled.
const PAIRS: readonly { remaining: string; reset: string }[] = [
  { remaining: 'ratelimit-remaining', reset: 'ratelimit-reset' },
  { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { remaining: 'x-rate-limit-remaining', reset: 'x-rate-limit-reset' },
  { remaining: 'x-ratelimit-remaining-requests', reset: 'x-ratelimit-reset-requests' },
  { remaining: 'x-ratelimit-remaining-tokens', reset: 'x-ratelimit-reset-tokens' },
];

/** Asked of every good reply, of which few say anything about limits. */
const namesLimits = (raw: RawHeaders): boolean =>
  raw.some((text, i) => i % 2 === 0 && /rate-?limit/i.test(text));

function limitsIn(raw: RawHeaders, now: Now): Limit[] {
  return [...structuredLimits(raw, now), ...PAIRS.flatMap((pair) => pairedLimit(raw, pair, now))];
}

function structuredLimits(raw: RawHeaders, now: Now): Limit[] {
  return rateLimitItems(raw).map((item) => {
    const sign = { header: 'ratelimit', value: item.text };
    const waitMs = item.reset === undefined ? undefined : spanOrMoment(item.reset, now);
    return { left: leftOf(item.remaining), sign, reset: signal('ratelimit', item.text, waitMs) };
  });
}

function pairedLimit(
  raw: RawHeaders,
  pair: { remaining: string; reset: string },
  now: Now,
): Limit[] {
  const remaining = fieldValue(raw, pair.remaining);
  const reset = longest(raw, pair.reset, (text) => durationSpan(text) ?? spanOrMoment(text, now));
  if (remaining !== undefined) {
    return [{ left: leftOf(remaining), sign: { header: pair.remaining, value: remaining }, reset }];
  }
  return reset ? [{ left: 'unknown', sign: reset, reset }] : [];
}

function leftOf(remaining: string | undefined): Limit['left'] {
  if (remaining === undefined || !/^-?\d+(?:\.\d+)?$/.test(remaining)) return 'unknown';
  return Number(remaining) > 0 ? 'something' : 'nothing';
}

// A field that came twice is taken at its longer word: too late costs time, too early a strike.
function longest(
  raw: RawHeaders,
  header: string,
  read: (text: string) => number | undefined,
): RateSignal | undefined {
  return longer(
    fieldValues(raw, header).flatMap((value) => signal(header, value, read(value)) ?? []),
  );
}

function signal(header: string, value: string, waitMs: number | undefined): RateSignal | undefined {
  return waitMs !== undefined && waitMs > 0 ? { waitMs, header, value } : undefined;
}

function longestReset(limits: readonly Limit[]): RateSignal | undefined {
  return longer(limits.flatMap((limit) => limit.reset ?? []));
}

function longer(signals: readonly RateSignal[]): RateSignal | undefined {
  return signals.toSorted((a, b) => b.waitMs - a.waitMs)[0];
}

function replyNow(raw: RawHeaders, nowWall: number): Now {
  const date = fieldValue(raw, 'date');
  return { wallMs: (date && httpDate(date, { wallMs: nowWall })) || nowWall };
}
