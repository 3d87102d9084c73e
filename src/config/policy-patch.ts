import type { ExpectRule, ReplyCondition, ReplyRule } from '../core/policy.ts';
import type { PolicyPatch } from './config.ts';
import type { PolicyKeys } from './policy-schema.ts';
import type { ExpectRuleInput, ReplyRuleInput } from './rules-schema.ts';

/** The file's names in the code's names and units; what was left out stays out. */
export function toPatch(keys: PolicyKeys): PolicyPatch {
  return compact<PolicyPatch>({
    patienceMs: keys.patience,
    maxAttempts: keys.max_attempts,
    maxAddresses: keys.max_addresses,
    maxRateWaits: keys.max_rate_waits,
    transientStatuses: keys.transient_statuses,
    ...hostKeys(keys),
    ...routeKeys(keys),
    replayBodyBytes: keys.replay_body,
    replayMethods: keys.replay_methods,
    inspect: section(keys.inspect, (k) => ({
      bytes: k.bytes,
      holdBytes: k.hold,
      holdMs: k.hold_for,
      types: k.types,
    })),
    softBlocks: section(keys.soft_blocks, (k) => ({ markers: k.markers, learned: k.learned })),
    controlRequests: keys.control_requests,
    authFuse: keys.auth_fuse,
    probe: keys.probe as PolicyPatch['probe'],
    heartbeatMs: keys.heartbeat,
    deadLetters: section(keys.dead_letters, (k) => ({
      enabled: k.enabled,
      cooldownMs: k.cooldown,
      maxRedrives: k.max_redrives,
      keepMs: k.keep,
      keepSecrets: k.keep_secrets,
    })),
    resumeDownloads: keys.resume_downloads,
    annotate: keys.annotate,
    lenient: keys.lenient,
    replies: keys.replies?.map(replyRule),
    expect: keys.expect?.map(expectRule),
  });
}

function hostKeys(keys: PolicyKeys): Loose<PolicyPatch> {
  return {
    backoff: section(keys.backoff, (k) => ({
      baseMs: k.base,
      factor: k.factor,
      capMs: k.cap,
      jitter: k.jitter,
      count: k.count,
    })),
    retryAfter: section(keys.retry_after, (k) => ({ maxMs: k.max })),
    budget: section(keys.budget, (k) => ({
      ratio: k.ratio,
      floorPerMinute: k.floor_per_minute,
      windowMs: k.window,
    })),
    breaker: section(keys.breaker, (k) => ({
      failureRatio: k.failure_ratio,
      minAttempts: k.min_attempts,
      consecutive: k.consecutive,
      windowMs: k.window,
      cooldownMs: k.cooldown,
      maxCooldownMs: k.max_cooldown,
      probes: k.probes,
      whenOpen: k.when_open,
    })),
    pace: section(keys.pace, (k) => ({
      delay: k.delay as NonNullable<PolicyPatch['pace']>['delay'],
      concurrency: k.concurrency,
      ratePerSecond: k.rate,
      queue: k.queue,
    })),
  };
}

function routeKeys(keys: PolicyKeys): Loose<PolicyPatch> {
  return {
    routes: section(keys.routes, (k) => ({
      rotation: k.rotation,
      warm: k.warm,
      maxUses: k.max_uses,
      retireForMs: k.retire_for,
    })),
    sessions: section(keys.sessions, (k) => ({
      idleMs: k.idle,
      maxAgeMs: k.max_age,
      burnedForMs: k.burned_for,
    })),
    timeouts: section(keys.timeouts, (k) => ({
      connectMs: k.connect,
      firstByteMs: k.first_byte,
      idleMs: k.idle,
      sniffMs: k.sniff,
      lingerMs: k.linger,
    })),
    upstreams: keys.upstreams,
  };
}

function replyRule(rule: ReplyRuleInput, index: number): ReplyRule {
  const { when } = rule;
  const headers = { ...when.header, ...when.headers };
  return {
    when: compact<ReplyCondition>({
      statuses: when.status,
      path: when.path,
      method: when.method,
      bodyContains: when.body_contains,
      bodyMatches: when.body_matches,
      headers:
        when.header || when.headers
          ? Object.fromEntries(
              Object.entries(headers).map(([name, part]) => [name.toLowerCase(), part]),
            )
          : undefined,
    }),
    verdict: rule.verdict,
    label: rule.label ?? `reply-${index + 1}-${rule.verdict}`,
  };
}

function expectRule(rule: ExpectRuleInput, index: number): ExpectRule {
  return compact<ExpectRule>({
    when: compact<ExpectRule['when']>({
      path: rule.when?.path,
      method: rule.when?.method,
      statuses: rule.when?.status,
    }),
    bodyContains: rule.body_contains,
    bodyMatches: rule.body_matches,
    json: rule.json,
    minBytes: rule.min_bytes,
    contentType: rule.content_type,
    css: rule.css && { selector: rule.css.selector, min: rule.css.min ?? 1 },
    otherwise: rule.else ?? 'transient',
    label: rule.label ?? `expect-${index + 1}`,
  });
}

/** The same type where what is left out may also be undefined. */
type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined };

function section<I, O extends object>(
  keys: I | undefined,
  read: (keys: I) => Loose<O>,
): O | undefined {
  return keys && compact<O>(read(keys));
}

/** Without what is undefined. The caller sees to it that what `T` needs is there. */
export function compact<T extends object>(loose: Loose<T>): T {
  const entries = Object.entries(loose).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as T;
}
