import * as z from 'zod';

/** What is known of a setting beyond its schema. */
export interface SettingInfo {
  /** This version reads the setting and does not act on it. */
  readonly inert: Inert | undefined;
}

/** `quiet`: nothing to tell at start. `when`: only these values have no effect; otherwise all but the default. */
export interface Inert {
  readonly quiet?: true;
  readonly when?: readonly unknown[];
}

/** The information that goes with each setting. */
export const settingInfo = z.registry<SettingInfo>();

/** A setting with its default, in the notation of the file, and one sentence of what it is and why. */
export function setting<S extends z.ZodType>(
  schema: S,
  fallback: z.input<S>,
  why: string,
  inert?: Inert,
) {
  const described = z.prefault(schema, fallback as never).describe(why);
  settingInfo.add(described, { inert });
  return described;
}

/** A setting that may be left out, and has no default. */
export function option<S extends z.ZodType>(schema: S, why: string, inert?: Inert) {
  const described = schema.optional().describe(why);
  settingInfo.add(described, { inert });
  return described;
}

/** A key that has to be there. */
export function required<S extends z.ZodType>(schema: S, why: string): S {
  return schema.describe(why);
}

/** Settings that belong together; leaving all of them out is fine. */
export function group<F extends z.ZodRawShape>(fields: F, why: string, inert?: Inert) {
  const described = z
    .strictObject(fields)
    .prefault({} as never)
    .describe(why);
  settingInfo.add(described, { inert });
  return described;
}

/** The schema inside of defaults, optional and nullable wrappers and conversions. */
export function bare(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
  ) {
    return bare(schema.unwrap() as z.ZodType);
  }
  // A conversion in front of an object: what stands behind it is what is written in the long form.
  if (schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodTransform) {
    return bare(schema.def.out as z.ZodType);
  }
  return schema;
}

/** The schema of the value at a path, as far as the path is known. */
export function schemaAt(root: z.ZodType, path: readonly PropertyKey[]): z.ZodType | undefined {
  let schema: z.ZodType | undefined = root;
  for (const key of path) schema = schema && childOf(bare(schema), key);
  return schema;
}

/** The schema of one key or entry of a map or list. */
export function childOf(schema: z.ZodType, key: PropertyKey): z.ZodType | undefined {
  if (schema instanceof z.ZodObject) {
    const name = String(key);
    return Object.hasOwn(schema.shape, name) ? (schema.shape[name] as z.ZodType) : undefined;
  }
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  if (schema instanceof z.ZodRecord) return schema.valueType as z.ZodType;
  return undefined;
}

/** The same settings without their defaults: what is left out stays out. */
export function withoutDefaults(schema: z.ZodType): z.ZodType {
  if (!(schema instanceof z.ZodPrefault)) return schema;
  const inner = schema.unwrap() as z.ZodType;
  const open = inner instanceof z.ZodObject ? openObject(inner) : inner;
  const described = open.optional().describe(schema.description ?? '');
  const info = settingInfo.get(schema);
  if (info) settingInfo.add(described, info);
  return described;
}

function openObject(schema: z.ZodObject): z.ZodObject {
  const fields = Object.entries(schema.shape).map(
    ([key, field]) => [key, withoutDefaults(field as z.ZodType)] as const,
  );
  return z.strictObject(Object.fromEntries(fields));
}
