import type { Config } from '../config/config.ts';
import { createLog } from '../telemetry/log.ts';
import { runCommand } from './child.ts';
import { type ClientFlags, clientLogin, environmentFor } from './client.ts';
import { findProxy } from './find-proxy.ts';
import { openHome } from './home.ts';
import { explainListenError, launch } from './launch.ts';
import { configHash } from './running.ts';
import { type ConfigFlags, settings } from './settings.ts';
import { drainAndStop } from './stop-signals.ts';
import { type ExitCode, systemCode, type Terminal } from './terminal.ts';

/** Flags of `forbear run`. */
export interface RunFlags extends ConfigFlags, ClientFlags {
  /** `--no-proxy LIST`. */
  readonly noProxyList?: string | undefined;
}

/** `forbear run -- COMMAND`: runs a command behind the proxy, the one that is there or one of its own. */
export async function run(
  flags: RunFlags,
  command: readonly [string, ...string[]],
  terminal: Terminal,
): Promise<ExitCode> {
  const config = settings(flags, terminal.env);
  // Said before anything is started.
  clientLogin(flags, config);
  const home = openHome(terminal.env);
  const service =
    (await sharedProxy(flags, config, home)) ?? (await ownProxy(config, home, terminal));
  try {
    const { set, notes } = await environmentFor(service.listen, {
      flags,
      noProxy: flags.noProxyList,
      config,
      home,
      terminal,
    });
    for (const note of notes) terminal.err(`forbear: ${note}\n`);
    return await runCommand(command, { ...terminal.env, ...set }, terminal);
  } finally {
    await service.end();
  }
}

interface Service {
  readonly listen: Config['listen'];
  end(): Promise<void>;
}

/** The running proxy, unless the user named a configuration that it does not follow. */
async function sharedProxy(
  flags: RunFlags,
  config: Config,
  home: string,
): Promise<Service | undefined> {
  const running = await findProxy(home);
  if (!running) return undefined;
  if (flags.config !== undefined && running.configHash !== configHash(config)) return undefined;
  return { listen: running.listen, end: async () => {} };
}

/** A proxy for this command alone, on the usual port or, if that is taken, on a free one. */
async function ownProxy(config: Config, home: string, terminal: Terminal): Promise<Service> {
  // Its log shares standard error with the command, so by default it says only what matters.
  const quiet = config.log.level === 'info' && !terminal.env.FORBEAR_LOG_LEVEL;
  const log = createLog({ ...config.log, level: quiet ? 'warn' : config.log.level });
  const anyPort = { ...config, listen: { ...config.listen, port: 0 } };
  const { proxy, listen, attempts } = await launch(config, home, log).catch(
    async (error: unknown) => {
      if (systemCode(error) === 'EADDRINUSE') return launch(anyPort, home, log);
      throw await explainListenError(error, config);
    },
  );
  return {
    listen,
    end: async () => {
      await drainAndStop(proxy);
      await attempts?.close();
      log.close();
    },
  };
}
