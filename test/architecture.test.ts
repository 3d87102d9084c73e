import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VOCABULARY } from '../src/core/explain.ts';

const root = join(import.meta.dirname, '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');

function filesIn(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((file) => statSync(join(root, file)).isFile());
}

const sources = filesIn('src').filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));

/** Declarations have nothing to test; the rows of the marker tables are tested through `markers.ts`. */
const TYPES_ONLY = [
  'firewall-markers.ts',
  'marker-words.ts',
  'protector-markers.ts',
  'site-markers.ts',
  'action.ts',
  'policy.ts',
  'preset.ts',
  'verdict.ts',
];

test('every file of core/ has tests beside it', () => {
  const tests = filesIn('src/core').filter((file) => file.endsWith('.test.ts'));
  const untested = filesIn('src/core')
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => !TYPES_ONLY.some((name) => file.endsWith(`/${name}`)))
    .filter((file) => !tests.some((name) => read(name).includes(`./${file.split('/').at(-1)}'`)));
  assert.deepEqual(untested, []);
});

test('every reason and every stop is documented, and nothing else is', () => {
  const page = read('docs/reasons.md');
  const [verdicts = '', stops = '', own = ''] = page.split(/^## /m).slice(1);
  const words = (text: string) =>
    [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, word]) => word ?? '');
  assert.deepEqual(new Set(words(verdicts)), new Set(VOCABULARY.reasons));
  assert.deepEqual(new Set(words(stops)), new Set(VOCABULARY.stops));
  const listener = filesIn('src/listener').map(read).join('\n');
  for (const word of words(own)) assert.match(listener, new RegExp(`'${word}'`));
});

test('no source file is longer than 300 lines, and most are short', () => {
  const lengths = sources.map((file) => [file, read(file).split('\n').length - 1] as const);
  assert.deepEqual(
    lengths.filter(([, lines]) => lines > 300),
    [],
  );
  const sorted = lengths.map(([, lines]) => lines).sort((a, b) => a - b);
  assert.ok((sorted[Math.floor(sorted.length * 0.9)] ?? 0) <= 250);
});

test('no file is named after nothing in particular', () => {
  const stray = sources.filter((file) =>
    /\/(utils?|helpers?|common|types|misc)(\/|\.ts$)/.test(file),
  );
  assert.deepEqual(stray, []);
});

test('packages stay where they belong', () => {
  const homes: Record<string, RegExp> = {
    undici: /^src\/attempt\//,
    pino: /^src\/telemetry\/log\.ts$/,
    zod: /^src\/config\//,
    yaml: /^src\/config\//,
    commander: /^src\/cli\//,
    re2js: /^src\/(judge-tools\.ts|config\/)/,
    'node:sqlite': /^src\/store\/sqlite-/,
  };
  for (const [name, home] of Object.entries(homes)) {
    const importers = sources.filter((file) => new RegExp(`from '${name}(/|')`).test(read(file)));
    assert.ok(importers.length > 0, `${name} is not used`);
    assert.deepEqual(
      importers.filter((file) => !home.test(file)),
      [],
      name,
    );
  }
});

test('links between the documents lead somewhere', () => {
  const pages = [
    'README.md',
    'CONTRIBUTING.md',
    ...filesIn('docs').filter((f) => f.endsWith('.md')),
  ];
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\(([^)#:]+)(#[^)]*)?\)/g)]
      .map(([, link]) => join(page, '..', link ?? ''))
      .filter((file) => !existsSync(join(root, file)))
      .map((file) => `${page} -> ${file}`),
  );
  assert.deepEqual(broken, []);
});
