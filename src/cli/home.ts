import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { CommandError, systemCode, type Terminal } from './terminal.ts';

/** `$FORBEAR_HOME`, else `$XDG_DATA_HOME/forbear`, else `~/.local/share/forbear`. */
export function homeFolder(env: Terminal['env']): string {
  if (env.FORBEAR_HOME) return env.FORBEAR_HOME;
  const data = env.XDG_DATA_HOME;
  // The XDG specification: relative paths are to be ignored.
  if (data && isAbsolute(data)) return join(data, 'forbear');
  return join(env.HOME || homedir(), '.local', 'share', 'forbear');
}

/** Makes sure that the home exists and that nobody else can look into it (it holds the CA's key). */
export function openHome(env: Terminal['env']): string {
  const home = homeFolder(env);
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    if (process.platform !== 'win32' && (statSync(home).mode & 0o077) !== 0) chmodSync(home, 0o700);
    return home;
  } catch (error) {
    throw new CommandError(
      `cannot use ${home} for its state (${systemCode(error) ?? error}); set FORBEAR_HOME to a folder of yours`,
      1,
    );
  }
}
