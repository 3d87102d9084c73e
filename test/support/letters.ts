import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import type { Got, WholeProxy } from './whole-proxy.ts';

type Of<T extends ProxyEvent['type']> = Extract<ProxyEvent, { type: T }>;

/** The first `count` events of a type, those of the past included, once they are there. */
export function events<T extends ProxyEvent['type']>(
  { proxy, told }: Pick<WholeProxy, 'proxy' | 'told'>,
  type: T,
  count = 1,
): Promise<Of<T>[]> {
  const { promise, resolve } = Promise.withResolvers<Of<T>[]>();
  const look = () => {
    const found = told(type);
    if (found.length >= count) resolve(found);
  };
  const unsubscribe = proxy.subscribe(look);
  look();
  return promise.finally(unsubscribe);
}

/** One request as a faulty site saw it. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A site that reads whole requests and answers as it is told at that moment. */
export async function site(
  t: TestContext,
  answer: (seen: Seen, response: ServerResponse, request: IncomingMessage) => void,
): Promise<{ readonly url: string; readonly authority: string; readonly seen: readonly Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (asked, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of asked) chunks.push(chunk);
    } catch {
      return;
    }
    const { method = '', url = '', rawHeaders } = asked;
    const one = { method, url, rawHeaders, body: Buffer.concat(chunks) };
    seen.push(one);
    answer(one, response, asked);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const authority = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${authority}`, authority, seen };
}

/** Sends a body through the proxy. */
export async function send(
  port: number,
  url: string,
  o: { method?: string; body?: Uint8Array; headers?: Record<string, string> } = {},
): Promise<Got> {
  const { method = 'POST', body = Buffer.alloc(0), headers = {} } = o;
  const { promise, resolve, reject } = Promise.withResolvers<Got>();
  const length = { 'Content-Length': String(body.byteLength) };
  const asking = request(
    {
      host: '127.0.0.1',
      port,
      path: url,
      agent: false,
      method,
      headers: { ...length, ...headers },
    },
    async (reply) => {
      const chunks: Buffer[] = [];
      for await (const chunk of reply) chunks.push(chunk);
      const { statusCode: status = 0, trailers } = reply;
      const whole = { status, headers: reply.headers, trailers, end: 'whole' } as const;
      resolve({ ...whole, body: Buffer.concat(chunks) });
    },
  );
  asking.on('error', reject);
  asking.end(body);
  return promise;
}

/** The id of the letter that a reply names. */
export const letterOf = (got: Got): string => String(got.headers['forbear-dead-letter']);
