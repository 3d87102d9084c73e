import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { good } from './certificates.ts';
import { ask, fieldOf, heardToEnd } from './client-wire.ts';
import { type RawServer, rawServer, rawTlsServer } from './raw-server.ts';
import { httpUpstream, type UpstreamPlan } from './upstream.ts';

/** A request as an origin saw it. */
export interface Hit {
  readonly head: string;
  readonly body: Buffer;
  /** The address it came from. */
  readonly from: string;
  /** On which connection, from 1 on. */
  readonly connection: number;
  /** Monotonic, ms. */
  readonly at: number;
}

/** What an origin does with a request: says bytes, or whatever it likes with the socket. */
export type Answer = string | Buffer | ((socket: Socket, hit: Hit) => void);

/** An origin that answers by script, and keeps what it was asked. */
export interface FarOrigin extends RawServer {
  readonly hits: readonly Hit[];
  readonly url: string;
}

/** A whole reply with a length. */
export function reply(status: number | string, body = '', ...fields: string[]): string {
  const line = typeof status === 'number' ? `${status} Any` : status;
  const head = [`HTTP/1.1 ${line}`, ...fields, `Content-Length: ${body.length}`, '', ''];
  return head.join('\r\n') + body;
}

/** Starts an origin; the n-th request gets the n-th answer, and the last one for ever after. */
export async function farOrigin(
  t: TestContext,
  answers: readonly Answer[] | ((hit: Hit, n: number) => Answer),
  o: { readonly tls?: boolean; readonly name?: string } = {},
): Promise<FarOrigin> {
  const hits: Hit[] = [];
  const serve = (socket: Socket, connection: number) => {
    onRequest(socket, (head, body) => {
      const from = (socket.remoteAddress ?? '').replace('::ffff:', '');
      const hit = { head, body, from, connection, at: performance.now() };
      const n = hits.push(hit);
      const answer =
        typeof answers === 'function' ? answers(hit, n) : answers[Math.min(n, answers.length) - 1];
      if (typeof answer === 'function') answer(socket, hit);
      else if (answer !== undefined) socket.write(answer, 'latin1');
    });
  };
  const server = await (o.tls ? rawTlsServer(serve, good) : rawServer(serve));
  t.after(() => server.close());
  const name = o.name ?? 'o.test';
  const url = `http${o.tls ? 's' : ''}://${name}:${server.port}/`;
  return Object.defineProperties(Object.create(server) as FarOrigin, {
    hits: { value: hits },
    url: { value: url },
  });
}

/** Resets the connection. */
export const reset: Answer = (socket) => {
  (socket as Socket & { _parent?: Socket })._parent?.resetAndDestroy();
  socket.resetAndDestroy();
};

/** Says nothing. */
export const silence: Answer = () => {};

/** Starts an HTTP proxy that leaves by an address of its own; counts what it is asked. */
export async function farUpstream(t: TestContext, plan: UpstreamPlan): Promise<RawServer> {
  const server = await httpUpstream(plan);
  t.after(() => server.close());
  return server;
}

/** One upstream that answers every request head with the same bytes, or as it likes. */
export async function refuser(
  t: TestContext,
  serve: string | ((socket: Socket, n: number) => void),
): Promise<RawServer> {
  const says = (socket: Socket) => {
    socket.once('data', () => socket.end(serve as string));
  };
  const server = await rawServer(typeof serve === 'string' ? says : serve);
  t.after(() => server.close());
  return server;
}

/** Configuration lines for one list of upstream proxies. */
export function listOf(servers: readonly RawServer[], extra: readonly string[] = []): string[] {
  const urls = servers.map(({ port }) => `http://127.0.0.1:${port}`);
  return ['upstreams:', `  - name: dc`, `    routes: [${urls.join(', ')}]`, ...extra];
}

/** A reply as the client got it. */
export interface Got {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  field(name: string): string | undefined;
}

/** Asks for an absolute URL through the proxy on a connection of its own, and reads to the end. */
export async function fetchOver(
  wire: { readonly port: number },
  url: string,
  o: { method?: string; fields?: readonly string[]; body?: string } = {},
): Promise<Got> {
  const length = o.body === undefined ? [] : [`Content-Length: ${o.body.length}`];
  const fields = [
    `Host: ${new URL(url).host}`,
    'Connection: close',
    ...length,
    ...(o.fields ?? []),
  ];
  const head = [`${o.method ?? 'GET'} ${url} HTTP/1.1`, ...fields, '', ''].join('\r\n');
  return parsed(await ask(wire, head + (o.body ?? '')));
}

/** Splits what was heard into head and body, chunks left as they are. */
export function parsed(text: string): Got {
  const end = text.indexOf('\r\n\r\n');
  const head = text.slice(0, end + 2);
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0),
    head,
    body: text.slice(end + 4),
    field: (name) => fieldOf(head, name),
  };
}

/** Opens a connection to the proxy, sends, and hands over the socket and all that will come. */
export function begin(port: number, bytes: string): { socket: Socket; all: Promise<string> } {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const all = heardToEnd(socket);
  socket.write(bytes, 'latin1');
  return { socket, all };
}

/** A login for the proxy's username channel. */
export const login = (name: string): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${name}:x`).toString('base64')}`;

/** SHA-256 of some bytes. */
export const sha = (bytes: string | Buffer): string =>
  createHash('sha256').update(bytes).digest('hex');

/** Calls back with each request once its body is there, by length or in chunks. */
function onRequest(socket: Socket, on: (head: string, body: Buffer) => void): void {
  let bytes = Buffer.alloc(0);
  socket.on('data', (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const at = bytes.indexOf('\r\n\r\n');
      if (at === -1) return;
      const head = bytes.toString('latin1', 0, at + 4);
      const body = bodyOf(head, bytes.subarray(at + 4));
      if (body === undefined) return;
      bytes = bytes.subarray(at + 4 + body.taken);
      on(head, body.bytes);
    }
  });
}

function bodyOf(head: string, rest: Buffer): { bytes: Buffer; taken: number } | undefined {
  if (/^transfer-encoding: *chunked/im.test(head)) return chunksOf(rest);
  const length = Number(fieldOf(head, 'content-length') ?? 0);
  return rest.length < length ? undefined : { bytes: rest.subarray(0, length), taken: length };
}

function chunksOf(rest: Buffer): { bytes: Buffer; taken: number } | undefined {
  const parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = rest.indexOf('\r\n', at);
    if (line === -1) return undefined;
    const size = Number.parseInt(rest.toString('latin1', at, line), 16);
    const from = line + 2;
    if (rest.length < from + size + 2) return undefined;
    if (size === 0) return { bytes: Buffer.concat(parts), taken: from + 2 };
    parts.push(rest.subarray(from, from + size));
    at = from + size + 2;
  }
}
