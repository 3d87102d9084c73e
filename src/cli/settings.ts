import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { formatFault } from '../config/faults.ts';
import { loadConfig } from '../config/load.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** Flags that decide about the configuration; every command has `--config`. */
export interface ConfigFlags {
  readonly config?: string | undefined;
  readonly listen?: string | undefined;
  readonly admin?: string | undefined;
  /** The attempt log. */
  readonly log?: string | undefined;
}

const USUAL_FILE = 'proxy.config.yaml';

/** `--config`, else `$FORBEAR_CONFIG`, else `./proxy.config.yaml` if there is one, else none: all defaults. */
export function configFile(flags: ConfigFlags, env: Terminal['env']): string | undefined {
  return flags.config ?? (env.FORBEAR_CONFIG || (existsSync(USUAL_FILE) ? USUAL_FILE : undefined));
}

export type Settings =
  | { readonly kind: 'ok'; readonly config: Config }
  | { readonly kind: 'faults'; readonly text: string };

/** Reads the configuration under the flags and the environment, with all its faults as text. */
export function readSettings(flags: ConfigFlags, env: Terminal['env']): Settings {
  const loaded = loadConfig({
    file: configFile(flags, env),
    env,
    flags: {
      ...(flags.listen === undefined ? {} : { listen: flags.listen }),
      ...(flags.admin === undefined ? {} : { admin: flags.admin }),
      ...(flags.log === undefined ? {} : { log: resolve(flags.log) }),
    },
  });
  if (loaded.kind === 'ok') return loaded;
  return { kind: 'faults', text: loaded.faults.map(formatFault).join('\n') };
}

/** Reads the configuration, or ends the command with its faults. */
export function settings(flags: ConfigFlags, env: Terminal['env']): Config {
  const read = readSettings(flags, env);
  if (read.kind === 'faults')
    throw new CommandError(`the configuration is not valid\n${read.text}`, 2);
  return read.config;
}
