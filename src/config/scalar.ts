import * as z from 'zod';

/** What a single value of the file is, for fault texts, documentation and environment variables. */
export interface ValueInfo {
  /** Completes "expected …". */
  readonly expects: string;
  /** Its content never appears in a fault, a log or the display. */
  readonly secret: boolean;
  /** Read from an environment variable as it stands, not as YAML. */
  readonly textual: boolean;
}

/** A value that has the right form and cannot be used all the same; `refused` says why, without quoting it. */
export interface Refused {
  readonly refused: string;
}

interface ScalarSpec<T extends {}> {
  readonly expects: string;
  /** JSON Schema of what is written in the file. */
  readonly json: Readonly<Record<string, unknown>>;
  readonly secret?: boolean;
  /** undefined: not what is expected. */
  readonly parse: (value: unknown) => T | Refused | undefined;
}

/** The information that goes with each scalar schema. */
export const valueInfo = z.registry<ValueInfo>();

/** One value with its own notation: reads it, and says what was expected where it cannot. */
export function scalar<T extends {}>(spec: ScalarSpec<T>) {
  const schema = z
    .unknown()
    .transform((value, ctx): T => {
      const parsed = spec.parse(value);
      if (parsed !== undefined && !isRefused(parsed)) return parsed;
      const refused = parsed?.refused;
      const message = refused ?? spec.expects;
      ctx.issues.push({ code: 'custom', input: value, message, params: { refused } });
      return z.NEVER;
    })
    .meta({ ...spec.json });
  valueInfo.add(schema, {
    expects: spec.expects,
    secret: spec.secret ?? false,
    textual: spec.json.type === 'string',
  });
  return schema;
}

/** Whether a parsed value is a refusal. */
export function isRefused(value: unknown): value is Refused {
  return typeof value === 'object' && value !== null && 'refused' in value;
}
