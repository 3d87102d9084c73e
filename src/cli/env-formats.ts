import { parseEnv } from 'node:util';

/** The formats of `forbear env`. */
export const ENV_FORMATS = ['sh', 'fish', 'powershell', 'dotenv', 'k8s'] as const;
export type EnvFormat = (typeof ENV_FORMATS)[number];

/** Writes variables so that the named reader gets exactly these values, whatever characters they hold. */
export function formatEnvironment(
  set: Readonly<Record<string, string>>,
  format: EnvFormat,
): string {
  const write = WRITERS[format];
  return Object.entries(set)
    .map(([name, value]) => `${write(name, value)}\n`)
    .join('');
}

const WRITERS: Record<EnvFormat, (name: string, value: string) => string> = {
  sh: (name, value) => `export ${name}='${value.replaceAll("'", "'\\''")}'`,
  fish: (name, value) => `set -gx ${name} '${value.replace(/[\\']/g, '\\$&')}'`,
  // Typographic quotes end a quoted text in PowerShell too.
  powershell: (name, value) => `$env:${name} = '${value.replace(/['\u2018-\u201b]/g, '$&$&')}'`,
  dotenv,
  k8s: (name, value) => `- name: ${name}\n  value: ${yamlText(value)}`,
};

/**
 * Readers of `.env` files agree on little: plain words without quotes (docker knows no others), then
 * single quotes, which nobody looks into. What Node itself would read back differently is left out.
 */
function dotenv(name: string, value: string): string {
  if (/^[\w./:@%+,=[\]-]*$/.test(value)) return `${name}=${value}`;
  const written = ["'", '"', '`']
    .filter((quote) => !value.includes(quote))
    .map((quote) => `${name}=${quote}${value}${quote}`)
    .find((line) => parseEnv(line)[name] === value);
  return written ?? `# ${name} is left out: this format has no way to write its value`;
}

// JSON text is YAML text. Kubernetes itself expands $(NAME), and takes every $$ for one $.
function yamlText(value: string): string {
  return JSON.stringify(value.replaceAll('$', '$$$$')).replace(
    /[\u007f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
