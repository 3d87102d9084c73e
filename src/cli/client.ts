import type { Address, Config } from '../config/config.ts';
import { openAuthority } from '../proxy.ts';
import { clientFiles } from './client-files.ts';
import { type ClientEnvironment, clientEnvironment } from './environment.ts';
import { clientAddress } from './find-proxy.ts';
import { CommandError, type Terminal } from './terminal.ts';

/** Flags of `run` and `env` that say how the client is to be treated. */
export interface ClientFlags {
  readonly session?: string | undefined;
  readonly country?: string | undefined;
  readonly profile?: string | undefined;
  readonly java?: boolean | undefined;
}

// The proxy username is one word per wish: dashes would be read as the next wish.
const WORD = /^[A-Za-z0-9_]+$/;
const DEFAULT_NAME = 'client';

/** The login that carries the client's name and wishes to the proxy. */
export function clientLogin(flags: ClientFlags, config: Config) {
  if (flags.profile !== undefined && !Object.hasOwn(config.profiles, flags.profile)) {
    const known = Object.keys(config.profiles).join(', ') || 'there are none';
    throw new CommandError(`--profile ${flags.profile} is not in the configuration (${known})`, 2);
  }
  const account = config.clients[0] ?? { name: DEFAULT_NAME, password: 'x' };
  const wishes = (['session', 'country', 'profile'] as const).flatMap((key) => {
    const value = flags[key];
    if (value === undefined) return [];
    if (!WORD.test(value)) {
      throw new CommandError(`--${key} takes letters, digits and underscores, not "${value}"`, 2);
    }
    return [key, value];
  });
  return { username: [account.name, ...wishes].join('-'), password: account.password };
}

/** Everything a client on this machine has to be told to use the proxy at `listen`. */
export async function environmentFor(
  listen: Address,
  o: {
    readonly flags: ClientFlags;
    readonly noProxy: string | undefined;
    readonly config: Config;
    readonly home: string;
    readonly terminal: Terminal;
  },
): Promise<ClientEnvironment> {
  const { flags, noProxy, config, home, terminal } = o;
  const login = clientLogin(flags, config);
  const files = clientFiles(home, await openAuthority(home), terminal.env);
  return clientEnvironment({
    proxy: clientAddress(listen),
    login,
    noProxy,
    java: flags.java === true,
    own: terminal.env,
    files,
  });
}
