import { stringify } from 'yaml';
import { examples } from './examples.ts';
import { configSchema } from './schema.ts';
import { type ListedSetting, listSettings } from './settings-list.ts';

const HEAD = `# yaml-language-server: $schema=./proxy.config.schema.json
#
# Every setting of Forbear with its default. A file needs only what differs; docs/configuration.md has the details.
# Durations: 250ms 1s 5m 1h 7d. Sizes: 64KiB 1MiB 500KB. Ranges: 10s..20s.
# \${NAME} and \${file:/path} read secrets from the environment and from files.
`;

/** The file with every setting and its default, made from the schema. */
export function configYaml(): string {
  return HEAD + listSettings(configSchema).map(settingLines).join('');
}

function settingLines(setting: ListedSetting): string {
  const indent = '  '.repeat(setting.path.length - 1);
  const key = setting.path.at(-1) ?? '';
  const note = setting.note === '' ? '' : ` ${setting.note}`;
  const gap = setting.path.length === 1 ? '\n' : '';
  const why = `${gap}${indent}# ${setting.why}${note}\n`;
  if (setting.isGroup) return `${why}${indent}${key}:\n`;
  if (setting.isOptional) return `${why}${indent}# ${key}:\n`;
  return `${why}${indent}${key}: ${inline(setting.fallback)}\n${exampleLines(setting, indent)}`;
}

/** A value on one line. */
export function inline(value: unknown): string {
  const text = stringify(value, {
    collectionStyle: 'flow',
    lineWidth: 0,
    flowCollectionPadding: false,
  });
  return text.trimEnd();
}

function exampleLines(setting: ListedSetting, indent: string): string {
  const example = examples[setting.path.join('.')];
  if (example === undefined) return '';
  const lines = [
    `${setting.path.at(-1)}:`,
    ...example
      .trimEnd()
      .split('\n')
      .map((line) => `  ${line}`),
  ];
  return `${indent}# For example:\n${lines.map((line) => `${indent}# ${line}\n`).join('')}`;
}
