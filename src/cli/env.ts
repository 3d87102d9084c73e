import { type ClientFlags, environmentFor } from './client.ts';
import { type EnvFormat, formatEnvironment } from './env-formats.ts';
import { findProxy } from './find-proxy.ts';
import { openHome } from './home.ts';
import { type ConfigFlags, settings } from './settings.ts';
import type { ExitCode, Terminal } from './terminal.ts';

/** Flags of `forbear env`. */
export interface EnvFlags extends ConfigFlags, ClientFlags {
  readonly format: EnvFormat;
  /** `--no-proxy LIST`. */
  readonly noProxyList?: string | undefined;
}

/** `forbear env`: prints the variables that `run` would set, to export. */
export async function env(flags: EnvFlags, terminal: Terminal): Promise<ExitCode> {
  const config = settings(flags, terminal.env);
  const home = openHome(terminal.env);
  const running = await findProxy(home);
  const listen = running?.listen ?? config.listen;
  const made = await environmentFor(listen, {
    flags,
    noProxy: flags.noProxyList,
    config,
    home,
    terminal,
  });
  for (const note of made.notes) terminal.err(`forbear: ${note}\n`);
  if (!running) {
    terminal.err(
      `forbear: no proxy runs at ${listen.host}:${listen.port} yet; begin it with: forbear start\n`,
    );
  }
  terminal.out(formatEnvironment(made.set, flags.format));
  return 0;
}
