import * as z from 'zod';
import { type Fault, nearest } from './faults.ts';
import type { Env } from './interpolate.ts';
import type { Path, Places } from './places.ts';
import { bare } from './setting.ts';
import { readYaml } from './source.ts';
import { asWritten, isTextual } from './written.ts';

const PREFIX = 'FORBEAR_';
/** Read elsewhere, or no settings. */
const OTHERS: readonly string[] = ['FORBEAR_HOME', 'FORBEAR_CONFIG'];

interface Named {
  readonly path: Path;
  readonly schema: z.ZodType;
}

/** Every setting that can be given as an environment variable, by the name of the variable. */
export function environmentNames(root: z.ZodObject): ReadonlyMap<string, Named> {
  const names = new Map<string, Named>();
  const visit = (schema: z.ZodType, path: Path) => {
    if (path.length > 0) names.set(environmentName(path), { path, schema });
    const inner = bare(schema);
    if (!(inner instanceof z.ZodObject)) return;
    for (const [key, field] of Object.entries(inner.shape))
      visit(field as z.ZodType, [...path, key]);
  };
  visit(root, []);
  return names;
}

/** FORBEAR_ and the path in capitals. */
export function environmentName(path: Path): string {
  return PREFIX + path.map((key) => String(key).toUpperCase()).join('_');
}

/** Puts what the environment says over what the file says. */
export function overlayEnvironment(o: {
  tree: Record<string, unknown>;
  places: Places;
  env: Env;
  root: z.ZodObject;
}): readonly Fault[] {
  const names = environmentNames(o.root);
  const faults: Fault[] = [];
  // Outer settings first, so that FORBEAR_POLICY does not undo FORBEAR_POLICY_PATIENCE.
  const given = Object.keys(o.env)
    .filter((name) => name.startsWith(PREFIX) && !OTHERS.includes(name))
    .sort((a, b) => (names.get(a)?.path.length ?? 0) - (names.get(b)?.path.length ?? 0));
  for (const name of given) {
    const text = o.env[name]?.trim() ?? '';
    const setting = names.get(name);
    // Set and empty is how many tools say "not set".
    if (text === '') continue;
    if (setting === undefined) {
      if (!isServiceLink(name, text))
        faults.push(unknownVariable(name, [...names.keys(), ...OTHERS]));
      continue;
    }
    const read = readVariable(name, text, setting, o);
    faults.push(...read.faults);
    place(o.tree, setting.path, read.value);
  }
  return faults;
}

/** Kubernetes sets such variables in each pod for each Service: one that is called "forbear" must not stop the proxy. */
function isServiceLink(name: string, text: string): boolean {
  if (/_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$/.test(name)) return true;
  return (
    /_PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)?$/.test(name) &&
    (/_PORT_\d+_/.test(name) || /^(?:tcp|udp|sctp):\/\//.test(text))
  );
}

function unknownVariable(name: string, names: readonly string[]): Fault {
  return {
    file: name,
    line: 0,
    column: 0,
    path: '',
    message: 'no setting has this name',
    expected: 'FORBEAR_ and the path of a setting in capitals, with _ between',
    ...nearest(name, names),
  };
}

function readVariable(
  name: string,
  text: string,
  setting: Named,
  o: { places: Places; env: Env; root: z.ZodObject },
): { value: unknown; faults: readonly Fault[] } {
  o.places.setValue(setting.path, { file: name, line: 0, column: 0 });
  o.places.setKey(setting.path, { file: name, line: 0, column: 0 });
  if (isTextual(setting.schema)) {
    return { value: asWritten(text, setting.schema), faults: [] };
  }
  const { tree, faults } = readYaml({
    text,
    file: name,
    lines: 'off',
    base: setting.path,
    schema: o.root,
    env: o.env,
    places: o.places,
  });
  return { value: tree, faults };
}

/** Sets a value deep inside; what stands in the way as something else is left for the schema to complain about. */
export function place(tree: Record<string, unknown>, path: Path, value: unknown): void {
  let inside = tree;
  for (const key of path.slice(0, -1)) {
    const next = inside[String(key)] ?? {};
    if (typeof next !== 'object' || Array.isArray(next)) return;
    inside[String(key)] = next;
    inside = next as Record<string, unknown>;
  }
  inside[String(path.at(-1))] = value;
}
