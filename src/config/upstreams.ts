import { type Preset, withSessionSyntax } from '../core/preset.ts';
import { presetFor, presetForHost } from '../core/presets.ts';
import { escapeTemplate, parseTemplate, templateVariables } from '../core/template.ts';
import type { GatewayUpstream, UpstreamConfig } from './config.ts';
import type { GatewayParts } from './proxy-url.ts';
import type { UpstreamInput } from './upstream-schema.ts';

/** What became of one entry of `upstreams`. */
export type ResolvedUpstream =
  | { readonly kind: 'ok'; readonly upstream: UpstreamConfig; readonly notices: readonly string[] }
  | { readonly kind: 'fault'; readonly key: string | undefined; readonly message: string };

/** The way without a proxy, for when no upstream is configured. */
export const directUpstream: UpstreamConfig = {
  kind: 'direct',
  name: 'direct',
  pricePerGb: null,
  exitIp: null,
};

/** Keys that only make sense with some kinds of upstream. */
const GATEWAY_KEYS = [
  'username',
  'password',
  'account',
  'zone',
  'country',
  'region',
  'city',
  'asn',
  'strict',
  'headers',
  'session_ttl',
  'plain',
] as const;
const PROVIDER_KEYS = ['account', 'zone', 'country', 'region', 'city', 'asn', 'strict'] as const;

/** One entry of `upstreams`, as the routes see it. */
export function resolveUpstream(given: UpstreamInput): ResolvedUpstream {
  const kinds = (['routes', 'gateway', 'provider'] as const).filter(
    (key) => given[key] !== undefined,
  );
  if (kinds.length > 1) {
    return fault(
      kinds[1],
      `expected one of routes, gateway and provider; there is ${kinds.join(' and ')}`,
    );
  }
  if (kinds.length === 0 && given.name !== 'direct') {
    return fault(
      undefined,
      'expected one of routes, gateway and provider; only the upstream called direct has none',
    );
  }
  if (kinds.length === 1 && given.name === 'direct') {
    return fault('name', 'direct is the name of the way without a proxy; choose another one');
  }
  if (given.gateway) return pasted(given, given.gateway);
  if (given.provider) return fromProvider(given, given.provider);
  const stray = GATEWAY_KEYS.find((key) => given[key] !== undefined);
  if (stray) return fault(stray, 'only a gateway or provider has this key');
  if (!given.routes) {
    return { kind: 'ok', upstream: { ...common(given), kind: 'direct' }, notices: [] };
  }
  return {
    kind: 'ok',
    upstream: {
      ...common(given),
      kind: 'list',
      routes: given.routes,
      maxEjectedRatio: given.max_ejected_ratio,
    },
    notices: [],
  };
}

function pasted(given: UpstreamInput, url: GatewayParts): ResolvedUpstream {
  const twice = (['username', 'password'] as const).find(
    (key) => given[key] !== undefined && url[key] !== undefined,
  );
  if (twice) return fault(twice, `the gateway URL holds a ${twice} already; give one of the two`);
  if (given.username?.replaceAll(/\{[^{}]*\}/g, '').includes(':')) {
    return fault('username', 'a user name with a colon, which Basic credentials cannot carry');
  }
  const preset = presetForHost(url.host);
  const asGiven: Parts = {
    ...url,
    username: url.username ?? given.username,
    password: url.password ?? (given.password && escapeTemplate(given.password)),
    headers: given.headers ?? {},
    plain: given.plain ?? preset?.plain ?? 'forward',
    provider: preset?.provider ?? null,
  };
  const unused = PROVIDER_KEYS.find((key) => given[key] !== undefined && !uses(asGiven, key));
  if (unused) return fault(unused, `the gateway URL has no {${unused}} to put this into`);
  return withSessions(given, asGiven, preset);
}

