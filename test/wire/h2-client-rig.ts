import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import { flush } from '../support/fake-clock.ts';
import type { Field } from '../support/h2-frames.ts';
import {
  codeOf,
  debugOf,
  FLAG,
  type Frame,
  FrameReader,
  headers,
  PREFACE,
  settings,
  settingsAck,
  TYPE,
} from '../support/h2-frames.ts';
import {
  dial,
  neverSent,
  type Rig,
  type RigOptions,
  replyWith,
  startRig,
  until,
} from './listener-rig.ts';

/** The host that all tunnels of these tests lead to. */
export const HOST = 'o.test';

/** A tunnel that has its 200. */
export async function tunnel(
  rig: Rig,
  target = `${HOST}:443`,
  ...fields: string[]
): Promise<Socket> {
  const socket = await dial(rig.port);
  socket.write([`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, ...fields, '', ''].join('\r\n'));
  await until(socket, (got) => got.startsWith('HTTP/1.1 200 ') && got.endsWith('\r\n\r\n'));
  return socket;
}

/** TLS inside it, with h2 agreed on. */
export async function secure(
  rig: Rig,
  socket: Socket,
  o: tls.ConnectionOptions = {},
): Promise<tls.TLSSocket> {
  const ca = rig.authority.caPem;
  const inner = tls.connect({
    socket,
    ca,
    servername: HOST,
    ALPNProtocols: ['h2', 'http/1.1'],
    ...o,
  });
  inner.on('error', () => {});
  await once(inner, 'secureConnect');
  return inner;
}

/** Node's HTTP/2 client over a tunnel of its own. */
export async function h2Client(
  rig: Rig,
  target?: string,
  ...fields: string[]
): Promise<ClientHttp2Session> {
  const inner = await secure(rig, await tunnel(rig, target, ...fields));
  const session = connect(`https://${HOST}`, { createConnection: () => inner });
  session.on('error', () => {});
  return session;
}

/** What came of one stream. */
export interface Got {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  /** Status and fields of each interim reply. */
  readonly interim: readonly Record<string, unknown>[];
  readonly body: string;
  readonly rawTrailers: readonly string[];
  /** The error code; 0 where the stream ended as it should. */
  readonly code: number;
}

/** Takes all of a stream. */
export async function got(stream: ClientHttp2Stream): Promise<Got> {
  const interim: Record<string, unknown>[] = [];
  const chunks: Buffer[] = [];
  let rawHeaders: string[] = [];
  let rawTrailers: string[] = [];
  stream.on('error', () => {});
  stream.on('headers', (fields) => interim.push({ ...fields }));
  stream.on('response', (_fields: unknown, _flags: unknown, raw: string[]) => {
    rawHeaders = raw;
  });
  stream.on('trailers', (_fields: unknown, _flags: unknown, raw: string[]) => {
    rawTrailers = raw;
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const { promise, resolve } = Promise.withResolvers<void>();
  stream.once('close', resolve);
  if (!stream.destroyed) await promise;
  const status = Number(rawHeaders[rawHeaders.indexOf(':status') + 1] ?? 0);
  const body = Buffer.concat(chunks).toString('latin1');
  return { status, rawHeaders, interim, body, rawTrailers, code: stream.rstCode ?? 0 };
}

/** A connection on which a test writes its own frames. */
export interface RawH2 {
  readonly socket: tls.TLSSocket;
  readonly reader: FrameReader;
  send(...frames: readonly Buffer[]): void;
  /** The status and all of a reply's fields are the reader's; this one waits for its head. */
  head(stream: number): Promise<Frame>;
  ask(stream: number, fields: readonly Field[], flags?: number): void;
}

/** A connection behind its preface, and the SETTINGS of both sides; `[]` for none of it. */
export async function rawH2(
  rig: Rig,
  first: readonly Buffer[] = [PREFACE, settings()],
): Promise<RawH2> {
  const socket = await secure(rig, await tunnel(rig));
  const reader = new FrameReader(socket);
  const send = (...frames: readonly Buffer[]) => void socket.write(Buffer.concat(frames));
  if (first.length > 0) {
    send(...first);
    await reader.wait(({ type, flags }) => type === TYPE.settings && flags === 0);
    send(settingsAck());
    await reader.wait(({ type, flags }) => type === TYPE.settings && flags === FLAG.ack);
  }
  return {
    socket,
    reader,
    send,
    head: (stream) => reader.wait((one) => one.type === TYPE.headers && one.stream === stream),
    ask: (stream, fields, flags = FLAG.endHeaders | FLAG.endStream) =>
      send(headers(stream, fields, flags)),
  };
}

/** A rig that stops with its test. */
export async function rigFor(t: TestContext, o: RigOptions = {}): Promise<Rig> {
  const rig = await startRig(o);
  t.after(() => rig.stop());
  return rig;
}

/** A loop in which exchanges wait until their client goes. */
export const waiting: NonNullable<RigOptions['run']> = async ({ signal, target }) => {
  if (target.path === '/now') return replyWith({ body: 'ok' });
  if (!signal.aborted) await once(signal, 'abort');
  return neverSent('client_gone');
};

/** Settles when no connection and no exchange is left. */
export const nothingLeft = async (rig: Rig) => {
  while (rig.listener.openConnections() > 0) await flush();
  const told = (type: string) => rig.events.filter((event) => event.type === type).length;
  while (told('exchange_finished') < told('exchange_started')) await flush();
};

/** The connection has ended with this code, and nothing of it is left. */
export async function endsWith(rig: Rig, wire: RawH2, code: number, debug?: RegExp): Promise<void> {
  await wire.reader.closed();
  const last = wire.reader.frames.find(({ type }) => type === TYPE.goaway);
  assert.equal(last && codeOf(last), code, wire.reader.told().slice(-5).join(', '));
  if (debug !== undefined) assert.match(debugOf(last as Frame), debug);
  wire.socket.destroy();
  await nothingLeft(rig);
}

/** So many stream numbers of a client. */
export const streams = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => from + 2 * i);
