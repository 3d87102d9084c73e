import { request } from 'node:http';
import type { Address } from '../config/config.ts';
import { type Running, readRunning } from './running.ts';
import { systemCode } from './terminal.ts';

const PROBE_TIMEOUT_MS = 2000;

/** The proxy that runs on this home, if its process lives and its port answers as Forbear does. */
export async function findProxy(home: string): Promise<Running | undefined> {
  const running = readRunning(home);
  if (!running || !alive(running.pid)) return undefined;
  return (await answersAsForbear(running.listen)) ? running : undefined;
}

/** Where a client on this machine reaches a proxy that listens there. */
export function clientAddress({ host, port }: Address): Address {
  if (host === '0.0.0.0') return { host: '127.0.0.1', port };
  return { host: host === '::' ? '::1' : host, port };
}

/**
 * Asks for a page as one asks an ordinary server. A proxy cannot serve that; Forbear says so itself
 * (400, or 407 where a login comes first) and signs with `Proxy-Status`.
 */
export function answersAsForbear(listen: Address): Promise<boolean> {
  const { host, port } = clientAddress(listen);
  return new Promise((resolve) => {
    const probe = request(
      { host, port, path: '/', agent: false, timeout: PROBE_TIMEOUT_MS },
      (response) => {
        response.resume();
        const signed = /^forbear\b/i.test(String(response.headers['proxy-status'] ?? ''));
        resolve(signed && (response.statusCode === 400 || response.statusCode === 407));
        probe.destroy();
      },
    );
    probe.on('timeout', () => probe.destroy());
    probe.on('error', () => resolve(false));
    probe.on('close', () => resolve(false));
    probe.end();
  });
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It lives, but belongs to somebody else.
    return systemCode(error) === 'EPERM';
  }
}
