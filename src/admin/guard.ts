import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { type Problem, problem } from './endpoint.ts';

/** How the server is reached. */
export interface Door {
  /** Whether it listens on loopback only. */
  readonly loopback: boolean;
  readonly token: string | null;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Why a request is not served wherever it goes: a page of another site must reach nothing here, neither by a request
 * across origins nor by a name of its own that it lets point to this machine.
 */
export function foreign({ headers }: IncomingMessage, door: Door): Problem | undefined {
  const { host = '', origin } = headers;
  if (door.loopback && !isLocal(host)) {
    const detail = 'On loopback the Host header must be localhost, 127.0.0.1 or [::1].';
    return problem(403, 'foreign_host', detail);
  }
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    return problem(403, 'foreign_origin', 'Pages of other origins may not use this server.');
  }
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin' || site === 'none';
  // A link that somebody follows is no page's doing.
  if (!isOwn && headers['sec-fetch-mode'] !== 'navigate') {
    return problem(403, 'foreign_origin', 'Pages of other origins may not use this server.');
  }
  return undefined;
}

/** Why a request that must show the token is not served. */
export function unauthorized({ headers }: IncomingMessage, door: Door): Problem | undefined {
  if (door.token === null) {
    if (door.loopback) return undefined;
    // It was taken out of the configuration while the server listens where others can reach it.
    return denied('Off loopback nothing is shown without a token: set admin.token.');
  }
  const [, given] = /^bearer +(\S+) *$/i.exec(headers.authorization ?? '') ?? [];
  if (given !== undefined && isEqual(given, door.token)) return undefined;
  return denied(
    given === undefined
      ? 'This needs the token: Authorization: Bearer TOKEN, as in admin.token.'
      : 'The bearer token is not the right one.',
  );
}

const denied = (detail: string): Problem =>
  problem(401, 'unauthorized', detail, { 'WWW-Authenticate': 'Bearer realm="forbear"' });

/** Why a call that changes something is not served: other origins cannot send JSON unasked. */
export function unsafe({ method, headers }: IncomingMessage): Problem | undefined {
  if (method === 'GET' || method === 'HEAD') return undefined;
  if (/^application\/json *(;|$)/i.test(headers['content-type'] ?? '')) return undefined;
  const detail = 'Calls that change something need Content-Type: application/json.';
  return problem(415, 'content_type', detail);
}

/** Compares digests, so that neither content nor length can be told from the time it takes. */
function isEqual(given: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

function isLocal(host: string): boolean {
  const [, name = ''] = /^(.*?)(?::\d{1,5})?$/.exec(host) ?? [];
  if (name.toLowerCase() === 'localhost') return true;
  const address = /^\[(.*)\]$/.exec(name)?.[1] ?? name;
  return isLoopbackAddress(address);
}

/** Whether only this machine can reach it. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
