import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { chance } from './chance.ts';
import { CHALLENGE_PAGE, itemPage } from './site-pages.ts';
import { type Damage, type RulesOptions, type Ruling, SiteRules } from './site-rules.ts';

export interface SiteOptions extends RulesOptions {
  /** The mean time of an answer. */
  readonly latencyMs: number;
  readonly now?: () => number;
}

export interface Site {
  readonly port: number;
  readonly damage: Readonly<Damage>;
  /** Flows that got a step from another address than the one that began them. */
  readonly brokenFlows: number;
  /** The page that belongs to a path. */
  page(path: string): string;
  close(): Promise<void>;
}

type Flow =
  | { readonly state: 'open'; readonly address: string; readonly cookie: string; step: number }
  | { readonly state: 'broken' };

/** Flows are `/flows/ID/STEP`: each step needs the cookie of the first, in order, from the same address. */
class Flows {
  broken = 0;
  readonly #seed: number;
  readonly #flows = new Map<string, Flow>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The cookie to set when the step is accepted. */
  step(path: string, address: string, cookies: string): string | undefined {
    const [, , id = '', text] = path.split('/');
    const step = Number(text);
    if (step === 1) return this.#begin(id, address);
    const flow = this.#flows.get(id);
    if (flow?.state !== 'open' || !cookies.includes(flow.cookie)) return undefined;
    if (flow.address !== address) {
      this.broken += 1;
      this.#flows.set(id, { state: 'broken' });
      return undefined;
    }
    // A step may be asked for again: its reply can have been lost.
    if (step !== flow.step && step !== flow.step + 1) return undefined;
    flow.step = step;
    return flow.cookie;
  }

  #begin(id: string, address: string): string {
    const secret = Math.floor(chance(this.#seed, 'cookie', id) * 2 ** 32).toString(36);
    const cookie = `flow=${id}.${secret}`;
    this.#flows.set(id, { state: 'open', address, cookie, step: 1 });
    return cookie;
  }
}

/** Starts a site on loopback that limits, bans, fails and keeps sessions, and counts what was done to it. */
export async function startSite(options: SiteOptions): Promise<Site> {
  const { seed, latencyMs, now = () => performance.now() } = options;
  const rules = new SiteRules(options);
  const flows = new Flows(seed);
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/';
    const address = request.socket.remoteAddress ?? '';
    const ruling = rules.judge({ address, path }, now());
    const nth = rules.damage.requests;
    await delay(latencyMs * (0.7 + 0.6 * chance(seed, 'latency', nth)));
    if (request.socket.destroyed) return;
    if (ruling.kind === 'serve' && path.startsWith('/flows/')) {
      const cookie = flows.step(path, address, request.headers.cookie ?? '');
      if (cookie === undefined) {
        say(response, 403, 'This session was opened elsewhere.');
        return;
      }
      response.setHeader('Set-Cookie', `${cookie}; Path=/flows`);
    }
    answer(ruling, itemPage(seed, path), request, response);
  });
  // Idle sockets stay: a close that races with the next request would look like one more fault.
  server.keepAliveTimeout = 300_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    damage: rules.damage,
    get brokenFlows() {
      return flows.broken;
    },
    page: (path) => itemPage(seed, path),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answer(
  ruling: Ruling,
  page: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (ruling.kind) {
    case 'serve':
      say(response, 200, page);
      break;
    case 'throttle':
      response.setHeader('Retry-After', Math.ceil(ruling.retryAfterMs / 1000));
      say(response, 429, 'Too many requests.');
      break;
    case 'block':
      if (ruling.how === 'challenge') say(response, 200, CHALLENGE_PAGE);
      else say(response, 403, 'Access denied.');
      break;
    case 'outage':
    case 'fault':
      fail(ruling, page, request, response);
  }
}

function fail(
  ruling: Extract<Ruling, { kind: 'outage' | 'fault' }>,
  page: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (ruling.how) {
    case 'status':
      say(response, ruling.kind === 'outage' ? 503 : 500, 'Something went wrong.');
      break;
    case 'reset':
      request.socket.resetAndDestroy();
      break;
    case 'cut_short':
      response.writeHead(200, headersOf(page));
      response.write(page.slice(0, page.length / 2), () => request.socket.end());
  }
}

function say(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, headersOf(body)).end(body);
}

function headersOf(body: string) {
  return { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': Buffer.byteLength(body) };
}
