/** Longer waits are all the same: sums with epoch milliseconds stay exact integers and valid dates. */
export const LONGEST_MS = 1e15;

/** The reply's `Date`, or our own clock where there is none: absolute times are read against it, which cancels skew. */
export interface Now {
  readonly wallMs: number;
}

const DECIMAL = /^(?:\d+(?:\.\d*)?|\.\d+)$/;
const EPOCH_S_FROM = 1e9;
const EPOCH_MS_FROM = 1e12;

/** Milliseconds until a time that is written as delta seconds, as an epoch (its size tells the unit) or as a date. */
export function spanOrMoment(text: string, now: Now): number | undefined {
  if (!DECIMAL.test(text)) return momentSpan(text, now);
  const n = Number(text);
  if (n >= EPOCH_MS_FROM) return bounded(n - now.wallMs);
  return bounded(n >= EPOCH_S_FROM ? n * 1000 - now.wallMs : n * 1000);
}

/** Milliseconds of a plain decimal number in units of `unitMs`. */
export function decimalSpan(text: string, unitMs: number): number | undefined {
  return DECIMAL.test(text) ? bounded(Number(text) * unitMs) : undefined;
}

const DURATION =
  /^(?=.)(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;
const DURATION_UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000, 1];

/** Milliseconds of a duration text: `1m30s`, `20ms`, `6m0s`, `7.66s`. */
export function durationSpan(text: string): number | undefined {
  const parts = DURATION.exec(text)?.slice(1);
  if (!parts) return undefined;
  return bounded(
    parts.reduce((sum, part, i) => sum + Number(part ?? 0) * (DURATION_UNITS_MS[i] ?? 0), 0),
  );
}

// Up, never down: a wait that ends early is a strike. The millionth is for the binary fractions (1.1 × 1000),
// the + 0 for -0.
function bounded(ms: number): number {
  return Math.min(LONGEST_MS, Math.ceil(ms - 1e-6) + 0);
}

function momentSpan(text: string, now: Now): number | undefined {
  const at = httpDate(text, now) ?? isoDate(text);
  return at === undefined ? undefined : bounded(at - now.wallMs);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const CLOCK = '(?<h>\\d\\d):(?<m>\\d\\d):(?<s>\\d\\d)';
const SHORT_DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = `(?<mon>${MONTHS.join('|')})`;
const HTTP_DATES = [
  `${SHORT_DAY}, (?<d>\\d\\d) ${MONTH} (?<y>\\d{4}) ${CLOCK} GMT`,
  `${LONG_DAY}, (?<d>\\d\\d)-${MONTH}-(?<y>\\d\\d) ${CLOCK} GMT`,
  `${SHORT_DAY} ${MONTH} (?<d>[ \\d]\\d) ${CLOCK} (?<y>\\d{4})`,
].map((pattern) => new RegExp(`^${pattern}$`, 'i'));

/** Epoch milliseconds of an HTTP-date in any of its three forms (RFC 9110 §5.6.7). */
export function httpDate(text: string, now: Now): number | undefined {
  for (const pattern of HTTP_DATES) {
    const parts = pattern.exec(text)?.groups;
    if (!parts) continue;
    const year = Number(parts.y);
    const month = MONTHS.indexOf((parts.mon ?? '').toLowerCase());
    return utc({
      year: parts.y?.length === 2 ? fullYear(year, now) : year,
      month,
      day: Number(parts.d),
      hour: Number(parts.h),
      minute: Number(parts.m),
      second: Number(parts.s),
    });
  }
  return undefined;
}

const YEAR_MS = 365.2425 * 86_400_000;

// Two digits more than 50 years ahead mean the last century (RFC 9110 §5.6.7).
function fullYear(twoDigits: number, now: Now): number {
  const thisYear = 1970 + Math.floor(now.wallMs / YEAR_MS);
  const year = thisYear - (thisYear % 100) + twoDigits;
  if (year > thisYear + 50) return year - 100;
  return year <= thisYear - 50 ? year + 100 : year;
}

const ISO_DATE =
  /^(?<y>\d{4})-(?<mo>\d\d)-(?<d>\d\d)[T ](?<h>\d\d):(?<m>\d\d):(?<s>\d\d)(?<f>\.\d+)?(?:Z|(?<sign>[+-])(?<oh>\d\d):?(?<om>\d\d))$/i;

function isoDate(text: string): number | undefined {
  const parts = ISO_DATE.exec(text)?.groups;
  if (!parts) return undefined;
  const at = utc({
    year: Number(parts.y),
    month: Number(parts.mo) - 1,
    day: Number(parts.d),
    hour: Number(parts.h),
    minute: Number(parts.m),
    second: Number(parts.s),
  });
  if (at === undefined) return undefined;
  const offsetMs = (Number(parts.oh ?? 0) * 60 + Number(parts.om ?? 0)) * 60_000;
  return at + Number(parts.f ?? 0) * 1000 - (parts.sign === '-' ? -offsetMs : offsetMs);
}

interface UtcParts {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
}

// Date.UTC rolls the 31st of February over into March: only dates that exist are taken. :60 is a leap second.
function utc(parts: UtcParts): number | undefined {
  const { year, month, day, hour, minute, second } = parts;
  const monthDays = (Date.UTC(year, month + 1, 1) - Date.UTC(year, month, 1)) / 86_400_000;
  if (month < 0 || month > 11 || day < 1 || day > monthDays) return undefined;
  if (hour > 23 || minute > 59 || second > 60 || year < 1900) return undefined;
  return Date.UTC(year, month, day, hour, minute, second);
}
