import type { Address, Config } from '../config/config.ts';
import { createProxy } from '../proxy.ts';
import { StoreError } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { answersAsForbear } from './find-proxy.ts';
import { CommandError, systemCode } from './terminal.ts';

type Proxy = Awaited<ReturnType<typeof createProxy>>;

/** A proxy that listens, and where. */
export interface Launched {
  readonly proxy: Proxy;
  readonly listen: Address;
}

/** Starts a proxy in this process. Rejects with the system's error when it cannot listen. */
export async function launch(config: Config, home: string, log: Log): Promise<Launched> {
  const proxy = await createProxy({ config, home, emit: log.emit }).catch((error: unknown) => {
    // A file that is damaged or not ours is left as it is: what it holds is for the user to decide.
    throw error instanceof StoreError ? new CommandError(error.message, 2) : error;
  });
  try {
    return { proxy, listen: (await proxy.start()).proxy };
  } catch (error) {
    await proxy.stop();
    throw error;
  }
}

/** Says in one line why it is not possible to listen there, and what helps; other errors stay as they are. */
export async function explainListenError(error: unknown, listen: Address): Promise<unknown> {
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