/** What was pasted from a dashboard names no session: where the provider is known, its syntax is put in. */
function withSessions(
  given: UpstreamInput,
  parts: Parts,
  preset: Preset | undefined,
): ResolvedUpstream {
  const extended = preset && !holdsSessions(parts) ? withSessionSyntax(preset, parts) : undefined;
  if (!extended) return ok(given, parts, []);
  return ok(given, { ...parts, ...extended }, [
    `upstream ${given.name}: recognised ${preset?.provider} by its host; its session syntax was added to the ${preset?.session?.place}`,
  ]);
}

function fromProvider(given: UpstreamInput, name: string): ResolvedUpstream {
  const preset = presetFor(name);
  if (!preset) return fault('provider', 'an unknown provider');
  const values = variables(given);
  const missing = preset.needs.find((key) => values[key] === undefined);
  if (missing) return fault(undefined, `${name} needs ${missing}`);
  if (given.username !== undefined) {
    return fault('username', `${name} makes its user name from account and the other keys`);
  }
  if (given.strict && preset.strictUsername === undefined) {
    return fault('strict', `${name} has no sessions that end with their address`);
  }
  const account = values.account;
  if (account?.includes(':')) return fault('account', 'a colon cannot be part of a user name');
  const parts = {
    scheme: preset.scheme,
    host: preset.host,
    port: preset.port,
    username: given.strict ? preset.strictUsername : preset.username,
    password: preset.password,
    headers: { ...preset.headers, ...given.headers },
    plain: given.plain ?? preset.plain,
    provider: name,
  };
  return ok(given, parts, []);
}

type Parts = Pick<
  GatewayUpstream,
  'scheme' | 'host' | 'port' | 'username' | 'password' | 'headers' | 'plain' | 'provider'
>;

function ok(given: UpstreamInput, parts: Parts, notices: readonly string[]): ResolvedUpstream {
  const preset = parts.provider === null ? undefined : presetFor(parts.provider);
  const ttl = preset?.session?.ttl;
  if (ttl?.kind === 'told' && (given.session_ttl ?? 0) > ttl.maxMs) {
    return fault(
      'session_ttl',
      `${preset?.provider} keeps a session for at most ${ttl.maxMs / 3_600_000}h`,
    );
  }
  return {
    kind: 'ok',
    upstream: {
      ...common(given),
      kind: 'gateway',
      ...parts,
      variables: variables(given),
      sessionTtlMs: given.session_ttl ?? usualTtl(preset, parts),
      holdsSessions: holdsSessions(parts),
    },
    notices,
  };
}

/** As long as sessions usually last here, where the provider can be told; else what it does by itself. */
const USUAL_TTL_MS = 30 * 60_000;

function usualTtl(preset: Preset | undefined, parts: Texts): number | null {
  const ttl = preset?.session?.ttl;
  if (ttl?.kind !== 'told') return null;
  return uses(parts, 'ttl') ? Math.min(USUAL_TTL_MS, ttl.maxMs) : ttl.defaultMs;
}

type Texts = Pick<GatewayUpstream, 'host' | 'port' | 'username' | 'password' | 'headers'>;

function holdsSessions(parts: Texts): boolean {
  return uses(parts, 'session');
}

function uses(parts: Texts, variable: string): boolean {
  const texts = [
    parts.host,
    parts.port,
    parts.username,
    parts.password,
    ...Object.values(parts.headers),
  ];
  return texts.some((text) => {
    const template = parseTemplate(text ?? '');
    return !('message' in template) && templateVariables(template).includes(variable);
  });
}

function variables(given: UpstreamInput): Record<string, string> {
  const values = {
    account: given.account,
    password: given.password,
    zone: given.zone,
    country: given.country,
    region: given.region,
    city: given.city,
    asn: given.asn,
  };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function common(given: UpstreamInput) {
  const { header, url } = given.exit_ip ?? {};
  const exitIp = header !== undefined ? { header } : url !== undefined ? { url } : null;
  return { name: given.name, pricePerGb: given.price_per_gb ?? null, exitIp };
}

function fault(key: string | undefined, message: string): ResolvedUpstream {
  return { kind: 'fault', key, message };
}
