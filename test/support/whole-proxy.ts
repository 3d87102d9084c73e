import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type IncomingMessage, type RequestOptions, request } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load.ts';
import { createProxy, type Proxy as Forbear } from '../../src/proxy.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { onHead, type RawServer, rawServer } from './raw-server.ts';

/** A whole Forbear on loopback, with everything it told. */
export interface WholeProxy {
  readonly proxy: Forbear;
  readonly port: number;
  /** Of its admin server; 0: it has none. */
  readonly adminPort: number;
  readonly events: readonly ProxyEvent[];
  /** All events of a type so far. */
  told<T extends ProxyEvent['type']>(type: T): Extract<ProxyEvent, { type: T }>[];
  /** Resolves with the next exchange that ends, or one that has ended already and was not asked for yet. */
  finished(): Promise<Extract<ProxyEvent, { type: 'exchange_finished' }>>;
}

/** Starts the proxy with the lines given as its configuration file; over a home that stays, if one is named. */
export async function startProxy(
  t: TestContext,
  lines: readonly string[],
  o: { readonly admin?: boolean; readonly home?: string } = {},
): Promise<WholeProxy> {
  const home = o.home ?? mkdtempSync(join(tmpdir(), 'forbear-whole-'));
  const text = ['listen: 127.0.0.1:0', ...lines].join('\n');
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
  const events: ProxyEvent[] = [];
  let ended = 0;
  let look = () => {};
  const emit = (event: ProxyEvent) => {
    events.push(event);
    look();
  };
  const admin = o.admin ? { admin: { host: '127.0.0.1', port: 0 } } : {};
  const proxy = await createProxy({ config: loaded.config, home, emit, ...admin });
  const bound = await proxy.start();
  t.after(async () => {
    await proxy.stop();
    if (o.home === undefined) rmSync(home, { recursive: true });
  });
  const told = <T extends ProxyEvent['type']>(type: T) =>
    events.filter((event): event is Extract<ProxyEvent, { type: T }> => event.type === type);
  return {
    proxy,
    port: bound.proxy.port,
    adminPort: bound.admin?.port ?? 0,
    events,
    told,
    finished: () => {
      const { promise, resolve } = Promise.withResolvers<ReturnType<typeof nth>>();
      const at = ended++;
      const nth = () =>
        told('exchange_finished')[at] as ReturnType<typeof told<'exchange_finished'>>[0];
      const earlier = look;
      look = () => {
        earlier();
        if (nth() !== undefined) resolve(nth());
      };
      look();
      return promise;
    },
  };
}

/** What a client was left with. */
export interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
  readonly trailers: IncomingMessage['trailers'];
  /** `whole`: the reply ended as HTTP says it must. `broken`: the client could see that it did not. */
  readonly end: 'whole' | 'broken';
}

const nothing: Got = {
  status: 0,
  headers: {},
  body: Buffer.alloc(0),
  trailers: {},
  end: 'broken',
};

/** Asks for a URL through the proxy, and takes what comes. */
export async function get(port: number, url: string, o: RequestOptions = {}): Promise<Got> {
  const asked = request({ host: '127.0.0.1', port, path: url, agent: false, ...o });
  asked.end();
  // A connection that is reset may take the head with it.
  const reply = await Promise.race([
    once(asked, 'response').then(([message]) => message as IncomingMessage),
    once(asked, 'close').then(() => undefined),
  ]).catch(() => undefined);
  if (reply === undefined) return nothing;
  const chunks: Buffer[] = [];
  let failed = false;
  reply.on('data', (chunk) => chunks.push(chunk));
  reply.on('error', () => {
    failed = true;
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  reply.once('close', resolve);
  await promise;
  const { statusCode: status = 0, headers, trailers } = reply;
  const end = failed || !reply.complete ? 'broken' : 'whole';
  return { status, headers, body: Buffer.concat(chunks), trailers, end };
}

/** One answer of a scripted site. `after`: what happens to the connection behind the bytes. */
export interface Step {
  readonly bytes: string | Buffer;
  readonly after?: 'stay' | 'end' | 'reset';
}

/** What a scripted site was asked. */
export interface Site extends RawServer {
  readonly heads: readonly string[];
  readonly url: string;
}

/** A site that answers one request after the other by the script; the last step is repeated. */
export async function scriptedSite(
  t: TestContext,
  steps: readonly (Step | ((head: string, socket: Socket) => Step | undefined))[],
): Promise<Site> {
  const heads: string[] = [];
  const server = await rawServer((socket) => {
    onHead(socket, (head) => {
      heads.push(head);
      const step = steps[Math.min(heads.length, steps.length) - 1];
      const now = typeof step === 'function' ? step(head, socket) : step;
      if (now === undefined) return;
      socket.write(now.bytes, () => {
        if (now.after === 'end') socket.end();
        if (now.after === 'reset') socket.resetAndDestroy();
      });
    });
  });
  t.after(() => server.close());
  return Object.assign(server, { heads, url: `http://127.0.0.1:${server.port}/file` });
}

/** A field of a request head; undefined when it is not there. */
export function asked(head: string | undefined, name: string): string | undefined {
  return new RegExp(`^${name}: *(.*?)\r$`, 'im').exec(head ?? '')?.[1];
}
