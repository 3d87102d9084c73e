import * as z from 'zod';
import { type Fault, nearest } from './faults.ts';
import { dotted, type Path, type Places } from './places.ts';
import { valueInfo } from './scalar.ts';
import { bare, schemaAt } from './setting.ts';

interface Context {
  readonly root: z.ZodType;
  readonly tree: unknown;
  readonly places: Places;
}

/** The schema's complaints in plain words, at the places they are about. */
export function faultsOf(
  issues: readonly z.core.$ZodIssue[],
  base: Path,
  context: Context,
): readonly Fault[] {
  return issues.flatMap((issue) => faultsOfIssue(issue, [...base, ...issue.path], context));
}

function faultsOfIssue(issue: z.core.$ZodIssue, path: Path, context: Context): readonly Fault[] {
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey(path, key, context));
    case 'invalid_key':
      return issue.issues.map((inner) => ({
        ...at(path, context, 'key'),
        message: `the key: expected ${inner.message}`,
        expected: inner.message,
      }));
    case 'invalid_value': {
      const words = issue.values.map(String);
      return [wrongValue(`one of ${words.join(', ')}`, path, context, words)];
    }
    case 'custom':
      return [customFault(issue, path, context)];
    case 'too_small':
      return [wrongValue('at least one entry', path, context, [])];
    case 'invalid_type':
      return [wrongValue(wordFor(issue.expected), path, context, [])];
    default:
      return [{ ...at(path, context, 'value'), message: issue.message, expected: '' }];
  }
}

function customFault(issue: z.core.$ZodIssueCustom, path: Path, context: Context): Fault {
  const refused = issue.params?.refused !== undefined || issue.params === undefined;
  if (!refused) return wrongValue(issue.message, path, context, []);
  const { from } = context.places.value(path);
  const schema = schemaAt(context.root, path);
  const info = schema && valueInfo.get(bare(schema));
  // Refusals of patterns and selectors quote them; those of secrets never do.
  if (from !== undefined && info?.secret === false)
    return wrongValue(info.expects, path, context, []);
  return { ...at(path, context, 'value'), message: issue.message, expected: '' };
}

function unknownKey(path: Path, key: string, context: Context): Fault {
  const known = schemaAt(context.root, path);
  const inner = known && bare(known);
  const keys = inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
  return {
    ...at([...path, key], context, 'key'),
    message: 'unknown key',
    expected: `one of ${keys.join(', ')}`,
    ...nearest(key, keys),
  };
}

function wrongValue(
  expected: string,
  path: Path,
  context: Context,
  words: readonly string[],
): Fault {
  const value = valueAt(context.tree, path);
  const { from } = context.places.value(path);
  const got = from === undefined ? show(value, schemaAt(context.root, path)) : `what ${from} holds`;
  const missing = value === undefined;
  return {
    ...at(path, context, missing ? 'key' : 'value'),
    message: missing ? `missing; expected ${expected}` : `expected ${expected}, got ${got}`,
    expected,
    ...(typeof value === 'string' && from === undefined ? nearest(value, words) : {}),
  };
}

function at(path: Path, context: Context, what: 'key' | 'value') {
  const { file, line, column } = context.places[what](path);
  return { file, line, column, path: dotted(path) };
}

/** Only single values whose content is no secret are quoted. */
function show(value: unknown, schema: z.ZodType | undefined): string {
  if (value === null) return 'nothing (null)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map of keys';
  const inner = schema && bare(schema);
  const info = inner && valueInfo.get(inner);
  const quotable = inner instanceof z.ZodEnum || info?.secret === false;
  if (quotable)
    return JSON.stringify(typeof value === 'string' ? value.slice(0, 60) : value) ?? 'that';
  return typeof value === 'string' ? 'a text' : `a ${typeof value}`;
}

function wordFor(expected: string): string {
  switch (expected) {
    case 'object':
    case 'record':
      return 'a map of keys';
    case 'array':
      return 'a list';
    case 'string':
      return 'a text';
    default:
      return `a ${expected}`;
  }
}

/** The value at a path of plain data. */
export function valueAt(tree: unknown, path: Path): unknown {
  let value = tree;
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}
