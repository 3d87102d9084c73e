import type { JsonSchema } from './json-schema.ts';

/** Ids of letters in a body. */
export const IDS: JsonSchema = {
  type: 'array',
  items: { type: 'string', maxLength: 200 },
  minItems: 1,
  maxItems: 10_000,
};
