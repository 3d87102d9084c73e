import { once } from 'node:events';
import { createSecureServer, type Http2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type Duplex, PassThrough } from 'node:stream';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { good } from './certificates.ts';
import {
  FLAG,
  type Frame,
  FrameReader,
  PREFACE,
  settings,
  settingsAck,
  TYPE,
} from './h2-frames.ts';
import { type RawServer, rawTlsServer, until } from './raw-server.ts';

/** A well-behaved origin that speaks HTTP/2, and what it has seen. */
export interface H2Origin {
  readonly host: string;
  readonly port: number;
  readonly sessions: readonly Http2Session[];
  /** The fields of each request, names and values in turn. */
  readonly heads: readonly (readonly string[])[];
  /** Sessions that are open now. */
  readonly open: number;
}

/** Starts an origin on Node's own HTTP/2. With `allowHTTP1` it serves both; its HTTP/1.1 answers `one`. */
export async function h2Origin(
  t: TestContext,
  serve: (stream: ServerHttp2Stream, n: number) => void,
  o: { readonly allowHTTP1?: boolean; readonly maxConcurrentStreams?: number } = {},
): Promise<H2Origin> {
  const sessions: Http2Session[] = [];
  const heads: (readonly string[])[] = [];
  const { allowHTTP1 = false, maxConcurrentStreams = 100 } = o;
  const server = createSecureServer({ ...good, allowHTTP1, settings: { maxConcurrentStreams } });
  const open = new Set<Http2Session>();
  server.on('session', (session) => {
    sessions.push(session);
    open.add(session);
    session.on('error', () => {}).on('close', () => open.delete(session));
  });
  server.on('tlsClientError', () => {});
  const onStream = (stream: ServerHttp2Stream, _f: unknown, _flags: unknown, raw: string[]) => {
    stream.on('error', () => {});
    serve(stream, heads.push(raw));
  };
  // Node hands the raw fields on too; its types do not say so.
  server.on('stream', onStream as () => void);
  if (allowHTTP1) {
    server.on('request', (request, response) => {
      if (request.httpVersionMajor === 1) response.end('one');
    });
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(async () => {
    server.close();
    for (const session of open) session.destroy();
    await until(() => open.size === 0);
  });
  const { port } = server.address() as AddressInfo;
  return {
    host: 'o.test',
    port,
    sessions,
    heads,
    get open() {
      return open.size;
    },
  };
}

/** One connection of an origin that writes its frames by hand. */
export interface FramePeer {
  readonly n: number;
  readonly socket: TLSSocket;
  readonly reader: FrameReader;
  say(...frames: readonly Buffer[]): void;
}

/** Starts an origin that says nothing but its SETTINGS by itself; each HEADERS frame calls `onRequest`. */
export async function frameOrigin(
  t: TestContext,
  onRequest: (peer: FramePeer, stream: number, nth: number) => void,
  o: {
    readonly settings?: readonly (readonly [number, number])[];
    readonly onFrame?: (peer: FramePeer, frame: Frame) => void;
    readonly protocols?: readonly string[];
  } = {},
): Promise<RawServer & { readonly host: string }> {
  let requests = 0;
  const server = await rawTlsServer(
    (socket, n) => {
      const bytes = afterPreface(socket);
      const reader = new FrameReader(bytes);
      const peer: FramePeer = {
        n,
        socket: socket as TLSSocket,
        reader,
        say: (...frames) => {
          if (socket.writable) socket.write(Buffer.concat(frames));
        },
      };
      peer.say(settings(...(o.settings ?? [])));
      let seen = 0;
      bytes.on('data', () => {
        for (; seen < reader.frames.length; seen += 1) {
          const frame = reader.frames[seen] as Frame;
          o.onFrame?.(peer, frame);
          if (frame.type === TYPE.settings && (frame.flags & FLAG.ack) === 0)
            peer.say(settingsAck());
          if (frame.type !== TYPE.headers) continue;
          requests += 1;
          onRequest(peer, frame.stream, requests);
        }
      });
    },
    { ...good, ALPNProtocols: [...(o.protocols ?? ['h2'])] },
  );
  t.after(() => server.close());
  return Object.defineProperty(Object.create(server) as RawServer & { host: string }, 'host', {
    value: 'o.test',
  });
}

function afterPreface(socket: Socket): Duplex {
  const frames = new PassThrough();
  let left = PREFACE.length;
  socket.on('data', (chunk: Buffer) => {
    const at = Math.min(left, chunk.length);
    left -= at;
    if (at < chunk.length) frames.write(chunk.subarray(at));
  });
  socket.once('end', () => frames.end());
  socket.once('close', () => frames.destroy());
  return frames;
}
