#!/usr/bin/env node
// Runs on old Node versions too (no top-level await, no recent syntax): its task is to find a Node that is new enough.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findModernNode, NEEDED_MAJOR, thisMajor } from './modern-node.js';

// Set for the second process only, and taken away again before anything else reads the environment.
const RELAUNCHED = 'FORBEAR_RELAUNCHED';

const script = fileURLToPath(import.meta.url);
const root = dirname(dirname(script));
const args = process.argv.slice(2);

if (thisMajor >= NEEDED_MAJOR) runHere();
else runOnModernNode();

function runHere() {
  if (process.env[RELAUNCHED] !== undefined) {
    delete process.env[RELAUNCHED];
    endWithParent();
  }
  // Standard output may be a pipe whose reader has gone (`forbear ca print | head`): no reason to crash.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  keepCompiledCode();
  import(pathToFileURL(entry()).href)
    .then((entryPoint) => entryPoint.main(args))
    .then((status) => process.stdout.write('', () => process.exit(status)))
    .catch((error) => {
      process.stderr.write(`forbear: ${error?.stack ? error.stack : error}\n`);
      process.exit(1);
    });
}

// Nearly halves the time to start. Where the folder cannot be written it does nothing.
function keepCompiledCode() {
  const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  module.enableCompileCache(join(caches, 'forbear'));
}

// In a checkout the sources run as they are, so that an old build is never run by mistake.
// Inside node_modules Node does not strip types, and a published package brings its build along.
function entry() {
  const source = join(root, 'src', 'cli', 'main.ts');
  const installed = root.split(sep).includes('node_modules');
  return !installed && existsSync(source) ? source : join(root, 'dist', 'cli', 'main.js');
}

// When the first process is killed without a chance to pass a signal on, its end is seen here.
function endWithParent() {
  if (!process.channel) return;
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}

function runOnModernNode() {
  const node = findModernNode([root, process.cwd()]);
  if (node === undefined) {
    process.stderr.write(
      `forbear: needs Node ${NEEDED_MAJOR} or newer, but this is ${process.version}; ` +
        `install it (https://nodejs.org), or run: npm install --save-dev node@${NEEDED_MAJOR}\n`,
    );
    process.exit(2);
  }
  const child = spawn(node, [script, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [RELAUNCHED]: '1' },
  });
  forwardSignals(child);
  child.on('error', (error) => {
    process.stderr.write(`forbear: cannot run ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (status, signal) => endAs(status, signal));
}

// A terminal sends SIGINT and SIGQUIT to every process in the foreground, the child included: not twice.
function forwardSignals(child) {
  const onTerminal = process.stdin.isTTY === true;
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR2']) {
    if (process.platform === 'win32' && signal !== 'SIGINT' && signal !== 'SIGTERM') continue;
    process.on(signal, () => {
      if (onTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT')) return;
      child.kill(signal);
    });
  }
}

function endAs(status, signal) {
  if (signal === null) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + (constants.signals[signal] || 0)), 100);
}
