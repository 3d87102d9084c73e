import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BUNDLE_VARIABLES, CA_VARIABLES, CLIENT_VARIABLES } from '../src/cli/client-variables.ts';
import { DEFAULT_NO_PROXY } from '../src/cli/environment.ts';

const doc = readFileSync(new URL('../docs/clients.md', import.meta.url), 'utf8');
const rows = doc
  .split('\n## ')
  .find((section) => section.startsWith('The variables'))
  ?.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));

const documented = new Map(
  rows?.flatMap(([, names = '', value = '']) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, value] as const),
  ),
);

test('the table names every variable that is set, and no other', () => {
  assert.deepEqual([...documented.keys()].sort(), [...CLIENT_VARIABLES].sort());
});

test('the table tells the CA from the bundle as the code does', () => {
  const valued = (value: string) =>
    [...documented].filter(([, v]) => v === value).map(([name]) => name);
  assert.deepEqual(valued('bundle').sort(), [...BUNDLE_VARIABLES].sort());
  assert.deepEqual(valued('CA').sort(), [...CA_VARIABLES].sort());
});

test('the default of NO_PROXY is the documented one', () => {
  assert.ok(documented.get('NO_PROXY')?.includes(`\`${DEFAULT_NO_PROXY}\``));
});
