import { globMatches, hostGlobMatches } from '../core/glob.ts';
import type { Policy } from '../core/policy.ts';
import type { Config, TargetConfig, TargetMatch } from './config.ts';
import { mergePolicy } from './merge.ts';

/** What the rules for a request depend on. */
export interface PolicyRequest {
  /** Canonical host, IPv6 without brackets. */
  readonly host: string;
  /** Host, plus `:port` where it is not the scheme's default. */
  readonly authority: string;
  /** Path and query as sent. */
  readonly path: string;
  readonly method: string;
  readonly client: string;
  readonly profile: string | undefined;
}

export interface ResolvedPolicy {
  readonly policy: Policy;
  /** Set when the target has a pace of its own: a lane within the host. */
  readonly lane: string | undefined;
}

/** There are few pairs of target and profile, and a configuration never changes: each is merged once. */
const merged = new WeakMap<Config, Map<string, ResolvedPolicy>>();

/** The rules for one request: the first target that matches, then the profile, over `policy`. */
export function policyFor(config: Config, request: PolicyRequest): ResolvedPolicy {
  const index = config.targets.findIndex((target) => targetMatches(target.match, request));
  const known = request.profile !== undefined && Object.hasOwn(config.profiles, request.profile);
  const profile = known ? request.profile : undefined;
  const memo = merged.get(config) ?? new Map<string, ResolvedPolicy>();
  merged.set(config, memo);
  const key = `${index} ${profile ?? ''}`;
  const found = memo.get(key);
  if (found) return found;
  const resolved = resolve(config, config.targets[index], profile);
  memo.set(key, resolved);
  return resolved;
}

function resolve(
  config: Config,
  target: TargetConfig | undefined,
  profile: string | undefined,
): ResolvedPolicy {
  const patches = [target?.patch, profile === undefined ? undefined : config.profiles[profile]];
  const policy = patches.reduce<Policy>(
    (under, patch) => (patch ? mergePolicy(under, patch) : under),
    config.policy,
  );
  return { policy, lane: target?.lane };
}

/** Whether a target is meant by a request. */
export function targetMatches(match: TargetMatch, request: PolicyRequest): boolean {
  if (!hostMatches(match.host, request)) return false;
  if (match.path !== undefined && !globMatches(match.path, request.path)) return false;
  if (match.method !== undefined && match.method !== request.method.toUpperCase()) return false;
  return match.client === undefined || match.client === request.client;
}

function hostMatches(glob: string, { host, authority }: PolicyRequest): boolean {
  const [, name = glob, port] = /^(\[[^\]]*\]|[^:]*):(\d+|\*)$/.exec(glob) ?? [];
  if (port === undefined) return hostGlobMatches(name, host);
  if (!hostGlobMatches(name, host)) return false;
  const given = /:(\d+)$/.exec(
    authority.startsWith('[') ? authority.slice(authority.indexOf(']')) : authority,
  )?.[1];
  if (port === '*') return true;
  // An authority without a port has its scheme's default: either of the two.
  return given === undefined ? port === '80' || port === '443' : given === port;
}
