import { isScalar, parseDocument } from 'yaml';
import * as z from 'zod';
import { valueInfo } from './scalar.ts';
import { bare } from './setting.ts';

/** Whether a text is taken as it stands for this setting, and not as YAML. */
export function isTextual(schema: z.ZodType | undefined): boolean {
  if (schema === undefined) return true;
  const inner = bare(schema);
  return (
    valueInfo.get(inner)?.textual ?? (inner instanceof z.ZodEnum || inner instanceof z.ZodString)
  );
}

/** What a text means for a setting: itself where text is wanted, else the number, word or null that it spells. */
export function asWritten(text: string, schema: z.ZodType | undefined): unknown {
  if (isTextual(schema)) {
    return text === 'null' && schema instanceof z.ZodType && schema.safeParse(null).success
      ? null
      : text;
  }
  const document = parseDocument(text, { prettyErrors: false });
  if (document.errors.length > 0 || !isScalar(document.contents)) return text;
  return document.contents.value;
}
