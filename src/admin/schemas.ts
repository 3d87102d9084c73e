import type { JsonSchema } from './json-schema.ts';

const text: JsonSchema = { type: 'string' };
const textOrNull: JsonSchema = { type: ['string', 'null'] };
const flag: JsonSchema = { type: 'boolean' };
const count: JsonSchema = { type: 'integer', minimum: 0 };
const share: JsonSchema = { type: 'number', minimum: 0, maximum: 1 };
const amount: JsonSchema = { type: ['number', 'null'], minimum: 0 };
const instant: JsonSchema = { type: 'string', format: 'date-time' };
const instantOrNull: JsonSchema = { type: ['string', 'null'], format: 'date-time' };

/** An object of exactly these fields. */
export function record(
  properties: Readonly<Record<string, JsonSchema>>,
  description?: string,
): JsonSchema {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

const tried = record(
  { attempts: { type: 'number', minimum: 0 }, blocked: { type: 'number', minimum: 0 } },
  'Both fade by half in six hours.',
);

const byCause = (value: JsonSchema): JsonSchema =>
  record({ first_try: value, retry: value, rejected_body: value, tunnel: value });

const spendRow = record({
  ...{ name: text, sent_bytes: count, received_bytes: count, good_replies: count },
  bytes_by_cause: byCause(count),
  price: amount,
  price_by_cause: byCause({ type: 'number', minimum: 0 }),
  price_per_good_reply: amount,
});

/** A schema of `components`. */
export const ref = (name: keyof typeof SCHEMAS): JsonSchema => ({
  $ref: `#/components/schemas/${name}`,
});

/** A page of a list. */
export const listOf = (
  name: keyof typeof SCHEMAS,
  besides: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema =>
  record({ items: { type: 'array', items: ref(name) }, next: textOrNull, ...besides });

const pair: JsonSchema = { type: 'array', items: text, minItems: 2, maxItems: 2 };
const pairs: JsonSchema = { type: 'array', items: pair, description: 'Names and values; latin1.' };

/** The stages of an exchange. */
const stage = record({
  kind: {
    enum: [
      ...['queued', 'paused', 'pacing', 'breaker', 'backoff'],
      ...['dialling', 'awaiting_reply', 'receiving', 'streaming'],
    ],
  },
  since: instant,
  until: { ...instantOrNull, description: 'When it ends, if that is known.' },
  explain: text,
});

/** Everything the API shows. */
export const SCHEMAS = {
  Problem: record(
    { type: text, title: text, status: count, reason: text, detail: text },
    'RFC 9457. `reason` is a stable word, `detail` one sentence.',
  ),
  Status: record({
    version: text,
    started_at: instant,
    state: { enum: ['starting', 'ready', 'draining'] },
    listen: textOrNull,
    connections: count,
    exchanges: count,
    sockets: count,
    waiting: count,
    lanes: record({
      ...{ all: count, isolated: count, breaker_open: count, breaker_half_open: count },
      ...{ paused: count, active: count, idle: count },
    }),
    routes: record({ in: count, ejected: count }),
    sessions: record({ active: count, burned: count, expired: count }),
    dead_letters: {
      oneOf: [
        record({
          ...{ parked: count, redriving: count, done: count, expired: count },
          needs_client: count,
        }),
        { type: 'null', description: 'The store cannot be read.' },
      ],
    },
  }),
  Lane: record({
    id: text,
    host: text,
    state: {
      enum: ['isolated', 'breaker_open', 'paused', 'breaker_half_open', 'active', 'idle'],
    },
    paused_until: instantOrNull,
    rate: { type: ['number', 'null'], description: 'Starts per second; null: not limited.' },
    budget: { type: 'number', description: 'Retries that may be scheduled now.' },
    breaker: { enum: ['closed', 'open', 'half_open'] },
    breaker_until: instantOrNull,
    waiting: count,
    in_flight: count,
    concurrency: count,
    failures_in_row: count,
  }),
  Route: record({
    id: text,
    label: { ...text, description: 'As in Forbear-Route.' },
    upstream: text,
    state: { enum: ['in', 'ejected'] },
    ejected_until: instantOrNull,
    sessions: count,
  }),
  Reputation: record({
    lane: { ...textOrNull, description: 'null: everywhere.' },
    good: { type: 'number', description: 'Fades: half of it is gone in 30 minutes.' },
    bad: { type: 'number' },
    score: { type: 'number', minimum: 0, maximum: 1 },
    head_ms: { type: ['number', 'null'], description: 'Typical time to the head of a reply.' },
    ejected_until: instantOrNull,
    reason: textOrNull,
  }),
  RouteAfter: {
    oneOf: [
      { $ref: '#/components/schemas/Route' },
      record({ id: text, state: { enum: ['gone'] } }, 'A gateway has another address now.'),
    ],
  },
  Upstream: record({
    name: text,
    kind: { enum: ['direct', 'list', 'gateway'] },
    out_until: instantOrNull,
  }),
  Session: record({
    id: text,
    state: { enum: ['active', 'burned', 'expired'] },
    upstream: textOrNull,
    route: textOrNull,
    country: textOrNull,
    created_at: instantOrNull,
    last_used_at: instantOrNull,
    ends_at: { ...instantOrNull, description: 'Unless it is used again before.' },
    refused_until: instantOrNull,
  }),
  Attempt: record({
    n: count,
    at: instant,
    route: text,
    upstream: text,
    status: { type: ['integer', 'null'] },
    verdict: { ...text, description: 'fault/reason' },
    evidence: {
      type: 'object',
      properties: { kind: text },
      required: ['kind'],
      additionalProperties: true,
      description: 'What the verdict rests on.',
    },
    action: { enum: ['deliver', 'wait', 'rotate', 'burn', 'fail'] },
    delay_ms: { type: ['integer', 'null'] },
    charged: flag,
    budget_left: {
      type: ['integer', 'null'],
      description: "Retries that the lane's budget still paid for.",
    },
    explain: text,
    duration_ms: count,
    sent_bytes: count,
    received_bytes: count,
  }),
  Exchange: record({
    id: text,
    lane: text,
    client: text,
    session: textOrNull,
    method: text,
    url: { ...text, description: 'Without the query.' },
    redrive: flag,
    started_at: instant,
    deadline: { ...instant, description: "When the client's patience ends." },
    state: { enum: ['waiting', 'running', 'done'] },
    stage: { oneOf: [stage, { type: 'null' }] },
    attempted: count,
    attempts: { type: 'array', items: { $ref: '#/components/schemas/Attempt' } },
    end: { oneOf: [{ $ref: '#/components/schemas/ExchangeEnd' }, { type: 'null' }] },
  }),
  ExchangeEnd: record({
    answered: {
      type: ['integer', 'string'],
      description: 'A status, or client_gone, or broken_off.',
    },
    verdict: textOrNull,
    stop: textOrNull,
    stopped_because: textOrNull,
    attempted: count,
    waited_ms: count,
    route: textOrNull,
    dead_letter: textOrNull,
    duration_ms: count,
    sent_bytes: count,
    received_bytes: count,
  }),
  DeadLetter: record({
    id: text,
    state: { enum: ['parked', 'redriving', 'done', 'expired', 'needs_client'] },
    ...{ lane: text, host: text, reason: text, stop: textOrNull, fault: textOrNull, count },
    ...{ client: text, session: textOrNull, method: text, url: text },
    headers: pairs,
    trailers: pairs,
    body: record({ kept: flag, bytes: count }),
    secrets_blanked: flag,
    needs: { enum: ['body', 'secrets', 'consent', 'session', 'credentials', null] },
    ...{ parked_at: instant, updated_at: instant, due_at: instant, keep_until: instant },
    redrives: count,
    attempts: {
      type: 'array',
      items: record({
        ...{ n: count, at: instant, duration_ms: count, route: text },
        ...{ status: { type: ['integer', 'null'] }, verdict: text, action: text, explain: text },
        ...{ sent_bytes: count, received_bytes: count },
      }),
    },
    response: {
      oneOf: [
        record({
          ...{ status: count, reason: text, headers: pairs, bytes: count },
          ...{ truncated: flag, at: instant },
        }),
        { type: 'null' },
      ],
    },
  }),
  Spend: record({
    since: instant,
    upstreams: { type: 'array', items: spendRow },
    lanes: { type: 'array', items: spendRow },
  }),
  Interception: record({
    ...{
      lane: text,
      intercepted: tried,
      tunnelled: tried,
      untrusted: { type: 'number', minimum: 0 },
    },
    ...{ advice: textOrNull, sentence: textOrNull },
  }),
  Warning: record({
    ...{ lane: text, signal: text, before: share, now: share, since: instant },
    ...{ bad_routes: count, routes: count, sentence: text },
  }),
} as const satisfies Readonly<Record<string, JsonSchema>>;
