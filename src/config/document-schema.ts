import * as z from 'zod';
import { configSchema } from './schema.ts';
import { inertNote } from './settings-list.ts';

/** The JSON Schema of the file, for editors. */
export function configJsonSchema(): string {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (isShortForm(zodSchema)) offerShortForm(jsonSchema);
      const note = zodSchema instanceof z.ZodType ? inertNote(zodSchema) : '';
      const isGroup =
        zodSchema instanceof z.ZodPrefault && zodSchema.unwrap() instanceof z.ZodObject;
      if (note !== '' && !isGroup) jsonSchema.description = `${jsonSchema.description} ${note}`;
    },
  });
  return `${JSON.stringify({ title: 'proxy.config.yaml of Forbear', ...schema }, null, 2)}\n`;
}

/** A text that stands for an object, such as `host/path` for `{host, path}`. */
function isShortForm(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodTransform;
}

function offerShortForm(json: z.core.JSONSchema.BaseSchema): void {
  const { description, anyOf: _, ...long } = json;
  for (const key of Object.keys(json)) delete json[key];
  json.anyOf = [{ type: 'string', minLength: 1 }, long];
  if (description !== undefined) json.description = description;
}
