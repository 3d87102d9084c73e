import type { Socket } from 'node:net';
import { fieldValue } from '../core/fields.ts';
import type { UpstreamReply } from '../core/verdict.ts';
import type { ProxyWay, Target } from '../exchange/ports.ts';
import { CodedError } from './failure.ts';
import { type Head, headEnd, parseHead } from './head.ts';
import { readUntil } from './read.ts';
import type { Limits, Outcome } from './step.ts';

/** The upstream's answer to a CONNECT or SOCKS request. */
export type Handshake =
  /** `rest` are bytes that came right behind the answer: the far side speaks first. */
  | { readonly kind: 'joined'; readonly rest: Buffer }
  | { readonly kind: 'refused'; readonly reply: UpstreamReply };

const MAX_HEAD_BYTES = 16 * 1024;
const MAX_TEXT_BYTES = 4 * 1024;
const TEXT_WAIT_MS = 250;

/**
 * Asks an HTTP proxy for a tunnel. Own code, because clients lose the status and headers of a refusal, and
 * Node's parser fails on what some gateways send.
 */
export async function connectThrough(
  socket: Socket,
  o: { way: ProxyWay; target: Target },
  limits: Limits,
): Promise<Outcome<Handshake>> {
  const request = connectRequest(o.way, o.target);
  if (/[\r\n\0]/.test(request.join(''))) {
    const error = new CodedError('FORBEAR_INVALID', 'a line break in a header for the upstream');
    return { kind: 'failed', error };
  }
  socket.write(`${request.join('\r\n')}\r\n\r\n`, 'latin1');
  const answer = await readUntil(socket, limits, takeAnswer);
  if (answer.kind === 'failed') return answer;
  const { head, rest } = answer.value;
  if (head.status < 300) return { kind: 'done', value: { kind: 'joined', rest } };
  const text = await refusalText(socket, head, rest, limits);
  const reply = { status: head.status, rawHeaders: head.rawHeaders, text };
  return { kind: 'done', value: { kind: 'refused', reply } };
}

/** `Proxy-Authorization` for a way, names and values in turn; empty without a login (RFC 7617: UTF-8). */
export function proxyLogin(way: ProxyWay): string[] {
  if (way.username === undefined && way.password === undefined) return [];
  const login = Buffer.from(`${way.username ?? ''}:${way.password ?? ''}`, 'utf8');
  return ['Proxy-Authorization', `Basic ${login.toString('base64')}`];
}

function connectRequest(way: ProxyWay, target: Target): string[] {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const lines = [`CONNECT ${host}:${target.port} HTTP/1.1`, `Host: ${host}:${target.port}`];
  const fields = [...proxyLogin(way), ...way.headers];
  for (let i = 0; i + 1 < fields.length; i += 2) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  return lines;
}

function takeAnswer(bytes: Buffer): { head: Head; rest: Buffer } | undefined {
  let rest = bytes;
  for (;;) {
    const end = headEnd(rest);
    if (end === -1) {
      if (rest.length > MAX_HEAD_BYTES || !looksLikeHttp(rest)) throw badHead();
      return undefined;
    }
    const head = parseHead(rest.toString('latin1', 0, end));
    if (head === undefined || end > MAX_HEAD_BYTES) throw badHead();
    rest = rest.subarray(end);
    if (head.status >= 200) return { head, rest };
  }
}

function looksLikeHttp(bytes: Buffer): boolean {
  const start = bytes.toString('latin1', 0, 5).toUpperCase();
  return 'HTTP/'.startsWith(start);
}

function badHead(): CodedError {
  return new CodedError('FORBEAR_BAD_HEAD', 'the answer to CONNECT is not HTTP');
}

/** What the upstream says in words. It often keeps the socket open, so this is not waited for long. */
async function refusalText(
  socket: Socket,
  head: Head,
  rest: Buffer,
  limits: Limits,
): Promise<string> {
  const declared = Number(fieldValue(head.rawHeaders, 'content-length'));
  const wanted = Number.isFinite(declared) ? Math.min(declared, MAX_TEXT_BYTES) : MAX_TEXT_BYTES;
  let text = rest;
  if (text.length < wanted) {
    await readUntil(socket, { ...limits, ms: Math.min(limits.ms, TEXT_WAIT_MS) }, (bytes) => {
      text = Buffer.concat([rest, bytes]);
      return text.length >= wanted ? true : undefined;
    });
  }
  return text.toString('latin1', 0, Math.min(text.length, MAX_TEXT_BYTES));
}
