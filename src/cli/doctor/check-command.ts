import { spawnSync } from 'node:child_process';
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import type { Terminal } from '../terminal.ts';
import { type Finding, findings } from './finding.ts';
import { type Client, TRAPS } from './traps.ts';

const LARGEST_SCRIPT = 1024 * 1024;
const VERSION_MS = 5_000;
/** Programs that are asked for their version; nothing else of the command is run. */
const VERSIONED = /^(?:node|nodejs)$/;

/** What is known of this command's ways with proxies, from its name, its version and the text of its script. */
export function checkCommand(command: readonly string[], env: Terminal['env']): readonly Finding[] {
  const [program = '', ...rest] = command;
  const { ok, warn, fail } = findings(basename(program));
  const file = found(program, env);
  if (file === undefined) {
    return [fail('is not in PATH, or cannot be run', 'write its whole path')];
  }
  const client = clientOf(file, rest);
  const traps = TRAPS.filter(
    ({ names, when }) => names.test(client.name) && (when?.(client) ?? true),
  );
  if (traps.length === 0) return [ok('no trap of it is known; forbear run sets all variables')];
  return traps.map(({ text, fix }) => warn(text, fix));
}

function found(program: string, env: Terminal['env']): string | undefined {
  const places = /[\\/]/.test(program)
    ? [program]
    : (env.PATH ?? '').split(delimiter).map((folder) => join(folder, program));
  return places.find((place) => {
    try {
      accessSync(place, constants.X_OK);
      return statSync(place).isFile();
    } catch {
      return false;
    }
  });
}

function clientOf(file: string, rest: readonly string[]): Client {
  const own = nameOf(file);
  const argument = textOf(rest.find((one) => !one.startsWith('-')) ?? '');
  // A known program may be a script itself: a wrapper that looks for the right version, or Scrapy's.
  if (TRAPS.some(({ names }) => names.test(own))) {
    return {
      name: own,
      version: VERSIONED.test(own) ? versionOf(file) : undefined,
      script: argument,
    };
  }
  const [interpreter = '', ...others] = shebang(file);
  if (interpreter === '') return { name: own, version: undefined, script: argument };
  const name = interpreter.endsWith('/env') ? (others[0] ?? '') : interpreter;
  return { name: nameOf(name), version: undefined, script: textOf(file) };
}

const nameOf = (path: string): string =>
  basename(path)
    .toLowerCase()
    .replace(/\.(?:exe|cmd|sh|js|py|rb|pl)$/, '')
    .replace(/[-\d.]+$/, '');

/** The interpreter that a script names, with its arguments. */
function shebang(file: string): readonly string[] {
  const [, line = ''] = /^#!(.*)/.exec(textOf(file)) ?? [];
  return line.trim().split(/\s+/);
}

function textOf(file: string): string {
  try {
    if (file === '' || statSync(file).size > LARGEST_SCRIPT) return '';
    const text = readFileSync(file, 'latin1');
    return text.includes('\0') ? '' : text;
  } catch {
    return '';
  }
}

function versionOf(file: string): readonly [number, number] | undefined {
  const { stdout } = spawnSync(file, ['--version'], { timeout: VERSION_MS, encoding: 'utf8' });
  const [, major, minor] = /(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  return minor === undefined ? undefined : [Number(major), Number(minor)];
}
