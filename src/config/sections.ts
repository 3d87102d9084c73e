import * as z from 'zod';
import type { Fault } from './faults.ts';
import { faultsOf } from './issues.ts';
import type { Places } from './places.ts';
import { type ConfigInput, configSchema } from './schema.ts';
import { bare, childOf } from './setting.ts';

/** The parts of the configuration that are right by themselves; lists hold their good entries, by index. */
export type Sections = {
  readonly [K in keyof ConfigInput]?: ConfigInput[K];
};

/**
 * Checks each part on its own, so that one wrong key hides no other fault.
 * Entries of `upstreams` that are wrong are left as holes: indices stay what they are in the file.
 */
export function readSections(
  tree: Readonly<Record<string, unknown>>,
  places: Places,
): { sections: Sections; faults: readonly Fault[] } {
  const context = { root: configSchema, tree, places };
  const faults: Fault[] = [];
  const sections: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(configSchema.shape)) {
    const { value, issues } = readSection(key, field as z.ZodType, tree[key]);
    faults.push(...faultsOf(issues, [key], context));
    if (value !== undefined) sections[key] = value;
  }
  const unknown = configSchema.pick({}).safeParse(
    Object.fromEntries(
      Object.keys(tree)
        .filter((key) => !Object.hasOwn(configSchema.shape, key))
        .map((key) => [key, null]),
    ),
  );
  faults.push(...faultsOf(unknown.error?.issues ?? [], [], context));
  return { sections, faults };
}

function readSection(
  key: string,
  schema: z.ZodType,
  raw: unknown,
): { value: unknown; issues: readonly z.core.$ZodIssue[] } {
  const inner = bare(schema);
  if (key !== 'upstreams' || !Array.isArray(raw) || !(inner instanceof z.ZodArray)) {
    return read(schema, raw);
  }
  const entries = raw.map((entry) => read(inner.element as z.ZodType, entry));
  return {
    value: entries.map((entry) => entry.value),
    issues: entries.flatMap(({ issues }, i) =>
      issues.map((issue) => ({ ...issue, path: [i, ...issue.path] })),
    ),
  };
}

/** A key that nobody knows is a fault, and no reason not to look at the others. */
function read(schema: z.ZodType, raw: unknown) {
  const whole = schema.safeParse(raw);
  if (whole.success) return { value: whole.data, issues: [] };
  return { value: schema.safeParse(onlyKnown(raw, schema)).data, issues: whole.error.issues };
}

function onlyKnown(value: unknown, schema: z.ZodType): unknown {
  const inner = bare(schema);
  if (Array.isArray(value) && inner instanceof z.ZodArray) {
    return value.map((item) => onlyKnown(item, inner.element as z.ZodType));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const child = childOf(inner, key);
    if (child !== undefined) return [[key, onlyKnown(item, child)] as const];
    return inner instanceof z.ZodObject ? [] : [[key, item] as const];
  });
  return Array.isArray(value) ? value : Object.fromEntries(entries);
}

/** A key with nothing behind it, as when all its lines are commented out, stands for its default. */
export function fillEmpty(value: unknown, schema: z.ZodType): unknown {
  const inner = bare(schema);
  if (
    value === null &&
    schema instanceof z.ZodPrefault &&
    isContainer(inner) &&
    !schema.safeParse(null).success
  ) {
    return undefined;
  }
  if (Array.isArray(value) && inner instanceof z.ZodArray) {
    return value.map((item) => fillEmpty(item, inner.element as z.ZodType));
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const child = childOf(inner, key);
    return [key, child === undefined ? item : fillEmpty(item, child)] as const;
  });
  return Array.isArray(value) ? value : Object.fromEntries(entries);
}

function isContainer(schema: z.ZodType): boolean {
  return (
    schema instanceof z.ZodObject || schema instanceof z.ZodArray || schema instanceof z.ZodRecord
  );
}
