import type { IncomingMessage } from 'node:http';
import type { Config } from '../config/config.ts';
import { fieldValue, fieldValues, type RawHeaders } from '../core/fields.ts';
import { type Directives, readHeaders, unknownProfile } from '../exchange/directives.ts';
import { requestHeaders } from '../exchange/headers.ts';
import type { Target, Wording } from '../exchange/ports.ts';
import { wordingOf } from '../exchange/wording.ts';
import { identify } from './access.ts';
import type { Caller, Line } from './lines.ts';
import { badRequest, brokenRequest, loginNeeded, type Refusal } from './problem.ts';
import { namesTarget, parseAbsolute, type TargetParse, withinTunnel } from './target.ts';

/** A request that may be served. */
export interface Asked {
  readonly caller: Caller;
  readonly target: Target;
  readonly method: string;
  readonly rawHeaders: readonly string[];
  readonly wording: Wording;
  /** The Content-Length; undefined when chunked; 0 when there is no body. */
  readonly bodyLength: number | undefined;
}

export type Reading<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Reads a request's head as a whole: framing, who asks, what for, and where to. */
export function readRequest(request: IncomingMessage, line: Line, config: Config): Reading<Asked> {
  const raw = request.rawHeaders;
  const fault = framingFault(request);
  if (fault !== undefined) return refused(fault);

  const caller = callerOf(raw, line, config);
  if (caller.kind === 'refused') return caller;

  const { url = '', method = '' } = request;
  const { channel } = line;
  const parsed = channel
    ? withinTunnel(channel.scheme, channel.address, { url, method })
    : outside(url, method);
  // Whoever wrote such a request line may mean something else by what is behind it, too.
  if (parsed.kind === 'bad') return refused(brokenRequest(parsed.detail));
  const rawHeaders = forwarded(raw, url, parsed);
  return {
    kind: 'ok',
    value: {
      caller: caller.value,
      target: parsed.target,
      method,
      rawHeaders,
      wording: wordingOf(raw, rawHeaders),
      bodyLength: bodyLength(raw),
    },
  };
}

/** Who sends this, and its wishes: header over username, this request over the tunnel it came through. */
export function callerOf(raw: RawHeaders, line: Line, config: Config): Reading<Caller> {
  const outer = line.channel?.caller;
  const identity = outer
    ? { kind: 'known' as const, ...outer }
    : identify(raw, peerOf(line), config);
  if (identity.kind === 'challenge') return refused(loginNeeded(identity.detail));
  if (identity.kind === 'bad') return refused(badRequest(identity.detail));
  const said = readHeaders(raw);
  if (said.kind === 'bad') return refused(badRequest(said.detail));
  const directives: Directives = { ...identity.directives, ...said.value };
  const unknown = unknownProfile(directives, Object.keys(config.profiles));
  if (unknown !== undefined) return refused(badRequest(unknown));
  return { kind: 'ok', value: { client: identity.client, directives } };
}

/** What the parser lets pass although two readers could see two different requests in it. */
export function framingFault(request: IncomingMessage): Refusal | undefined {
  const raw = request.rawHeaders;
  const hosts = fieldValues(raw, 'host').length;
  const coding = fieldValue(raw, 'transfer-encoding');
  const { httpVersion } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return brokenRequest(`This proxy speaks HTTP/1.1 and HTTP/1.0, not HTTP/${httpVersion}.`);
  }
  if (hosts > 1) return brokenRequest('The request has more than one Host field.');
  if (hosts === 0 && httpVersion === '1.1' && request.method !== 'CONNECT') {
    return brokenRequest('The request has no Host field.');
  }
  if (coding === undefined) return undefined;
  if (httpVersion === '1.0') return brokenRequest('HTTP/1.0 has no Transfer-Encoding.');
  // Other codings would have to be undone here, since framing is made anew on the way out.
  if (coding.toLowerCase() !== 'chunked')
    return brokenRequest('Transfer-Encoding is not "chunked".');
  return undefined;
}

function outside(url: string, method: string): TargetParse {
  if (!url.startsWith('/') && url !== '*') return parseAbsolute(url, method);
  return {
    kind: 'bad',
    detail:
      'This is a forward proxy, not a web server. Set it as the HTTP proxy of your client, for example http_proxy=http://127.0.0.1:8888.',
  };
}

/** The target wins over a Host that differs (RFC 9112 section 3.2.2); inside a tunnel the client's own stays. */
function forwarded(
  raw: RawHeaders,
  url: string,
  { target, authorization }: Extract<TargetParse, { kind: 'ok' }>,
): string[] {
  const host = fieldValue(raw, 'host');
  const isOriginForm = url.startsWith('/') || url === '*';
  const stays = host !== undefined && (isOriginForm || namesTarget(host, target));
  const headers = requestHeaders(raw, stays ? undefined : target.authority);
  if (authorization === undefined || fieldValue(raw, 'authorization') !== undefined) return headers;
  return [...headers, 'Authorization', authorization];
}

function bodyLength(raw: RawHeaders): number | undefined {
  if (fieldValue(raw, 'transfer-encoding') !== undefined) return undefined;
  return Number(fieldValue(raw, 'content-length') ?? 0);
}

/** The address of the client's end; an IPv4 client of an IPv6 socket is the same client. */
function peerOf(line: Line): string {
  return (line.raw.remoteAddress ?? 'unknown').replace(/^::ffff:(?=\d+\.)/, '');
}

/** A reading that ends in a reply of our own. */
export function refused(refusal: Refusal): { readonly kind: 'refused'; readonly refusal: Refusal } {
  return { kind: 'refused', refusal };
}
