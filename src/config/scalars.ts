import { scalar } from './scalar.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
/** Beyond this a duration is a slip of the keyboard. */
const LONGEST_MS = 3650 * 86_400_000;

const DURATION = String.raw`\d+(?:\.\d+)?(?:ms|s|m|h|d)`;

function durationMs(value: unknown): number | undefined {
  const [, amount = '', unit = ''] =
    /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(typeof value === 'string' ? value : '') ?? [];
  const ms = Number(amount) * (UNIT_MS[unit] ?? Number.NaN);
  return ms <= LONGEST_MS ? ms : undefined;
}

/** A span above zero, in milliseconds. */
export const duration = scalar({
  expects: 'a duration above 0, such as 250ms, 10s, 5m, 1h or 7d',
  json: { type: 'string', pattern: `^${DURATION}$` },
  parse: (value) => {
    const ms = durationMs(value);
    return ms === 0 ? undefined : ms;
  },
});

/** A span or a range of spans, for a delay that is drawn between two limits. */
export const delay = scalar({
  expects: 'a duration such as 0s or 10s, or a range such as 10s..20s',
  json: { type: 'string', pattern: `^${DURATION}(?:\\s*\\.\\.\\s*${DURATION})?$` },
  parse: (value) => {
    const [from, to = from, ...rest] =
      typeof value === 'string' ? value.split('..').map((part) => part.trim()) : [];
    const minMs = durationMs(from);
    const maxMs = durationMs(to);
    if (minMs === undefined || maxMs === undefined || rest.length > 0) return undefined;
    if (minMs > maxMs) return { refused: 'the range runs backwards: write the shorter span first' };
    return { minMs, maxMs };
  },
});

const UNIT_BYTES: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

/** An amount of bytes. */
export const size = scalar({
  expects: 'a size such as 64KiB, 1MiB, 500KB or 2MB',
  json: { type: ['string', 'integer'], pattern: '^\\d+(?:\\.\\d+)?(?:B|[KMG]i?B)$', minimum: 0 },
  parse: (value) => {
    if (typeof value === 'number')
      return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
    const [, amount = '', unit = ''] =
      /^(\d+(?:\.\d+)?)(B|[KMG]i?B)$/i.exec(typeof value === 'string' ? value : '') ?? [];
    const bytes = Math.round(Number(amount) * (UNIT_BYTES[unit.toUpperCase()] ?? Number.NaN));
    return Number.isSafeInteger(bytes) ? bytes : undefined;
  },
});

/** A count within limits. */
export function whole(limits: { readonly min: number; readonly max?: number }) {
  const { min, max = Number.MAX_SAFE_INTEGER } = limits;
  const bounds = limits.max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return scalar({
    expects: `a whole number ${bounds}`,
    json: {
      type: 'integer',
      minimum: min,
      ...(limits.max === undefined ? {} : { maximum: max }),
    },
    parse: (value) =>
      Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max
        ? Number(value)
        : undefined,
  });
}

/** A finite number of at least `min`. */
export function decimal(limits: { readonly min: number }) {
  return scalar({
    expects: `a number of at least ${limits.min}`,
    json: { type: 'number', minimum: limits.min },
    parse: (value) =>
      typeof value === 'number' && Number.isFinite(value) && value >= limits.min
        ? value
        : undefined,
  });
}

/** A part of a whole, 0 to 1; `10%` is 0.1. */
export const share = scalar({
  expects: 'a share from 0 to 1, or a percentage such as 10%',
  json: { type: ['number', 'string'], minimum: 0, maximum: 1, pattern: '^\\d+(?:\\.\\d+)?%$' },
  parse: shareOf,
});

function shareOf(value: unknown): number | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(typeof value === 'string' ? value : '')?.[1];
  const part = percent === undefined ? value : Number(percent) / 100;
  return typeof part === 'number' && part >= 0 && part <= 1 ? part : undefined;
}

/** Starts per second; `30/m` is half of one. */
export const rate = scalar({
  expects: 'a rate above 0: a number of starts per second, or such as 5/s, 30/m or 600/h',
  json: {
    type: ['number', 'string'],
    exclusiveMinimum: 0,
    pattern: '^\\d+(?:\\.\\d+)?/[smhd]$',
  },
  parse: (value) => {
    const [, amount, unit = ''] =
      /^(\d+(?:\.\d+)?)\/([smhd])$/.exec(typeof value === 'string' ? value : '') ?? [];
    const perSecond =
      amount === undefined ? value : (Number(amount) * 1_000) / (UNIT_MS[unit] ?? Number.NaN);
    if (typeof perSecond !== 'number' || !Number.isFinite(perSecond)) return undefined;
    return perSecond > 0 ? perSecond : undefined;
  },
});

/** Yes or no. */
export const flag = scalar({
  expects: 'true or false',
  json: { type: 'boolean' },
  parse: (value) => (typeof value === 'boolean' ? value : undefined),
});

/** Yes, no, or decided by circumstances. */
export const autoFlag = scalar<boolean | 'auto'>({
  expects: 'auto, true or false',
  json: { enum: ['auto', true, false] },
  parse: (value) => (typeof value === 'boolean' || value === 'auto' ? value : undefined),
});

/** `auto`, or a count. */
export const autoCount = scalar<number | 'auto'>({
  expects: 'auto, or a whole number of at least 1',
  json: { anyOf: [{ const: 'auto' }, { type: 'integer', minimum: 1 }] },
  parse: (value) => {
    if (value === 'auto') return value;
    return Number.isSafeInteger(value) && Number(value) >= 1 ? Number(value) : undefined;
  },
});

const JITTERS = ['full', 'equal', 'decorrelated'] as const;

/** The spread of a delay: a word, or the part by which it may be off. */
export const jitter = scalar<(typeof JITTERS)[number] | number>({
  expects: 'full, equal, decorrelated, or a number from 0 to 1',
  json: { anyOf: [{ enum: JITTERS }, { type: 'number', minimum: 0, maximum: 1 }] },
  parse: (value) => JITTERS.find((word) => word === value) ?? shareOf(value),
});

const STATUS_RANGE = String.raw`[1-9]\d\d(?:\s*-\s*[1-9]\d\d)?`;

/** Status codes and ranges of them, as a sorted list of codes. */
export const statuses = scalar({
  expects: 'status codes: 503, 520-524, or a list of these',
  json: {
    anyOf: [
      { type: 'integer', minimum: 100, maximum: 999 },
      { type: 'string', pattern: `^${STATUS_RANGE}(?:\\s*,\\s*${STATUS_RANGE})*$` },
      { type: 'array', items: { type: ['integer', 'string'] } },
    ],
  },
  parse: (value) => {
    const items = Array.isArray(value)
      ? value
      : typeof value === 'string'
        ? value.split(',')
        : [value];
    const codes = items.map(statusRange);
    if (codes.some((range) => range === undefined)) return undefined;
    return [...new Set(codes.flatMap((range) => range ?? []))].sort((a, b) => a - b);
  },
});

function statusRange(item: unknown): number[] | undefined {
  const text = typeof item === 'number' || typeof item === 'string' ? String(item).trim() : '';
  const [, low, high = low] = /^([1-9]\d\d)(?:\s*-\s*([1-9]\d\d))?$/.exec(text) ?? [];
  const from = Number(low);
  const to = Number(high);
  if (!(from <= to)) return undefined;
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}
