import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { configMarkdown } from './document-markdown.ts';
import { configJsonSchema } from './document-schema.ts';
import { configYaml } from './document-yaml.ts';

interface GeneratedFile {
  /** From the top of the repository. */
  readonly name: string;
  readonly text: string;
}

/** The files that are made from the schema. */
export function generatedFiles(): readonly GeneratedFile[] {
  return [
    { name: 'proxy.config.yaml', text: configYaml() },
    { name: 'proxy.config.schema.json', text: configJsonSchema() },
    { name: 'docs/configuration.md', text: configMarkdown() },
  ];
}

/** The generated files that are not what the schema says now. */
export function staleFiles(): readonly string[] {
  return generatedFiles()
    .filter(({ name, text }) => current(name) !== text)
    .map(({ name }) => name);
}

function current(name: string): string | undefined {
  try {
    return readFileSync(locate(name), 'utf8');
  } catch {
    return undefined;
  }
}

function locate(name: string): URL {
  return new URL(`../../${name}`, import.meta.url);
}

function main(args: readonly string[]): void {
  if (!args.includes('--check')) {
    for (const { name, text } of generatedFiles()) writeFileSync(locate(name), text);
    return;
  }
  const stale = staleFiles();
  if (stale.length === 0) return;
  process.stderr.write(
    `not in step with src/config/: ${stale.join(', ')}; run node src/config/document.ts\n`,
  );
  process.exitCode = 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2));
