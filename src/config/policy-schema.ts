import * as z from 'zod';
import { markerRow } from './markers-schema.ts';
import { policyGroups } from './policy-groups.ts';
import { expectRule, replyRule } from './rules-schema.ts';
import { duration, flag, size, statuses, whole } from './scalars.ts';
import { group, option, required, setting, withoutDefaults } from './setting.ts';
import { hostGlob, methodName, pathGlob, text, webUrl, word } from './texts.ts';

const atLeastOne = whole({ min: 1 });
const probe = z.strictObject({
  url: required(webUrl, 'A page that only works while logged in.'),
  expect: required(text, 'A text that it shows then.'),
});

const fields = {
  patience: setting(
    duration,
    '60s',
    'How long the client is held in all, retries and waits included; set it below the timeout of the client.',
  ),
  max_attempts: setting(
    atLeastOne,
    5,
    'Tries in all, the first included: transient retries and rotations together.',
  ),
  max_addresses: setting(atLeastOne, 3, 'Different addresses one exchange may be sent from.'),
  max_rate_waits: setting(
    whole({ min: 0 }),
    10,
    'How often one exchange waits because the site said to slow down.',
  ),
  backoff: policyGroups.backoff,
  transient_statuses: setting(
    statuses,
    [408, 425, 500, 502, 503, 504, '520-524'],
    "Statuses that are the host's passing trouble: waited for, never rotated.",
  ),
  retry_after: policyGroups.retry_after,
  budget: policyGroups.budget,
  byte_budget: policyGroups.byte_budget,
  breaker: policyGroups.breaker,
  pace: policyGroups.pace,
  routes: policyGroups.routes,
  sessions: policyGroups.sessions,
  timeouts: policyGroups.timeouts,
  replay_body: setting(
    size,
    '1MiB',
    'Request bodies up to this size are kept, and can be sent again.',
  ),
  replay_methods: setting(
    z.array(methodName),
    ['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE'],
    'Methods that may be sent again after bytes of them went out: the idempotent ones of RFC 9110.',
  ),
  inspect: policyGroups.inspect,
  soft_blocks: policyGroups.soft_blocks,
  control_requests: setting(
    flag,
    true,
    'An address with a good record is ejected for a bare 403 only if the same request succeeds over another address.',
  ),
  auth_fuse: setting(
    whole({ min: 0 }),
    3,
    '401 and 403 in a row with the same credentials until they are refused here, before they cost more strikes; 0: off.',
  ),
  probe: setting(
    probe.nullable(),
    null,
    'Asked once when the auth fuse blows: is it the credentials, or something else?',
  ),
  heartbeat: setting(duration, '15s', 'How often a waiting exchange says so in the log.'),
  dead_letters: policyGroups.dead_letters,
  resume_downloads: setting(flag, true, 'A download that broke off goes on where it ended.'),
  annotate: setting(
    flag,
    true,
    'Adds Forbear-* headers to replies: attempts, verdict, route and why it stopped.',
  ),
  lenient: setting(
    flag,
    false,
    'Repairs replies that break HTTP where that can be done in one way only, instead of refusing them; the response side only.',
  ),
  http2: setting(
    z.enum(['auto', 'always', 'never']),
    'auto',
    'Offers HTTP/2 to https sites: auto when the client speaks it too, or the site speaks nothing else.',
  ),
  upstreams: setting(
    z.array(text).nullable(),
    null,
    'Names of the upstreams to use, in order; null: all.',
  ),
};

const rules = {
  markers: option(
    z.array(markerRow),
    'Challenge, block and throttle pages of your own sites, besides those that are built in.',
  ),
  replies: option(
    z.array(replyRule),
    'Rules over replies, in order; the first that matches decides, before any other evidence.',
  ),
  expect: option(
    z.array(expectRule),
    'What good replies must show; one that does not is a soft block.',
  ),
};

/** The rules for every target, with their defaults. */
export const policySchema = group(
  { ...fields, ...rules },
  'The rules for every target; targets and profiles change single keys of it.',
);

const openFields = Object.fromEntries(
  Object.entries(fields).map(([key, field]) => [key, withoutDefaults(field)] as const),
);

/** The same keys without defaults, for a target or a profile. */
const policyKeys = { ...openFields, ...rules };

/** A profile: any of the policy's keys. */
export const profileSchema = z.strictObject(policyKeys) as unknown as z.ZodType<PolicyKeys>;

export type PolicyInput = z.output<typeof policySchema>;

/** Policy keys as read for a target or a profile: any of them may be missing. */
export type PolicyKeys = Open<PolicyInput>;
type Open<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Open<T[K]> | undefined }
    : T;

const targetMatch = z
  .preprocess(
    readMatch,
    z.strictObject({
      host: required(hostGlob, 'Host name or glob; `host:port` in full where the port matters.'),
      path: option(pathGlob, 'Path glob over path and query.'),
      method: option(methodName, 'The request method.'),
      client: option(word, "The client's name."),
    }),
  )
  .meta({ anyOf: [{ type: 'string' }, { type: 'object' }] });

/** One target: what it matches, and the policy keys that differ there. */
export const targetSchema = z.strictObject({
  match: required(
    targetMatch,
    'A host glob with an optional path glob, as in www.example.com/rest/**, or {host, path, method, client}.',
  ),
  ...policyKeys,
}) as unknown as z.ZodType<TargetInput>;

export type TargetInput = PolicyKeys & { readonly match: z.output<typeof targetMatch> };

/** `host/path` in one text; the path keeps its slash. */
function readMatch(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  const slash = value.indexOf('/');
  if (slash < 0) return { host: value };
  return { host: value.slice(0, slash), path: value.slice(slash) };
}
