import * as z from 'zod';
import { valueInfo } from './scalar.ts';
import { bare, settingInfo } from './setting.ts';

/** One key of the configuration as it is shown to people. */
export interface ListedSetting {
  readonly path: readonly string[];
  readonly why: string;
  readonly type: string;
  /** In the notation of the file; undefined: none, or a group. */
  readonly fallback: unknown;
  readonly isGroup: boolean;
  /** A key without a default: left out, it does nothing. */
  readonly isOptional: boolean;
  /** Said of what this version reads and does not act on; empty where all is in effect. */
  readonly note: string;
}

/** The keys of an object schema in order, groups before what is in them. */
export function listSettings(
  root: z.ZodType,
  path: readonly string[] = [],
): readonly ListedSetting[] {
  const inner = bare(root);
  if (!(inner instanceof z.ZodObject)) return [];
  return Object.entries(inner.shape).flatMap(([key, field]) => {
    const schema = field as z.ZodType;
    const here = [...path, key];
    const listed = describe(schema, here);
    return listed.isGroup ? [listed, ...listSettings(schema, here)] : [listed];
  });
}

function describe(schema: z.ZodType, path: readonly string[]): ListedSetting {
  const inner = bare(schema);
  const isGroup = inner instanceof z.ZodObject && !isNullable(schema);
  return {
    path,
    why: schema.description ?? '',
    type: typeText(schema),
    fallback: schema instanceof z.ZodPrefault && !isGroup ? schema.def.defaultValue : undefined,
    isGroup,
    isOptional: schema instanceof z.ZodOptional,
    note: isGroup ? '' : inertNote(schema),
  };
}

/** What may be written there, in words. */
export function typeText(schema: z.ZodType): string {
  const inner = bare(schema);
  const text = bareType(inner);
  return isNullable(schema) ? `${text}, or null` : text;
}

function bareType(schema: z.ZodType): string {
  const info = valueInfo.get(schema);
  if (info) return info.expects;
  if (schema instanceof z.ZodEnum) return schema.options.join(' | ');
  if (schema instanceof z.ZodArray) {
    const element = bare(schema.element as z.ZodType);
    return element instanceof z.ZodObject ? 'a list of maps' : `a list; each: ${typeText(element)}`;
  }
  if (schema instanceof z.ZodRecord) return 'a map of names';
  if (schema instanceof z.ZodObject) return 'a map of keys';
  return 'a text';
}

function isNullable(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodNullable) return true;
  if (!(schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional)) return false;
  return isNullable(schema.unwrap() as z.ZodType);
}

/** What is said of a setting, or of some of its values, that have no effect yet. */
export function inertNote(schema: z.ZodType): string {
  const inert = settingInfo.get(schema)?.inert;
  if (!inert) return '';
  const values = inert.when ? `${inert.when.map(String).join(', ')}: ` : '';
  return `(${values}accepted; not in effect in this version)`;
}
