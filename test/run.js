// Runs the tests: node test/run.js [FILE | PART OF A FILE'S PATH | NAME OF A TEST | --FLAG OF NODE]…
// Plain JavaScript for any Node: the tests themselves run on one that is new enough.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findModernNode, NEEDED_MAJOR, thisMajor } from '../bin/modern-node.js';

// Most tests wait for sockets, not for the processor; more at once only makes the slow ones slower.
const CONCURRENCY = 2;
const TEST_TIMEOUT_MS = 120_000;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const interop = testFiles('test/interop');
const suites = [...testFiles('src'), ...testFiles('test')].filter(
  (file) => !interop.includes(file),
);

const { files, patterns, flags } = chosen(process.argv.slice(2));
const node = thisMajor >= NEEDED_MAJOR ? process.execPath : findModernNode([root]);
if (node === undefined) {
  process.stderr.write(`The tests need Node ${NEEDED_MAJOR}: run npm ci first.\n`);
  process.exit(2);
}

const child = spawn(
  node,
  [
    '--test',
    `--test-concurrency=${CONCURRENCY}`,
    `--test-timeout=${TEST_TIMEOUT_MS}`,
    ...patterns.map((pattern) => `--test-name-pattern=${pattern}`),
    ...flags,
    ...files,
  ],
  { cwd: root, stdio: 'inherit' },
);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('exit', (status) => {
  tellWhatWasLeftOut();
  process.exitCode = status === null ? 1 : status;
});

function testFiles(folder) {
  const path = join(root, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { withFileTypes: true })
    .flatMap((entry) => {
      const name = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return testFiles(name);
      return entry.name.endsWith('.test.ts') ? [name] : [];
    })
    .sort();
}

// A word that is (part of) a test file's path chooses files, any other one chooses tests by name.
function chosen(words) {
  const all = [...suites, ...interop];
  const found = { files: [], patterns: [], flags: [] };
  for (const word of words) {
    const path = existsSync(word) ? relative(root, word).split(sep).join('/') : word;
    const matching = all.filter((file) => file.includes(path));
    if (word.startsWith('-')) found.flags.push(word);
    else if (matching.length > 0) found.files.push(...matching);
    else found.patterns.push(word);
  }
  if (found.files.length === 0) found.files = suites;
  return found;
}

function tellWhatWasLeftOut() {
  const left = interop.filter((file) => !files.includes(file));
  if (left.length === 0) return;
  process.stdout.write(
    '\nNot run, because they need programs from outside (name one to run it):\n',
  );
  for (const file of left) process.stdout.write(`  ${file}\n`);
}
