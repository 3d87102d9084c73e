import { systemClock } from '../clock.ts';
import type { Address, Config } from '../config/config.ts';
import { createProxy } from '../proxy.ts';
import { StoreError } from '../store/store.ts';
import { type AttemptLog, openAttemptLog } from '../telemetry/attempt-log.ts';
import type { Log } from '../telemetry/log.ts';
import { answersAsForbear } from './find-proxy.ts';
import { CommandError, systemCode } from './terminal.ts';
import { ownVersion } from './version.ts';

type Proxy = Awaited<ReturnType<typeof createProxy>>;

/** A proxy that listens, and where. */
export interface Launched {
  readonly proxy: Proxy;
  readonly listen: Address;
  /** undefined: there is no admin server. */
  readonly admin: Address | undefined;
  /** undefined: none is kept. */
  readonly attempts: AttemptLog | undefined;
}

/** Starts a proxy in this process. Rejects with the system's error when it cannot listen. */
export async function launch(
  config: Config,
  home: string,
  log: Log,
  admin?: Address,
): Promise<Launched> {
  const beside = admin === undefined ? {} : { admin };
  const attempts = attemptLog(config, log);
  const proxy = await createProxy({ config, home, emit: log.emit, ...beside }).catch(
    async (error: unknown) => {
      await attempts?.close();
      // A file that is damaged or not ours is left as it is: what it holds is for the user to decide.
      throw error instanceof StoreError ? new CommandError(error.message, 2) : error;
    },
  );
  if (attempts) proxy.subscribe(attempts.record);
  try {
    const bound = await proxy.start();
    return { proxy, listen: bound.proxy, admin: bound.admin, attempts };
  } catch (error) {
    await proxy.stop();
    await attempts?.close();
    throw error;
  }
}

/** Who asks for a log and cannot have it would find out too late. */
function attemptLog({ log: { attempts, attemptBodies } }: Config, log: Log) {
  if (attempts === null) return undefined;
  try {
    return openAttemptLog({
      file: attempts,
      bodies: attemptBodies,
      version: ownVersion(),
      clock: systemClock,
      tell: (level, message) => log.emit({ type: 'notice', at: systemClock.now(), level, message }),
    });
  } catch (error) {
    const why = systemCode(error) ?? (error instanceof Error ? error.message : error);
    throw new CommandError(`cannot write the attempt log ${attempts} (${why})`, 1);
  }
}

/** Says in one line why it is not possible to listen there, and what helps; other errors stay as they are. */
export async function explainListenError(
  error: unknown,
  { listen, admin }: Pick<Config, 'listen' | 'admin'>,
): Promise<unknown> {
  const { port } = error as { port?: unknown };
  if (admin.listen !== 'off' && port === admin.listen.port && port !== listen.port) {
    return explainAdminError(error, admin.listen);
  }
  const address = `${listen.host}:${listen.port}`;
  switch (systemCode(error)) {
    case 'EADDRINUSE': {
      const holder = (await answersAsForbear(listen)) ? 'another Forbear' : 'another program';
      return new CommandError(
        `${address} is in use by ${holder}; stop it, or listen elsewhere: --listen ${listen.host}:${listen.port + 2}`,
        1,
      );
    }
    case 'EACCES':
      return new CommandError(
        `may not listen on ${address}; take a port above 1023: --listen ${listen.host}:8888`,
        1,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new CommandError(
        `${listen.host} is not an address of this machine; use: --listen 127.0.0.1:${listen.port}`,
        1,
      );
    default:
      return error;
  }
}

/** The same for the admin server. */
function explainAdminError(error: unknown, { host, port }: Address): unknown {
  const code = systemCode(error);
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error;
  const what = code === 'EADDRINUSE' ? 'is in use' : 'may not be listened on';
  return new CommandError(
    `${host}:${port}, for the admin server, ${what}; take another: --admin ${host}:${port + 2} (or none: --admin off)`,
    1,
  );
}
