/** The part of JSON Schema (2020-12) that the admin API speaks. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: JsonType | readonly JsonType[];
  readonly description?: string;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly oneOf?: readonly JsonSchema[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly format?: string;
  readonly default?: string | number | boolean;
}

type JsonType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null';
type Named = Readonly<Record<string, JsonSchema>>;

/** What is wrong with a value, in one sentence that names the place; undefined when it fits. */
export function violation(
  value: unknown,
  schema: JsonSchema,
  named: Named = {},
  place = 'the body',
): string | undefined {
  if (schema.$ref !== undefined) {
    const target = named[schema.$ref.split('/').at(-1) ?? ''];
    return target ? violation(value, target, named, place) : `${schema.$ref} is not defined`;
  }
  if (schema.oneOf) {
    const faults = schema.oneOf.map((one) => violation(value, one, named, place));
    if (faults.filter((fault) => fault === undefined).length === 1) return undefined;
    return faults.find((fault) => fault !== undefined) ?? `${place} can be read in two ways`;
  }
  return (
    wrongType(value, schema, place) ??
    wrongScalar(value, schema, place) ??
    wrongList(value, schema, named, place) ??
    wrongObject(value, schema, named, place)
  );
}

function wrongType(value: unknown, { type }: JsonSchema, place: string): string | undefined {
  if (type === undefined) return undefined;
  const allowed = typeof type === 'string' ? [type] : type;
  if (allowed.includes(typeOf(value))) return undefined;
  if (allowed.includes('number') && typeOf(value) === 'integer') return undefined;
  return `${place} must be ${allowed.join(' or ')}`;
}

function typeOf(value: unknown): JsonType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  const type = typeof value;
  return type === 'string' || type === 'number' || type === 'boolean' ? type : 'object';
}

function wrongScalar(value: unknown, schema: JsonSchema, place: string): string | undefined {
  if (schema.enum && !schema.enum.includes(value as string | number | boolean | null)) {
    return `${place} must be one of ${schema.enum.join(', ')}`;
  }
  if (typeof value === 'number') {
    const { minimum = -Infinity, maximum = Infinity } = schema;
    if (value < minimum || value > maximum) return `${place} must be ${minimum} to ${maximum}`;
  }
  if (typeof value === 'string') {
    if (value.length > (schema.maxLength ?? Infinity)) return `${place} is too long`;
    if (schema.format === 'date-time' && !ISO.test(value)) return `${place} must be a date-time`;
  }
  return undefined;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function wrongList(
  value: unknown,
  schema: JsonSchema,
  named: Named,
  place: string,
): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const { minItems = 0, maxItems = Infinity, items } = schema;
  if (value.length < minItems) return `${place} must have at least ${minItems} entries`;
  if (value.length > maxItems) return `${place} must have at most ${maxItems} entries`;
  return items && first(value, (item, i) => violation(item, items, named, `${place}[${i}]`));
}

function wrongObject(
  value: unknown,
  schema: JsonSchema,
  named: Named,
  place: string,
): string | undefined {
  if (typeOf(value) !== 'object') return undefined;
  const { properties = {}, required = [], additionalProperties: others = true } = schema;
  const missing = required.find((key) => !Object.hasOwn(value as object, key));
  if (missing !== undefined) return `${place} lacks ${missing}`;
  return first(Object.entries(value as object), ([key, item]) => {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (known) return violation(item, known, named, key);
    if (others === false) return `${key} is not known; known are: ${Object.keys(properties)}`;
    return typeof others === 'object' ? violation(item, others, named, key) : undefined;
  });
}

function first<T>(
  list: readonly T[],
  look: (item: T, i: number) => string | undefined,
): string | undefined {
  for (const [i, item] of list.entries()) {
    const fault = look(item, i);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
