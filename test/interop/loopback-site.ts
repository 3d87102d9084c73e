import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TestContext } from 'node:test';
import { RETRY_AFTER_S } from '../support/test-origin.ts';
import { PLAIN_HOST, SECURE_HOST, siteCa } from './rig.ts';

/** A request as the site saw it. */
export interface Asked {
  /** Epoch ms. */
  readonly at: number;
  readonly scheme: 'http' | 'https';
  readonly method: string;
  readonly path: string;
  /** `1.0`, `1.1` or `2.0`. */
  readonly version: string;
  readonly rawHeaders: readonly string[];
}

/** A site over HTTP and HTTPS, by names that only the way out knows. */
export interface LoopbackSite {
  readonly http: string;
  readonly https: string;
  readonly asked: readonly Asked[];
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Starts a site that answers so, once a path of `throttled` has said 429 to its first request over each scheme. */
export async function startSite(
  t: TestContext,
  answer: Answer,
  o: {
    readonly throttled?: string;
    readonly upgrade?: (request: IncomingMessage, socket: Duplex) => void;
    /** Whether the HTTPS site speaks HTTP/2 as well. */
    readonly protocol?: 'h1' | 'h2';
  } = {},
): Promise<LoopbackSite> {
  const asked: Asked[] = [];
  const over =
    (scheme: Asked['scheme']) => (request: IncomingMessage, response: ServerResponse) => {
      const { method = '', url: path = '', httpVersion: version, rawHeaders } = request;
      const isFirst = !asked.some((one) => one.path === path && one.scheme === scheme);
      asked.push({ at: Date.now(), scheme, method, path, version, rawHeaders });
      if (!isFirst || path !== o.throttled) return void answer(request, response);
      response.writeHead(429, { 'Retry-After': RETRY_AFTER_S }).end('Slow down');
    };
  const { cert, key } = siteCa();
  const plain = createServer(over('http'));
  const secure =
    o.protocol === 'h2'
      ? secureServer(over('https'))
      : createTlsServer({ cert, key }, over('https'));
  if (o.upgrade !== undefined)
    for (const server of [plain, secure]) server.on('upgrade', o.upgrade);
  return {
    http: `http://${PLAIN_HOST}:${await listening(t, plain)}`,
    https: `https://${SECURE_HOST}:${await listening(t, secure)}`,
    asked,
  };
}

/** The digest by which bodies are compared. */
export function digestOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

/** All that a request brings. */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** It speaks HTTP/2, and HTTP/1.1 with whoever does not. */
function secureServer(answer: Answer): Server {
  const { cert, key } = siteCa();
  const server = createSecureServer({ cert, key, allowHTTP1: true });
  // The compatible face of Node's HTTP/2 looks like the other one wherever it is touched here.
  server.on('request', answer as unknown as (...of: unknown[]) => void);
  return server;
}

async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}
