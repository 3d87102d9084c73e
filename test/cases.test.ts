import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/** Every failure case there is; the names of the tests that show it begin with its id. */
const CASES =
  '1 3 5 7 8 9 11 13 14 15 16 19 21 24 25 26 28 29 30 31 33 34 35 36 38 39 41 42 43 44 45 46 47 49 50 52 53 54 57 58 59 60 61 62 65 67 69 71 72 73 74 75 77 79 82 83 85 87 88 89 91 92 93 94 95 97 98 100 102 103 104 106 108 110 112 113 115 116 118'
    .split(' ')
    .map((n) => `B${n.padStart(2, '0')}`);

/** Shown by tests that are named after their subject, because it is more than one case. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  B25: 'test/wire/intercept-tunnels.test.ts',
  B46: 'test/wire/upgrade-handshake.test.ts',
  B49: 'test/wire/truncation-bodiless.test.ts',
  B50: 'test/wire/truncation-bodiless.test.ts',
  B52: 'test/wire/truncation-held.test.ts',
  B53: 'test/wire/truncation-streamed.test.ts',
  B62: 'test/wire/truncation-held.test.ts',
  B116: 'test/store-sqlite.test.ts',
};

const root = join(import.meta.dirname, '..');
const files = ['test', 'test/wire'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.test.ts') && name !== 'cases.test.ts')
    .map((name) => `${folder}/${name}`),
);
const names = files.flatMap((file) =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/^ *test\(\s*[`'"](.*)$/gm)].map(
    ([, name = '']) => name,
  ),
);
const shown = new Set(names.flatMap((name) => /^(B\d+ )+/.exec(name)?.[0].trim().split(' ') ?? []));

test('every failure case has a test that bears its id, or a file of its own subject', () => {
  assert.equal(CASES.length, 79);
  const missing = CASES.filter((id) => !shown.has(id) && ELSEWHERE[id] === undefined);
  assert.deepEqual(missing, []);
  for (const file of Object.values(ELSEWHERE)) assert.ok(statSync(join(root, file)).isFile());
});

test('no test bears the id of a case that does not exist', () => {
  assert.deepEqual(
    [...shown].filter((id) => !CASES.includes(id)),
    [],
  );
});
