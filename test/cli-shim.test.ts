import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findModernNode } from '../bin/modern-node.js';

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'forbear-shim-')));
after(() => rmSync(scratch, { recursive: true, force: true }));
const bin = fileURLToPath(new URL('../bin/', import.meta.url));

function folder(...names: string[]): string {
  const path = join(scratch, ...names);
  mkdirSync(path, { recursive: true });
  return path;
}

/** A package as it is published, whose command is `code`. */
function published(name: string, code: string): string {
  const root = folder(name, 'node_modules', 'forbear');
  folder(name, 'node_modules', 'forbear', 'bin');
  for (const file of ['forbear.js', 'modern-node.js'])
    copyFileSync(join(bin, file), join(root, 'bin', file));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder(name, 'node_modules', 'forbear', 'dist', 'cli'), 'main.js'), code);
  return join(root, 'bin', 'forbear.js');
}

function run(script: string, args: readonly string[] = [], cwd = scratch) {
  return spawnSync(process.execPath, [script, ...args], { cwd, encoding: 'utf8' });
}

test('a checkout runs its sources, from any folder and through the link that npm makes', () => {
  const link = join(folder('links'), 'forbear');
  symlinkSync(join(bin, 'forbear.js'), link);
  const { status, stdout } = run(link, ['--version']);
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test('a published package runs its build, with the arguments as given', () => {
  const script = published(
    'args',
    'export const main = async (args) => { process.stdout.write(JSON.stringify(args)); return 7; }',
  );
  const args = ['run', '--', 'a b', '', '*', "it's"];
  const { status, stdout } = run(script, args);
  assert.equal(status, 7);
  assert.deepEqual(JSON.parse(stdout), args);
});

test('an error that nobody expected is told, and is a failure', () => {
  const script = published('error', 'export const main = async () => { throw new Error("odd"); }');
  const { status, stderr } = run(script);
  assert.equal(status, 1);
  assert.match(stderr, /^forbear: Error: odd/);
});

test('output whose reader has gone is no error', () => {
  const script = published(
    'pipe',
    'export const main = async () => { for (let n = 0; n < 5000; n++) process.stdout.write("line\\n"); return 0; }',
  );
  const piped = `"${process.execPath}" "${script}" | head -n 1`;
  const { stdout, stderr } = spawnSync('sh', ['-c', piped], { encoding: 'utf8' });
  assert.equal(stdout, 'line\n');
  assert.equal(stderr, '');
});

/** An npm package `node` of some version, whose binary tells that it was run. */
function packagedNode(name: string, version: string): string {
  const root = folder(name, 'node_modules', 'node');
  writeFileSync(join(root, 'package.json'), JSON.stringify({ version }));
  const binary = join(folder(name, 'node_modules', 'node', 'bin'), 'node');
  writeFileSync(binary, '#!/bin/sh\n', { mode: 0o755 });
  return binary;
}

test('a packaged Node is found from any folder below it', () => {
  const binary = packagedNode('packaged', '24.21.0');
  assert.equal(findModernNode([folder('packaged', 'src', 'deep')]), binary);
});

test('a packaged Node that is too old is passed over', () => {
  packagedNode('outer/inner', '20.1.0');
  const newer = packagedNode('outer', '26.0.0');
  assert.equal(findModernNode([folder('outer', 'inner')]), newer);
});

test('a packaged Node whose binary was never fetched is none', () => {
  rmSync(packagedNode('unfetched', '24.0.0'));
  assert.equal(findModernNode([folder('unfetched')]), undefined);
});

// The rest is about an old Node. Where there is none, an old version is claimed by a file loaded first.
const old = join(scratch, 'old.mjs');
writeFileSync(
  old,
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });" +
    "Object.defineProperty(process, 'version', { value: 'v20.1.0' });",
);

function runOld(script: string, args: readonly string[], cwd: string) {
  return spawnSync(process.execPath, ['--import', old, script, ...args], { cwd, encoding: 'utf8' });
}

test('an old Node without a newer one nearby gets one line with the need and the fix', () => {
  const script = published('alone', 'export const main = async () => 0');
  const { status, stderr } = runOld(script, ['check'], folder('alone'));
  assert.equal(status, 2);
  assert.match(stderr, /^forbear: needs Node 24 or newer, but this is v20\.1\.0; install .*\n$/);
});

function withNewerNode(name: string, code: string): string {
  const script = published(name, code);
  const binary = packagedNode(name, '24.0.0');
  rmSync(binary);
  symlinkSync(process.execPath, binary);
  assert.ok(existsSync(binary));
  return script;
}

test('an old Node hands over to a newer one: arguments, status and no trace in the environment', () => {
  const script = withNewerNode(
    'handover',
    'export const main = async (args) => { process.stdout.write(JSON.stringify([args, Object.keys(process.env).filter((n) => n.startsWith("FORBEAR"))])); return 5; }',
  );
  const { status, stdout } = runOld(script, ['a b', '--x'], folder('handover'));
  assert.equal(status, 5);
  assert.deepEqual(JSON.parse(stdout), [['a b', '--x'], []]);
});

test('an old Node ends by the signal that ended the newer one', () => {
  const script = withNewerNode(
    'signalled',
    'export const main = () => new Promise(() => { process.kill(process.pid, "SIGKILL"); })',
  );
  assert.equal(runOld(script, [], folder('signalled')).signal, 'SIGKILL');
});

/** A command that runs until it is asked to end, and tells so. */
const WAITING =
  'export const main = () => new Promise((resolve) => { const hold = setInterval(() => {}, 1e6);' +
  'process.on("SIGTERM", () => { process.stdout.write("term\\n"); clearInterval(hold); resolve(3); });' +
  'process.stdout.write("up\\n"); })';

async function waiting(name: string) {
  const script = withNewerNode(name, WAITING);
  const child = spawn(process.execPath, ['--import', old, script], { cwd: folder(name) });
  let seen = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    seen += text;
  });
  await once(child.stdout, 'data');
  return { child, seen: () => seen };
}

test('a signal for the old Node reaches the newer one', { timeout: 20_000 }, async () => {
  const { child, seen } = await waiting('terminated');
  child.kill('SIGTERM');
  const [status] = await once(child, 'close');
  assert.equal(status, 3);
  assert.match(seen(), /^up\nterm\n$/);
});

test('nothing is left running when the old Node is killed', { timeout: 20_000 }, async () => {
  const { child, seen } = await waiting('killed');
  child.kill('SIGKILL');
  // The pipe is held by both: it closes when the last of them has ended.
  await once(child, 'close');
  assert.match(seen(), /term\n$/);
});
