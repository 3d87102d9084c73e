import { systemClock } from '../clock.ts';
import type { Address, Config } from '../config/config.ts';
import { openAuthority } from '../proxy.ts';
import { createLog, type Log } from '../telemetry/log.ts';
import { clientAddress } from './find-proxy.ts';
import { openHome } from './home.ts';
import { explainListenError, type Launched, launch } from './launch.ts';
import { configHash, removeRunning, writeRunning } from './running.ts';
import { type ConfigFlags, configFile, readSettings, settings } from './settings.ts';
import { onStopSignals } from './stop-signals.ts';
import type { ExitCode, Terminal } from './terminal.ts';
import { digest, watchFile } from './watch-file.ts';

/** `forbear start`: runs the proxy until it is told to stop. The log goes to standard error. */
export async function start(flags: ConfigFlags, terminal: Terminal): Promise<ExitCode> {
  const file = configFile(flags, terminal.env);
  const loadedAs = file === undefined ? undefined : digest(file);
  const config = settings(flags, terminal.env);
  const home = openHome(terminal.env);
  const { caFile } = await openAuthority(home);
  const log = createLog(config.log);
  const adminListen = config.admin.listen === 'off' ? undefined : config.admin.listen;
  const launched = await launch(config, home, log, adminListen).catch(async (error: unknown) => {
    throw await explainListenError(error, config);
  });
  const startedAt = new Date(systemClock.now()).toISOString();
  const announce = (current: Config): void =>
    writeRunning(home, {
      pid: process.pid,
      listen: launched.listen,
      ...(launched.admin === undefined ? {} : { admin: launched.admin }),
      started: startedAt,
      configHash: configHash(current),
    });

  announce(config);
  const watched = { file, loadedAs };
  const endReloads = reloadOnChange({ flags, terminal, config, launched, log, announce, watched });
  try {
    const stopped = untilStopped(launched, log);
    // Said last: whoever reads it may change the file or stop the proxy at once.
    terminal.out(welcome(launched, caFile, config));
    return await stopped;
  } finally {
    endReloads();
    removeRunning(home, process.pid);
    await launched.attempts?.close();
    log.close();
  }
}

function welcome({ listen, admin }: Launched, caFile: string, config: Config): string {
  const lines = [
    `Forbear listens on ${urlOf(listen)}`,
    ...(admin ? [`  dashboard      ${urlOf(admin)}/`] : []),
    `  configuration  ${config.file ?? 'all defaults'}`,
    `  CA             ${caFile}`,
    '  one command    forbear run -- python scraper.py',
    '  this shell     eval "$(forbear env)"',
    ...config.notices.map((notice) => `  note: ${notice}`),
  ];
  return `${lines.join('\n')}\n`;
}

function urlOf(listen: Address): string {
  const { host, port } = clientAddress(listen);
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Reloading {
  readonly flags: ConfigFlags;
  readonly terminal: Terminal;
  readonly config: Config;
  readonly launched: Launched;
  readonly log: Log;
  readonly announce: (config: Config) => void;
  readonly watched: { readonly file: string | undefined; readonly loadedAs: string | undefined };
}

/** Takes a changed configuration over, on SIGHUP and when the file changes; a bad one changes nothing. */
function reloadOnChange(o: Reloading): () => void {
  const { flags, terminal, launched, log } = o;
  const tell = (level: 'info' | 'warn' | 'error', message: string): void =>
    log.emit({ type: 'notice', at: systemClock.now(), level, message });

  // Whoever rotates the log sends the same signal.
  const onSignal = (): void => {
    launched.attempts?.reopen();
    reload();
  };
  const reload = (): void => {
    const read = readSettings(flags, terminal.env);
    if (read.kind === 'faults') {
      tell('error', 'the changed configuration is not valid; the one before stays in force:');
      for (const fault of read.text.split('\n')) tell('error', fault);
      return;
    }
    const { config } = read;
    log.logger.level = config.log.level;
    launched.proxy.reload(config);
    o.announce(config);
    tell('info', `configuration reloaded from ${config.file ?? 'the environment'}`);
    for (const notice of config.notices) tell('info', notice);
    if (
      config.listen.host !== o.config.listen.host ||
      config.listen.port !== o.config.listen.port
    ) {
      tell('warn', 'a changed listen address takes effect at the next start');
    }
    if (JSON.stringify(config.admin.listen) !== JSON.stringify(o.config.admin.listen)) {
      tell('warn', 'a changed admin.listen takes effect at the next start');
    }
    if (config.log.attempts !== o.config.log.attempts) {
      tell('warn', 'a changed log.attempts takes effect at the next start');
    }
  };

  const { file, loadedAs } = o.watched;
  const endWatch = file === undefined ? () => {} : watchFile(file, reload, loadedAs);
  process.on('SIGHUP', onSignal);
  return () => {
    process.off('SIGHUP', onSignal);
    endWatch();
  };
}

/** Waits for a signal, then for what still runs; a second signal does not wait. */
function untilStopped({ proxy }: Launched, log: Log): Promise<ExitCode> {
  const { promise, resolve, reject } = Promise.withResolvers<ExitCode>();
  const drainAndStop = async (): Promise<ExitCode> => {
    await proxy.drain();
    await proxy.stop();
    return 0;
  };
  const drain = (message: string): void => {
    log.emit({ type: 'notice', at: systemClock.now(), level: 'info', message });
    drainAndStop().then(resolve, reject);
  };
  void proxy.drainAsked.then(() => drain('asked to stop: what runs is finished first'));
  const release = onStopSignals(
    {
      drain: () => drain('stopping: what runs is finished first; a second signal ends it at once'),
      atOnce: () => proxy.stop().then(() => resolve(1), reject),
    },
    { source: process, now: systemClock.now },
  );
  return promise.finally(release);
}
