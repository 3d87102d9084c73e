import type { Policy } from '../core/policy.ts';
import type { PolicyPatch } from './config.ts';

/** The policy with a patch over it, key by key; lists and ranges are replaced as a whole. */
export function mergePolicy(policy: Policy, patch: PolicyPatch): Policy {
  return merged(policy, patch) as Policy;
}

function merged(under: unknown, over: unknown): unknown {
  if (!isMap(under) || !isMap(over)) return over;
  const result: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    result[key] = merged(under[key], value);
  }
  return result;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
