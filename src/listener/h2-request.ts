import type { Config } from '../config/config.ts';
import { fieldValue, fieldValues, type RawHeaders } from '../core/fields.ts';
import { keep, requestHeaders } from '../exchange/headers.ts';
import { wordingOf } from '../exchange/wording.ts';
import type { Channel, Line } from './lines.ts';
import { badRequest, headerOverflow, misdirected, type Refusal } from './problem.ts';
import { type Asked, callerOf, type Reading, refused } from './request.ts';
import { type HostPort, parseAuthority, withinTunnel } from './target.ts';

/** A request's field block, split. */
export interface H2Head {
  readonly method: string;
  readonly scheme: string;
  readonly authority: string | undefined;
  readonly path: string;
  /** Of an extended CONNECT (RFC 8441). */
  readonly protocol: string | undefined;
  /** As they would stand in HTTP/1: `Host` first, one `Cookie`. */
  readonly raw: RawHeaders;
}

/** What the stream and its connection are known by besides. */
export interface H2Circumstances {
  readonly line: Line & { readonly channel: Channel };
  /** The name for which the client has seen a certificate. */
  readonly servername: string | undefined;
  /** Whether the stream has ended with its head. */
  readonly body: 'none' | 'follows';
}

/** Splits a field block that the HTTP/2 library has found well-formed. */
export function splitHead(block: RawHeaders): H2Head {
  const pseudo = new Map<string, string>();
  const fields: string[] = [];
  for (let i = 0; i + 1 < block.length; i += 2) {
    const [name = '', value = ''] = block.slice(i, i + 2);
    if (name.startsWith(':')) pseudo.set(name, value);
    else fields.push(name, value);
  }
  const authority = pseudo.get(':authority');
  const first = authority === undefined ? [] : ['host', authority];
  const rest = authority === undefined ? fields : without(fields, 'host');
  return {
    method: pseudo.get(':method') ?? '',
    scheme: pseudo.get(':scheme') ?? '',
    authority: authority ?? fieldValue(fields, 'host'),
    path: pseudo.get(':path') ?? '',
    protocol: pseudo.get(':protocol'),
    raw: withOneCookie([...first, ...rest]),
  };
}

/** Reads a request's head as a whole, as `readRequest` does in HTTP/1. */
export function readH2Request(
  block: RawHeaders,
  head: H2Head,
  { line, servername, body }: H2Circumstances,
  config: Config,
): Reading<Asked> {
  const { method, path, raw } = head;
  const fault = faultOf(block, head, { line, servername }, config);
  if (fault !== undefined) return refused(fault);
  const caller = callerOf(raw, line, config);
  if (caller.kind === 'refused') return caller;
  const { scheme, address } = line.channel;
  const parsed = withinTunnel(scheme, address, { url: path, method });
  if (parsed.kind === 'bad') return refused(badRequest(parsed.detail));
  const rawHeaders = requestHeaders(raw, undefined);
  const length = fieldValue(raw, 'content-length');
  return {
    kind: 'ok',
    value: {
      caller: caller.value,
      target: parsed.target,
      method,
      rawHeaders,
      wording: wordingOf(raw, rawHeaders),
      bodyLength: body === 'none' ? 0 : length === undefined ? undefined : Number(length),
    },
  };
}

/** What is well-formed, but not to be served. */
function faultOf(
  block: RawHeaders,
  head: H2Head,
  { line, servername }: Pick<H2Circumstances, 'line' | 'servername'>,
  { limits }: Config,
): Refusal | undefined {
  const { method, path, protocol } = head;
  if (sizeOf(block) > limits.headerBytes) return headerOverflow(limits.headerBytes);
  if (method === 'CONNECT' && protocol === undefined) {
    return badRequest('There is no CONNECT inside a tunnel.');
  }
  if (!path.startsWith('/') && path !== '*') return badRequest('The path is not valid.');
  const named = parseAuthority(head.authority ?? '', line.channel.scheme);
  if (named === undefined) return badRequest('The authority is not valid.');
  for (const host of fieldValues(block, 'host')) {
    const also = parseAuthority(host, line.channel.scheme);
    if (also?.host !== named.host || also.port !== named.port) {
      return badRequest('Host and :authority differ.');
    }
  }
  const isOurs = head.scheme === line.channel.scheme && isMeant(named, line.channel, servername);
  return isOurs ? undefined : misdirected;
}

/**
 * Whether a request is for this tunnel. A client may use one connection for all names of its certificate, so in
 * HTTP/2, other than in HTTP/1, another name may well be a mistake that another connection mends (RFC 9110
 * section 7.4). It may name what CONNECT named, or what it was shown a certificate for.
 */
function isMeant(named: HostPort, { address }: Channel, servername: string | undefined): boolean {
  if (named.host === address.host && named.port === address.port) return true;
  return servername !== undefined && named.host === servername;
}

/** As it would count in HTTP/1. */
function sizeOf(block: RawHeaders): number {
  return block.reduce((sum, text) => sum + text.length + 2, 0);
}

function without(fields: RawHeaders, unwanted: string): string[] {
  return keep(fields, (name) => name !== unwanted);
}

/** Cookies may come one by one, for the sake of compression; elsewhere they are one field (RFC 9113 section 8.2.3). */
function withOneCookie(fields: RawHeaders): string[] {
  const cookies = fieldValues(fields, 'cookie');
  if (cookies.length < 2) return [...fields];
  const at = fields.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === 'cookie');
  const head = fields.slice(0, at);
  return [...head, 'cookie', cookies.join('; '), ...without(fields.slice(at), 'cookie')];
}
