import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { TestCa } from './test-ca.ts';

/** How a page misbehaves, or that it does not. */
type Answer =
  | 'page'
  | 'moved'
  | 'throttled'
  | 'reset'
  | 'cut'
  | 'blocked'
  | 'challenged'
  | 'missing'
  | 'silent';

/** One request as the origin saw it. */
export interface Hit {
  /** Epoch ms. */
  readonly at: number;
  /** The address it came from. */
  readonly exit: string;
  readonly url: string;
  readonly answer: Answer;
  readonly rawHeaders: readonly string[];
}

/** A site in trouble: each of its pages misbehaves once, in its own way. */
export interface TestOrigin {
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly hits: readonly Hit[];
}

/** What a throttled page asks for. */
export const RETRY_AFTER_S = 1;

/** Each page, and how it answers one request after the other. */
export const ANSWERS: Readonly<Record<string, readonly Answer[]>> = {
  '/plain': ['page'],
  '/gzip': ['page'],
  '/moved': ['moved'],
  '/throttled': ['throttled', 'page'],
  '/reset': ['reset', 'page'],
  '/cut': ['cut', 'page'],
  '/blocked': ['blocked', 'page'],
  '/challenged': ['challenged', 'page'],
};

/** Pages that never are any good. */
const HOPELESS: Readonly<Record<string, Answer>> = { '/missing': 'missing', '/silent': 'silent' };

/** Where `/moved` leads. */
export const LANDING = '/landed';

const CHALLENGE =
  '<title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script>';

/** The page that is right for a path. */
export function page(path: string): string {
  const digest = createHash('sha256').update(path).digest('hex');
  const words = (digest.match(/.{4}/g) ?? []).map((word) => `<p>Item ${word} of ${path}</p>`);
  return `<html><head><title>${path}</title></head><body>${words.join('\n')}</body></html>\n`;
}

/** The sha256 that a client must report for a path, redirects followed. */
export function digestOf(path: string): string {
  const at = path === '/moved' ? LANDING : path;
  return createHash('sha256').update(page(at)).digest('hex');
}

/** Starts the site on two free ports of 127.0.0.1, for HTTP and HTTPS. */
export async function startOrigin(t: TestContext, ca: TestCa): Promise<TestOrigin> {
  const hits: Hit[] = [];
  const site = new TroubledSite(hits);
  const answer = (request: IncomingMessage, response: ServerResponse): void =>
    site.answer(request, response);
  const httpPort = await listening(t, createServer(answer));
  const httpsPort = await listening(t, createTlsServer({ cert: ca.cert, key: ca.key }, answer));
  return { httpPort, httpsPort, hits };
}

class TroubledSite {
  readonly #hits: Hit[];
  /** Pages that have had their trouble. */
  readonly #done = new Set<string>();
  /** The address each page refuses: the first that asked for it. */
  readonly #refused = new Map<string, string>();

  constructor(hits: Hit[]) {
    this.#hits = hits;
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    const scheme = 'encrypted' in request.socket ? 'https' : 'http';
    const url = `${scheme}://${request.headers.host}${request.url}`;
    const exit = request.socket.remoteAddress ?? '';
    const answer = this.#next(url, request.url ?? '', exit);
    this.#hits.push({ at: Date.now(), exit, url, answer, rawHeaders: request.rawHeaders });
    send(answer, request.url ?? '', response);
  }

  #next(url: string, path: string, exit: string): Answer {
    const [first = HOPELESS[path] ?? 'page'] = ANSWERS[path] ?? [];
    if (first === 'blocked' || first === 'challenged') {
      const refused = this.#refused.get(url) ?? exit;
      this.#refused.set(url, refused);
      return refused === exit ? first : 'page';
    }
    if (first === 'moved' || path in HOPELESS) return first;
    const again = this.#done.has(url);
    this.#done.add(url);
    return again ? 'page' : first;
  }
}

function send(answer: Answer, path: string, response: ServerResponse): void {
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  switch (answer) {
    case 'page':
      if (path !== '/gzip') return void response.end(page(path));
      response.setHeader('Content-Encoding', 'gzip');
      return void response.end(gzipSync(page(path)));
    case 'moved':
      return void response.writeHead(302, { Location: LANDING }).end();
    case 'throttled':
      return void response.writeHead(429, { 'Retry-After': RETRY_AFTER_S }).end('Slow down');
    case 'reset':
      response.socket?.destroy();
      return;
    case 'cut': {
      const body = page(path);
      response.writeHead(200, { 'Content-Length': body.length });
      response.write(body.slice(0, body.length / 2), () => response.socket?.destroy());
      return;
    }
    case 'blocked':
      return void response.writeHead(403).end('<h1>Forbidden</h1>');
    case 'challenged':
      return void response.end(CHALLENGE);
    case 'missing':
      return void response.writeHead(404).end('<h1>Not found</h1>');
    case 'silent':
      return;
  }
}

async function listening(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
