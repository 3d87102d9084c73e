import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../clock.ts';
import { type Asset, readAssets } from './assets.ts';
import { type Answer, type Endpoint, json, missing, type Problem, problem } from './endpoint.ts';
import { EventHub } from './event-hub.ts';
import { exchangeEndpoints } from './exchange-endpoints.ts';
import { type Door, foreign, isLoopbackAddress, unauthorized, unsafe } from './guard.ts';
import { interceptionEndpoint } from './interception-endpoint.ts';
import { laneEndpoints, routeEndpoints } from './lane-endpoints.ts';
import { letterEndpoints } from './letter-endpoints.ts';
import { openApi } from './openapi.ts';
import { Redrives } from './redrive-endpoint.ts';
import { prepare, respond } from './respond.ts';
import { API, readBody, readQuery, route, wrongMethod } from './router.ts';
import { sessionEndpoints } from './session-endpoints.ts';
import { systemEndpoints } from './system-endpoints.ts';
import type { AdminPorts } from './views.ts';
import { warningEndpoint } from './warning-endpoint.ts';

/** The admin server: API, dashboard, metrics and health. */
export interface AdminServer {
  /** Starts to accept; rejects with the system's error when the address cannot be had. */
  listen(): Promise<{ host: string; port: number }>;
  /** Ends every connection at once, and settles when none is left. */
  close(): Promise<void>;
}

export interface AdminOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly token: () => string | null;
  readonly clock: Clock;
  /** Folder of the dashboard's files; the one beside this file unless given. */
  readonly assets?: string;
  /** The usual bounds, where they are not meant to hold. */
  readonly limits?: Partial<typeof LIMITS>;
}

