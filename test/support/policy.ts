import type { PolicyPatch } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Policy } from '../../src/core/policy.ts';

/** The default policy with some keys changed, one level deep. */
export function policyWith(patch: PolicyPatch = {}): Policy {
  const loaded = loadConfig({ file: undefined, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error('the defaults do not load');
  const base = loaded.config.policy;
  const merged = Object.entries(patch).map(([key, value]) => {
    const old = base[key as keyof Policy];
    const nested = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [key, nested ? { ...(old as object), ...value } : value];
  });
  return { ...base, ...Object.fromEntries(merged) };
}
