import { compact, type Loose } from './compact.ts';
import type { PolicyPatch } from './config.ts';
import type { PolicyKeys } from './policy-schema.ts';
import { expectRule, markerRow, replyRule } from './rules-patch.ts';

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
      redrive: k.redrive,
      maxResponseBytes: k.max_response,
      webhook: k.webhook as NonNullable<PolicyPatch['deadLetters']>['webhook'],
      serveRedrivenMs: k.serve_redriven,
    })),
    resumeDownloads: keys.resume_downloads,
    annotate: keys.annotate,
    lenient: keys.lenient,
    http2: keys.http2,
    markers: keys.markers?.map(markerRow),
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
    byteBudget: section(keys.byte_budget, (k) => ({ perDay: k.per_day })),
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

function section<I, O extends object>(
  keys: I | undefined,
  read: (keys: I) => Loose<O>,
): O | undefined {
  return keys && compact<O>(read(keys));
}
