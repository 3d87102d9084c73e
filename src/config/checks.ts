import { BlockList, isIP } from 'node:net';
import type { Address, UpstreamConfig } from './config.ts';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether only this machine can reach an address that is listened on. */
export function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host === 'localhost' || host.endsWith('.localhost');
  return loopback.check(host, family === 6 ? 'ipv6' : 'ipv4');
}

/** A place in the configuration that contradicts another one. */
export interface Conflict {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** What listening there requires. */
export function accessConflicts(o: {
  listen: Address | undefined;
  clients: number | undefined;
  admin: { listen: Address | 'off'; token: string | null } | undefined;
}): readonly Conflict[] {
  const { listen, clients, admin } = o;
  const adminListen = admin?.listen === 'off' ? undefined : admin?.listen;
  const conflicts: Conflict[] = [];
  if (listen && clients === 0 && !isLoopback(listen.host)) {
    conflicts.push({
      path: ['listen'],
      message: 'off loopback the proxy needs clients: without them anybody could use it',
    });
  }
  if (adminListen && admin?.token === null && !isLoopback(adminListen.host)) {
    conflicts.push({
      path: ['admin', 'listen'],
      message: 'off loopback the admin server needs admin.token',
    });
  }
  if (listen && adminListen && sameListener(listen, adminListen)) {
    conflicts.push({
      path: ['admin', 'listen'],
      message: 'the same address as listen; each needs its own port',
    });
  }
  return conflicts;
}

function sameListener(a: Address, b: Address): boolean {
  return a.port !== 0 && a.port === b.port && reaches(a, b.host);
}

/** The routes of an upstream that lead back into this proxy: each request would go round for ever. */
export function loopConflicts(
  upstream: UpstreamConfig,
  listen: Address,
): readonly (string | number)[][] {
  if (upstream.kind === 'direct' || listen.port === 0) return [];
  if (upstream.kind === 'gateway') {
    return Number(upstream.port) === listen.port && reaches(listen, upstream.host)
      ? [['gateway']]
      : [];
  }
  return upstream.routes.flatMap((route, i) =>
    route.port === listen.port && reaches(listen, route.host) ? [['routes', i]] : [],
  );
}

const EVERYWHERE: readonly string[] = ['0.0.0.0', '::'];

function reaches(listen: Address, host: string): boolean {
  if (EVERYWHERE.includes(listen.host)) return isLoopback(host) || EVERYWHERE.includes(host);
  const [here, there] = [listen.host, host].map((name) =>
    name === 'localhost' ? '127.0.0.1' : name,
  );
  return here === there || (host === 'localhost' && listen.host === '::1');
}

/** Indices of entries whose name was used before. */
export function repeated(names: readonly unknown[]): readonly number[] {
  return names.flatMap((name, i) =>
    typeof name === 'string' && names.indexOf(name) < i ? [i] : [],
  );
}
