import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import type { Target } from '../exchange/ports.ts';

/** A host in its one canonical spelling, and a port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Either a target, or one sentence saying why there is none. */
export type TargetParse =
  | {
      readonly kind: 'ok';
      readonly target: Target;
      /** `Authorization` made from user info in the URL. */
      readonly authorization: string | undefined;
    }
  | { readonly kind: 'bad'; readonly detail: string };

const DEFAULT_PORTS = { http: 80, https: 443 } as const;

/** Reads an absolute-form request target. Path and query are cut from the text as it came, never re-written. */
export function parseAbsolute(url: string, method: string): TargetParse {
  const match = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^#]*)/i.exec(url);
  if (match === null) return bad('The request target is not an absolute URL.');
  const [, scheme = '', netloc = '', rest = ''] = match;
  const lower = scheme.toLowerCase();
  if (lower !== 'http' && lower !== 'https') {
    return bad(`This proxy serves http and https, not ${lower.slice(0, 20)}.`);
  }
  const at = netloc.lastIndexOf('@');
  const address = parseHostPort(netloc.slice(at + 1), DEFAULT_PORTS[lower]);
  if (address === undefined) return bad('The host or port in the request target is not valid.');
  return {
    kind: 'ok',
    target: targetOf(lower, address, pathOf(rest, method)),
    authorization: at === -1 ? undefined : basic(netloc.slice(0, at)),
  };
}

/** Reads a CONNECT target. There is no default port (RFC 9110 section 9.3.6). */
export function parseConnect(authority: string): HostPort | undefined {
  return authority.includes('@') ? undefined : parseHostPort(authority, undefined);
}

/** The target of a request inside a tunnel, from its own request line: any host in there has no say. */
export function withinTunnel(
  scheme: Target['scheme'],
  address: HostPort,
  line: { readonly url: string; readonly method: string },
): TargetParse {
  const { url, method } = line;
  if (url.startsWith('/') || (url === '*' && method === 'OPTIONS')) {
    const path = url.split('#', 1)[0] as string;
    return { kind: 'ok', target: targetOf(scheme, address, path), authorization: undefined };
  }
  const absolute = parseAbsolute(url, method);
  if (absolute.kind === 'bad') return absolute;
  return { ...absolute, target: targetOf(scheme, address, absolute.target.path) };
}

/** A blind tunnel's target: its lane is the one that the same host's https (or http, at port 80) has. */
export function tunnelTarget(address: HostPort): Target {
  return targetOf(address.port === DEFAULT_PORTS.http ? 'http' : 'https', address, '');
}

/** Reads a `Host` or `:authority` value. */
export function parseAuthority(text: string, scheme: Target['scheme']): HostPort | undefined {
  return parseHostPort(text, DEFAULT_PORTS[scheme]);
}

/** Whether a `Host` value names the same authority, however it is spelled. */
export function namesTarget(host: string, target: Target): boolean {
  const address = parseAuthority(host.trim(), target.scheme);
  return address?.host === target.host && address.port === target.port;
}

/** One spelling per host: lower case, A-labels, no trailing dot, canonical addresses without brackets. */
export function canonicalHost(text: string): string | undefined {
  const literal = /^\[([^\]]*)\]$/.exec(text)?.[1];
  if (literal !== undefined) return isIPv6(literal) ? canonicalIPv6(literal) : undefined;
  const decoded = percentDecoded(text);
  // Line ends and tabs would be taken out without a word, which makes another name of it.
  if (/[\p{Cc} ]/u.test(decoded)) return undefined;
  const ascii = domainToASCII(decoded);
  const host = ascii.endsWith('.') ? ascii.slice(0, -1) : ascii;
  if (host.length > 253 || !/^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/.test(host))
    return undefined;
  return host;
}

function parseHostPort(text: string, defaultPort: number | undefined): HostPort | undefined {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(text);
  if (match === null) return undefined;
  const host = canonicalHost(match[1] ?? '');
  const port = match[2] ? Number(match[2]) : defaultPort;
  if (host === undefined || port === undefined || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

function targetOf(scheme: Target['scheme'], { host, port }: HostPort, path: string): Target {
  const name = host.includes(':') ? `[${host}]` : host;
  const authority = port === DEFAULT_PORTS[scheme] ? name : `${name}:${port}`;
  return { scheme, host, port, authority, path };
}

function pathOf(rest: string, method: string): string {
  if (rest === '') return method === 'OPTIONS' ? '*' : '/';
  return rest.startsWith('?') ? `/${rest}` : rest;
}

function basic(userInfo: string): string {
  const text = percentDecoded(userInfo);
  return `Basic ${Buffer.from(text.includes(':') ? text : `${text}:`).toString('base64')}`;
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function canonicalIPv6(literal: string): string | undefined {
  // A zone means something on one machine only, and has no place in a URL (RFC 9110 section 4.2).
  if (literal.includes('%')) return undefined;
  return new URL(`http://[${literal}]/`).hostname.slice(1, -1);
}

function bad(detail: string): TargetParse {
  return { kind: 'bad', detail };
}
