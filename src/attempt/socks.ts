import { isIPv4, isIPv6, type Socket } from 'node:net';
import type { UpstreamReply } from '../core/verdict.ts';
import type { ProxyWay, Target } from '../exchange/ports.ts';
import type { Handshake } from './connect.ts';
import { CodedError } from './failure.ts';
import { readUntil } from './read.ts';
import type { Limits, Outcome } from './step.ts';

// RFC 1928 section 6, told as the HTTP status that a CONNECT proxy gives for the same.
const REPLIES: Readonly<Record<number, readonly [status: number, text: string]>> = {
  1: [502, 'general SOCKS server failure'],
  2: [403, 'connection not allowed by ruleset'],
  3: [502, 'network unreachable'],
  4: [502, 'host unreachable'],
  5: [502, 'connection refused'],
  6: [504, 'TTL expired'],
  7: [501, 'command not supported'],
  8: [501, 'address type not supported'],
};
const VERSION = 5;
const NO_LOGIN = 0;
const LOGIN = 2;

/**
 * Asks a SOCKS5 proxy for a connection to a name, which is resolved there (RFC 1928, login by RFC 1929).
 * Own code: the packages tell a refused login from a refused target in their message text only.
 */
export async function socksThrough(
  socket: Socket,
  o: { way: ProxyWay; target: Target },
  limits: Limits,
): Promise<Outcome<Handshake>> {
  const login = loginMessage(o.way);
  const request = connectMessage(o.target);
  if (login === undefined || request === undefined) {
    return failed(new CodedError('FORBEAR_INVALID', 'login or host is too long for SOCKS'));
  }
  const method = await agreeOnLogin(socket, o.way, limits);
  if (method.kind === 'failed') return method;
  if (method.value === LOGIN) {
    const accepted = await ask(socket, login, limits, takeLoginReply);
    if (accepted.kind === 'failed') return accepted;
    if (accepted.value !== 0) return refused({ status: 407, text: 'login refused' });
  } else if (method.value !== NO_LOGIN) {
    return refused({ status: 407, text: 'no acceptable way to log in' });
  }
  const reply = await ask(socket, request, limits, takeConnectReply);
  if (reply.kind === 'failed') return reply;
  if (reply.value.code === 0) {
    return { kind: 'done', value: { kind: 'joined', rest: reply.value.rest } };
  }
  const [status, text] = REPLIES[reply.value.code] ?? [502, `SOCKS reply ${reply.value.code}`];
  return refused({ status, text });
}

function agreeOnLogin(socket: Socket, way: ProxyWay, limits: Limits): Promise<Outcome<number>> {
  const methods = hasLogin(way) ? [NO_LOGIN, LOGIN] : [NO_LOGIN];
  const greeting = Buffer.from([VERSION, methods.length, ...methods]);
  return ask(socket, greeting, limits, (bytes) => {
    checkVersion(bytes, VERSION);
    return bytes.length < 2 ? undefined : bytes[1];
  });
}

function ask<T>(
  socket: Socket,
  message: Buffer,
  limits: Limits,
  take: (bytes: Buffer) => T | undefined,
): Promise<Outcome<T>> {
  socket.write(message);
  return readUntil(socket, limits, take);
}

function takeLoginReply(bytes: Buffer): number | undefined {
  return bytes.length < 2 ? undefined : bytes[1];
}

function takeConnectReply(bytes: Buffer): { code: number; rest: Buffer } | undefined {
  checkVersion(bytes, VERSION);
  const [, code, , kind, nameLength] = bytes;
  // A refusal is complete with its code: some servers leave the address out and close.
  if (code !== undefined && code !== 0) return { code, rest: Buffer.alloc(0) };
  if (code === undefined || kind === undefined || nameLength === undefined) return undefined;
  const addressBytes = { 1: 4, 3: 1 + nameLength, 4: 16 }[kind];
  if (addressBytes === undefined) throw badSocks();
  const end = 4 + addressBytes + 2;
  return bytes.length < end ? undefined : { code, rest: bytes.subarray(end) };
}

function checkVersion(bytes: Buffer, version: number): void {
  if (bytes[0] !== version) throw badSocks();
}

function hasLogin(way: ProxyWay): boolean {
  return way.username !== undefined || way.password !== undefined;
}

function loginMessage(way: ProxyWay): Buffer | undefined {
  const username = Buffer.from(way.username ?? '', 'utf8');
  const password = Buffer.from(way.password ?? '', 'utf8');
  if (username.length > 255 || password.length > 255) return undefined;
  return Buffer.concat([
    Buffer.from([1, username.length]),
    username,
    Buffer.from([password.length]),
    password,
  ]);
}

function connectMessage(target: Target): Buffer | undefined {
  const address = addressOf(target.host);
  if (address === undefined) return undefined;
  const port = Buffer.alloc(2);
  port.writeUInt16BE(target.port);
  return Buffer.concat([Buffer.from([VERSION, 1, 0]), address, port]);
}

function addressOf(host: string): Buffer | undefined {
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)]);
  if (isIPv6(host)) return Buffer.from([4, ...ipv6Bytes(host)]);
  const name = Buffer.from(host, 'latin1');
  return name.length > 255 ? undefined : Buffer.from([3, name.length, ...name]);
}

function ipv6Bytes(host: string): number[] {
  // A URL's host is always plain hexadecimal groups, also where the last 32 bits were given as dotted IPv4.
  const canonical = new URL(`http://[${host.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const [left = '', right] = canonical.split('::');
  const groups = (text: string) => text.split(':').filter((group) => group !== '');
  const tail = groups(right ?? '');
  const fill = Array.from({ length: 8 - groups(left).length - tail.length }, () => '0');
  return [...groups(left), ...fill, ...tail].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function refused(o: { status: number; text: string }): Outcome<Handshake> {
  const reply: UpstreamReply = { status: o.status, rawHeaders: [], text: o.text };
  return { kind: 'done', value: { kind: 'refused', reply } };
}

function failed(error: CodedError): Outcome<Handshake> {
  return { kind: 'failed', error };
}

function badSocks(): CodedError {
  return new CodedError('FORBEAR_BAD_SOCKS', 'the answer is not SOCKS5');
}