const LIMITS = {
  connections: 512,
  headMs: 10_000,
  requestMs: 30_000,
  idleMs: 60_000,
  keepAliveMs: 15_000,
  checkMs: 2_500,
};
const HEADER_BYTES = 16 * 1024;
const BODY_BYTES = 1024 * 1024;
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Makes the admin server of one proxy. It listens when it is told to. */
export function createAdminServer(ports: AdminPorts, options: AdminOptions): AdminServer {
  const { clock } = options;
  const boot = Math.floor(ports.status().startedAt).toString(36);
  const hub = new EventHub({ clock, lanes: ports.lanes, boot });
  const unsubscribe = ports.recent.onEvent((view) => hub.tell(view));
  const folder = options.assets ?? fileURLToPath(new URL('./dashboard/', import.meta.url));
  const site: Site = {
    ports,
    hub,
    token: options.token,
    endpoints: endpointsOf(ports, hub, clock),
    assets: readAssets(folder),
    loopback: true,
  };
  const server = newServer({ ...LIMITS, ...options.limits });
  server.on('request', (request, response) => {
    void serve(request, response, site);
  });
  server.on('clientError', onClientError);
  return {
    async listen() {
      const { host, port } = options.listen;
      server.listen({ host, port });
      await once(server, 'listening');
      // That a connection could not be accepted ends nothing.
      server.on('error', () => {});
      const bound = server.address() as AddressInfo;
      site.loopback = isLoopbackAddress(bound.address);
      return { host: bound.address, port: bound.port };
    },
    async close() {
      unsubscribe();
      hub.close();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** All operations, the one that lists them included. */
function endpointsOf(ports: AdminPorts, hub: EventHub, clock: Clock): readonly Endpoint[] {
  const endpoints: Endpoint[] = [
    ...systemEndpoints(ports, hub),
    warningEndpoint(ports.warnings),
    interceptionEndpoint(ports.interception),
    ...laneEndpoints(ports.lanes),
    ...routeEndpoints(ports.routes, () => clock.now()),
    ...sessionEndpoints(ports.routes),
    ...exchangeEndpoints(ports.recent),
    ...letterEndpoints(ports.deadLetters, new Redrives()),
  ];
  endpoints.push({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This document.',
    answers: { 200: { description: 'OpenAPI 3.1.', schema: { type: 'object' } } },
    handle: () => json(openApi(endpoints, ports.status().version)),
  });
  return endpoints;
}

interface Site {
  readonly ports: AdminPorts;
  readonly hub: EventHub;
  readonly token: () => string | null;
  readonly endpoints: readonly Endpoint[];
  readonly assets: ReadonlyMap<string, Asset>;
  loopback: boolean;
}

function newServer(limits: typeof LIMITS): Server {
  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: limits.headMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkMs,
  });
  server.maxConnections = limits.connections;
  // A client that takes nothing of its answer is let go, too.
  server.timeout = limits.idleMs;
  return server;
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  site: Site,
): Promise<void> {
  response.on('error', () => {});
  prepare(response);
  const answer = await answerTo(request, site).catch(troubled);
  if (response.destroyed) return;
  if (answer.kind !== 'events') return respond(request, response, answer);
  if (request.method === 'HEAD') return void response.writeHead(200).end();
  site.hub.subscribe(response, answer);
}

async function answerTo(request: IncomingMessage, site: Site): Promise<Answer> {
  const { url = '', method = '' } = request;
  const door: Door = { loopback: site.loopback, token: site.token() };
  const refusal = foreign(request, door);
  if (refusal) return refusal;
  const [path = '', search = ''] = url.split('?', 2);
  if (!path.startsWith('/')) return problem(400, 'bad_path', 'The path must begin with a slash.');
  if (path === API || path.startsWith(`${API}/`)) {
    return (
      unauthorized(request, door) ?? call(request, { path: path.slice(API.length), search }, site)
    );
  }
  const asked = pageOf(path, site);
  if (!asked) return missing(`There is nothing at ${path}.`);
  if (method !== 'GET' && method !== 'HEAD') return wrongMethod(['GET']);
  return asked(request, door);
}

type Page = (request: IncomingMessage, door: Door) => Answer | Promise<Answer>;

/** What there is beside the API. Probes and the dashboard's files are open: they hold nothing. */
function pageOf(path: string, { ports, assets }: Site): Page | undefined {
  if (path === '/livez') return () => plain('live');
  if (path === '/readyz') {
    return () => {
      const { state } = ports.status();
      if (state === 'ready') return plain('ready');
      return problem(503, state, `It is ${state}, and takes no new requests.`);
    };
  }
  if (path === '/metrics') return (request, door) => unauthorized(request, door) ?? metrics(ports);
  const asset = assets.get(path);
  return asset && ((request) => assetAnswer(asset, request));
}

const plain = (text: string): Answer => ({
  kind: 'bytes',
  status: 200,
  headers: { 'Content-Type': 'text/plain; charset=utf-8' },
  body: Buffer.from(`${text}\n`),
});

async function metrics(ports: AdminPorts): Promise<Answer> {
  const { contentType, text } = await ports.metrics();
  const headers = { 'Content-Type': contentType };
  return { kind: 'bytes', status: 200, headers, body: Buffer.from(text) };
}

function assetAnswer({ contentType, body, tag }: Asset, { headers }: IncomingMessage): Answer {
  const common = { ETag: tag, 'Cache-Control': 'no-cache', 'Content-Security-Policy': CSP };
  return headers['if-none-match'] === tag
    ? { kind: 'bytes', status: 304, headers: common, body: Buffer.alloc(0) }
    : { kind: 'bytes', status: 200, headers: { ...common, 'Content-Type': contentType }, body };
}

async function call(
  request: IncomingMessage,
  { path, search }: { path: string; search: string },
  { endpoints, ports }: Site,
): Promise<Answer> {
  const found = route(request.method ?? '', path, endpoints);
  if (found.kind === 'problem') return found;
  const refusal = unsafe(request);
  if (refusal) return refusal;
  const { endpoint, params } = found;
  const query = readQuery(search, endpoint.query);
  if (isProblem(query)) return query;
  const text = await bodyOf(request);
  if (typeof text !== 'string') return text;
  const body = readBody(text, endpoint.body);
  if (isProblem(body)) return body;
  const answer = await endpoint.handle({ params, query, body, headers: request.headers });
  // Nobody is told of a change that a crash could take back.
  if (endpoint.method !== 'GET') await ports.kept();
  return answer;
}

function isProblem(value: object): value is Problem {
  return 'kind' in value && value.kind === 'problem';
}

/** What is too much is read and forgotten: a client that still sends hears nothing. */
async function bodyOf(request: IncomingMessage): Promise<string | Problem> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= BODY_BYTES) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes > BODY_BYTES
    ? problem(413, 'body_too_large', `A body may have ${BODY_BYTES} bytes.`)
    : Buffer.concat(chunks).toString();
}

/** The store's own words help whoever has to put it right; anything else is a bug. */
function troubled(error: unknown): Problem {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === 'bad_cursor') return problem(400, 'bad_cursor', 'The cursor is not one of ours.');
  if ((error as Error).name === 'StoreError') {
    return problem(503, `store_${code}`, String(message), { 'Retry-After': '5' });
  }
  return problem(500, 'internal', 'Something broke inside the admin server.');
}

function onClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const line =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(`HTTP/1.1 ${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
