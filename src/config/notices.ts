import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { dotted, type Path } from './places.ts';
import { configSchema } from './schema.ts';
import { bare, childOf, type Inert, schemaAt, settingInfo } from './setting.ts';

/** A line for each setting that was changed although this version does not act on it. */
export function inertNotices(tree: unknown): readonly string[] {
  return changedInert(tree, configSchema, []).map(
    (path) => `${dotted(path)} is accepted, but not in effect in this version`,
  );
}

function changedInert(value: unknown, schema: z.ZodType, path: Path): readonly Path[] {
  const inert = settingInfo.get(schema)?.inert;
  // A group says nothing itself: only those of its keys that were changed count.
  if (inert && !isGroup(schema)) return isChanged(value, schema, path, inert) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const entries: readonly (readonly [PropertyKey, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return entries.flatMap(([key, item]) => {
    const child = childOf(bare(schema), key);
    return child && item !== undefined ? changedInert(item, child, [...path, key]) : [];
  });
}

function isGroup(schema: z.ZodType): boolean {
  return bare(schema) instanceof z.ZodObject && !schema.safeParse(null).success;
}

function isChanged(value: unknown, schema: z.ZodType, path: Path, inert: Inert): boolean {
  if (inert.quiet) return false;
  const given = schema.safeParse(value).data;
  if (inert.when) return inert.when.includes(given);
  return !isDeepStrictEqual(given, usual(path));
}

/** The default; in a target or profile that of the policy. */
function usual(path: Path): unknown {
  const isPatch = path[0] === 'targets' || path[0] === 'profiles';
  const schema = schemaAt(configSchema, isPatch ? ['policy', ...path.slice(2)] : path);
  return schema?.safeParse(undefined).data;
}
