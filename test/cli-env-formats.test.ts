import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { parse as parseYaml } from 'yaml';
import { formatEnvironment } from '../src/cli/env-formats.ts';

const HOSTILE = {
  PLAIN: 'http://client:x@127.0.0.1:8888',
  EMPTY: '',
  SPACES: ' two  words ',
  QUOTE: "it's",
  QUOTES: `"double" and 'single'`,
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a shell would expand, not we
  COMMAND: '$(touch /tmp/owned) `id` $HOME ${HOME} !! %PATH%',
  BACKSLASH: 'C:\\new\\table\\',
  BACKSLASH_QUOTE: "\\'; echo owned; '",
  SEMICOLON: 'a; b & c | d > e # f',
  LINES: 'one\ntwo\n',
  TYPOGRAPHIC: '‘single’ ‚low‛',
  GLOB: '* ? [a] ~',
  UNICODE: 'ü 日本 🙂',
};

test('sh gets back exactly what was set, and runs nothing of it', () => {
  const script = `${formatEnvironment(HOSTILE, 'sh')}env -0`;
  const printed = execFileSync('sh', ['-c', script], { env: { PATH: process.env.PATH } });
  const seen = Object.fromEntries(
    printed
      .toString()
      .split('\0')
      .filter(Boolean)
      .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
  for (const [name, value] of Object.entries(HOSTILE)) assert.equal(seen[name], value, name);
});

test('dotenv: what is written is read back as it was, and what cannot be is left out with a word', () => {
  const text = formatEnvironment(HOSTILE, 'dotenv');
  const seen = parseEnv(text);
  for (const [name, value] of Object.entries(HOSTILE)) {
    if (seen[name] === undefined) assert.match(text, new RegExp(`^# ${name} is left out`, 'm'));
    else assert.equal(seen[name], value, name);
  }
  assert.equal(seen.QUOTE, HOSTILE.QUOTE);
  assert.match(text, /^PLAIN=http:\/\/client:x@127\.0\.0\.1:8888$/m);
});

test('k8s is a list of a container, with the dollar signs that Kubernetes would expand doubled', () => {
  const seen = parseYaml(formatEnvironment(HOSTILE, 'k8s')) as { name: string; value: string }[];
  assert.deepEqual(
    seen.map(({ name }) => name),
    Object.keys(HOSTILE),
  );
  for (const { name, value } of seen) {
    assert.equal(value.replaceAll('$$', '$'), HOSTILE[name as keyof typeof HOSTILE], name);
  }
  const command = seen.find(({ name }) => name === 'COMMAND')?.value;
  assert.ok(command?.startsWith('$$(touch'));
});

// The two shells are rarely at hand, so their rules are read back by hand: single quotes, in which fish
// knows \\ and \', and PowerShell knows a doubled quote of any kind.
test('fish gets back exactly what was set', () => {
  fc.assert(
    fc.property(hostileText(), (value) => {
      const [, quoted = ''] =
        /^set -gx X '([\s\S]*)'\n$/.exec(formatEnvironment({ X: value }, 'fish')) ?? [];
      assert.doesNotMatch(quoted.replace(/\\[\\']/g, ''), /['\\]/);
      assert.equal(quoted.replace(/\\([\\'])/g, '$1'), value);
    }),
  );
});

test('PowerShell gets back exactly what was set', () => {
  fc.assert(
    fc.property(hostileText(), (value) => {
      const written = formatEnvironment({ X: value }, 'powershell');
      const [, quoted = ''] = /^\$env:X = '([\s\S]*)'\n$/.exec(written) ?? [];
      assert.doesNotMatch(quoted.replace(/(['‘-‛])\1/g, ''), /['‘-‛]/);
      assert.equal(quoted.replace(/(['‘-‛])\1/g, '$1'), value);
    }),
  );
});

test('sh quoting holds for any text', () => {
  fc.assert(
    fc.property(hostileText(), (value) => {
      const written = formatEnvironment({ X: value }, 'sh').slice('export X='.length, -1);
      const spans = written.split("'\\''");
      assert.ok(written.startsWith("'") && written.endsWith("'"));
      assert.equal(spans.join("'").slice(1, -1), value);
      assert.ok(spans.join('').slice(1, -1).indexOf("'") === -1);
    }),
  );
});

function hostileText() {
  const characters = fc.constantFrom(...`'"\\$\`;&|\n ‘’‚‛ax(){}`.split(''));
  return fc.string({ unit: characters, maxLength: 12 });
}
