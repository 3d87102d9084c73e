import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { parse } from 'yaml';
import type * as z from 'zod';
import { generatedFiles, staleFiles } from './document.ts';
import { nested } from './document-markdown.ts';
import { environmentNames } from './environment.ts';
import { examples } from './examples.ts';
import { formatFault } from './faults.ts';
import { valueAt } from './issues.ts';
import { loadConfig } from './load.ts';
import { configSchema } from './schema.ts';
import { bare, childOf, schemaAt } from './setting.ts';
import { listSettings } from './settings-list.ts';

const top = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const SECRETS = { SHIFTER_PASSWORD: 'a', BRIGHTDATA_PASSWORD: 'b', CRAWLER_PASSWORD: 'c' };
const settings = listSettings(configSchema);

function load(text: string) {
  const loaded = loadConfig({ file: undefined, text, env: SECRETS, flags: {} });
  if (loaded.kind !== 'ok') assert.fail(loaded.faults.map(formatFault).join('\n'));
  return loaded.config;
}

test('the generated files are what the schema says', () => {
  assert.deepEqual(staleFiles(), []);
  assert.equal(generatedFiles().length, 3);
});

test('the file with every default loads and is the defaults', () => {
  assert.deepEqual(load(top('proxy.config.yaml')), load(''));
});

test('the file shows every setting and nothing else', () => {
  const tree: unknown = parse(top('proxy.config.yaml'));
  for (const { path, isOptional } of settings) {
    assert.equal(valueAt(tree, path) === undefined, isOptional, path.join('.'));
  }
  const shown = (value: unknown, path: readonly string[]): void => {
    if (path.length > 0) {
      assert.ok(
        settings.some((known) => known.path.join('.') === path.join('.')),
        path.join('.'),
      );
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
    for (const [key, inner] of Object.entries(value)) shown(inner, [...path, key]);
  };
  shown(tree, []);
});

test('every key, in lists too, has one sentence that says what and why', () => {
  const visit = (schema: z.ZodType, path: string): void => {
    const inner = bare(schema);
    const keys = 'shape' in inner ? Object.keys(inner.shape as object) : [];
    for (const key of keys) {
      const field = childOf(inner, key);
      assert.ok(field && (field.description ?? '').length > 5, `${path}.${key} has no sentence`);
      visit(field, `${path}.${key}`);
    }
    const element = childOf(inner, 0);
    if (keys.length === 0 && element) visit(element, `${path}[]`);
  };
  visit(configSchema, '');
});

test('the page documents every setting, and no setting that does not exist', () => {
  const page = top('docs/configuration.md');
  for (const { path } of settings)
    assert.ok(page.includes(`\`${path.join('.')}\``), path.join('.'));
  for (const [, name = ''] of page.matchAll(/^\| \*{0,2}`([a-z_]+(?:\.[a-z_]+)+)`/gm)) {
    assert.ok(schemaAt(configSchema, name.split('.')), name);
  }
  for (const [name] of page.matchAll(/FORBEAR_[A-Z_]+[A-Z]/g)) {
    assert.ok(
      [...environmentNames(configSchema).keys(), 'FORBEAR_HOME', 'FORBEAR_CONFIG'].includes(name),
      name,
    );
  }
});

test('every example of the page loads', () => {
  const blocks = [...top('docs/configuration.md').matchAll(/```yaml\n([\s\S]*?)```/g)];
  assert.ok(blocks.length >= 5);
  for (const [, text = ''] of blocks) load(text);
});

test('every example that the file shows as a comment loads', () => {
  for (const [name, example] of Object.entries(examples)) {
    // Its certificate files are not there.
    if (name !== 'tls.client_certs') load(nested(name.split('.'), example));
    const commented = example
      .trimEnd()
      .split('\n')
      .map((line) => line.trim());
    for (const line of commented) assert.ok(top('proxy.config.yaml').includes(line), line);
  }
});

test('no two settings share the name of an environment variable', () => {
  const count = (schema: z.ZodType): number => {
    const inner = bare(schema);
    const keys = 'shape' in inner ? Object.values(inner.shape as Record<string, z.ZodType>) : [];
    return keys.reduce((sum, field) => sum + 1 + count(field), 0);
  };
  assert.equal(environmentNames(configSchema).size, count(configSchema));
});

test('the JSON Schema knows the same keys and defaults', () => {
  const schema: unknown = JSON.parse(top('proxy.config.schema.json'));
  for (const { path, fallback, isGroup, isOptional } of settings) {
    const at = path.flatMap((key) => ['properties', key]);
    const found = valueAt(schema, at);
    assert.ok(found, path.join('.'));
    if (!isGroup && !isOptional)
      assert.deepEqual(valueAt(found, ['default']), fallback, path.join('.'));
  }
  assert.equal(valueAt(schema, ['additionalProperties']), false);
});
