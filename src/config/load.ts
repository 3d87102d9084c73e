import { readFileSync } from 'node:fs';
import { assemble } from './assemble.ts';
import type { Config } from './config.ts';
import { overlayEnvironment, place } from './environment.ts';
import { type Fault, inOrder } from './faults.ts';
import { type Env, errorCode } from './interpolate.ts';
import { inertNotices } from './notices.ts';
import { Places } from './places.ts';
import { configSchema } from './schema.ts';
import { fillEmpty, readSections } from './sections.ts';
import { readYaml } from './source.ts';

/** Settings from the command line; they win over everything. */
export interface Flags {
  readonly listen?: string;
  readonly admin?: string;
  /** The attempt log, absolute. */
  readonly log?: string;
}

export type Loaded =
  | { readonly kind: 'ok'; readonly config: Config }
  | { readonly kind: 'faults'; readonly faults: readonly Fault[] };

interface Request {
  /** undefined: no file, all defaults. */
  readonly file: string | undefined;
  /** The file's content, if the caller has it already. */
  readonly text?: string;
  readonly env: Env;
  readonly flags: Flags;
}

/** Reads flags, environment and file over the defaults: a configuration, or everything that is wrong with it. */
export function loadConfig(request: Request): Loaded {
  const content = readContent(request);
  if (content.kind === 'faults') return content;
  const places = new Places(request.file ?? 'configuration');
  const { tree, faults: sourceFaults } = readTree(content.text, request, places);
  const faults = [
    ...sourceFaults,
    ...overlayEnvironment({ tree, places, env: request.env, root: configSchema }),
  ];
  overlayFlags(tree, request.flags, places);
  const filled = fillEmpty(tree, configSchema) as Record<string, unknown>;
  const read = readSections(filled, places);
  const assembled = assemble({ file: request.file, tree: filled, sections: read.sections, places });
  faults.push(...read.faults, ...assembled.faults);
  const { config } = assembled;
  if (faults.length > 0 || !config) return { kind: 'faults', faults: inOrder(faults) };
  const notices = [...config.notices, ...inertNotices(filled)];
  return { kind: 'ok', config: { ...config, notices } };
}

function readContent(
  request: Request,
): { kind: 'text'; text: string } | { kind: 'faults'; faults: readonly Fault[] } {
  const { file, text } = request;
  if (text !== undefined || file === undefined) return { kind: 'text', text: text ?? '' };
  try {
    return { kind: 'text', text: readFileSync(file, 'utf8') };
  } catch (error) {
    const code = errorCode(error);
    const message =
      code === 'ENOENT' ? 'there is no such file' : `the file cannot be read (${code})`;
    return {
      kind: 'faults',
      faults: [{ file, line: 0, column: 0, path: '', message, expected: '' }],
    };
  }
}

function readTree(
  text: string,
  { file, env }: Request,
  places: Places,
): { tree: Record<string, unknown>; faults: readonly Fault[] } {
  const name = file ?? 'configuration';
  const { tree, faults } = readYaml({
    text,
    file: name,
    lines: 'on',
    base: [],
    schema: configSchema,
    env,
    places,
  });
  if (tree === null || tree === undefined) return { tree: {}, faults };
  if (typeof tree === 'object' && !Array.isArray(tree)) {
    return { tree: tree as Record<string, unknown>, faults };
  }
  const got = Array.isArray(tree)
    ? 'a list'
    : `a ${typeof tree === 'string' ? 'text' : typeof tree}`;
  const expected = 'settings such as "listen: 127.0.0.1:8888"';
  const { line, column } = places.value([]);
  const fault = {
    file: name,
    line,
    column,
    path: '',
    message: `expected ${expected}, got ${got}`,
    expected,
  };
  return { tree: {}, faults: [...faults, fault] };
}

function overlayFlags(tree: Record<string, unknown>, flags: Flags, places: Places): void {
  const given = [
    { flag: '--listen', path: ['listen'], value: flags.listen },
    { flag: '--admin', path: ['admin', 'listen'], value: flags.admin },
    { flag: '--log', path: ['log', 'attempts'], value: flags.log },
  ];
  for (const { flag, path, value } of given) {
    if (value === undefined) continue;
    places.setValue(path, { file: flag, line: 0, column: 0 });
    place(tree, path, value);
  }
}
