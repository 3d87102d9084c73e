import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { createAttempts } from '../../src/attempt/attempt.ts';
import type { Resolve } from '../../src/attempt/dial.ts';
import { createGuard, type Guard } from '../../src/attempt/guard.ts';
import type { ReplyTerms } from '../../src/attempt/send.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { PolicyPatch, TlsConfig } from '../../src/config/config.ts';
import type { FailureReply, ResponseReply } from '../../src/core/verdict.ts';
import { createHeldMemory } from '../../src/exchange/held-memory.ts';
import type { Exchange, ProxyWay, Received, RequestBody, Route } from '../../src/exchange/ports.ts';
import { root } from './certificates.ts';
import { policyWith } from './policy.ts';
import { type RawServer, until } from './raw-server.ts';

/** Attempts that trust the test root, may reach loopback, and are closed when the test ends. */
export function attemptsFor(
  t: TestContext,
  o: {
    clock?: Clock;
    guard?: Guard;
    resolve?: Resolve;
    tls?: Partial<TlsConfig>;
    replyTerms?: Partial<ReplyTerms>;
  } = {},
) {
  const attempts = createAttempts({
    clock: o.clock ?? systemClock,
    replyTerms: {
      memory: createHeldMemory(() => Number.POSITIVE_INFINITY),
      maxHeadBytes: 64 * 1024,
      ...o.replyTerms,
    },
    tls: { extraCa: [root], insecureHosts: [], clientCerts: [], ...o.tls },
    guard: o.guard ?? createGuard({ allowPrivate: true, ownAddresses: () => [] }),
    resolve: o.resolve ?? (() => Promise.resolve([{ address: '127.0.0.1', family: 4 }])),
  });
  t.after(async () => {
    attempts.close();
    await until(() => attempts.openSockets() === 0);
  });
  return attempts;
}

/** One exchange for a server of the test. */
export function exchangeTo(
  server: { host: string; port: number },
  o: {
    method?: string;
    scheme?: 'http' | 'https';
    host?: string;
    path?: string;
    headers?: readonly string[];
    body?: RequestBody;
    policy?: PolicyPatch;
    expectText?: string;
    signal?: AbortSignal;
  } = {},
): Exchange {
  const host = o.host ?? server.host;
  return {
    id: 'x1',
    client: { name: 'test', address: '127.0.0.1' },
    target: {
      scheme: o.scheme ?? 'http',
      host,
      port: server.port,
      authority: `${host}:${server.port}`,
      path: o.path ?? '/',
    },
    method: o.method ?? 'GET',
    rawHeaders: o.headers ?? [],
    body: o.body ?? noBody,
    policy: policyWith(o.policy),
    session: undefined,
    country: undefined,
    expectText: o.expectText,
    retry: 'on',
    startedAt: 0,
    deadline: Number.MAX_SAFE_INTEGER,
    signal: o.signal ?? new AbortController().signal,
    stage: { kind: 'queued', sinceAt: 0, untilAt: undefined },
  };
}

/** A request body that is kept whole, with its length told or not. */
export function bodyOf(bytes: Buffer, framing: 'length' | 'chunked' = 'length'): RequestBody {
  return {
    length: framing === 'length' ? bytes.length : undefined,
    present: true,
    replayable: true,
    open: () => Readable.from([bytes], { objectMode: false }),
    rawTrailers: [],
  };
}

const noBody: RequestBody = {
  length: 0,
  present: false,
  replayable: true,
  open: () => Readable.from([]),
  rawTrailers: [],
};

export const direct: Route = {
  id: 'direct',
  label: 'direct',
  upstream: 'direct',
  way: { kind: 'direct' },
  session: undefined,
  generation: 0,
};

/** A route over an upstream of the test. */
export function routeOver(
  server: RawServer,
  o: Partial<Omit<ProxyWay, 'host' | 'port'>> & {
    host?: string;
    id?: string;
    session?: string;
  } = {},
): Route {
  const { id = 'up', session, host = '127.0.0.1', ...way } = o;
  return {
    id,
    label: id,
    upstream: id,
    way: {
      kind: 'http',
      username: undefined,
      password: undefined,
      headers: [],
      plain: 'forward',
      ...way,
      host,
      port: server.port,
    },
    session,
    generation: 0,
  };
}

/** The reply, which has to be a failure. */
export function failureOf(received: Received): FailureReply {
  if (received.reply.kind !== 'failure') throw new Error(`a ${received.reply.status} came`);
  return received.reply;
}

/** The reply, which has to be a response. */
export function responseOf(received: Received): ResponseReply {
  if (received.reply.kind !== 'response') throw new Error(`failed: ${received.reply.detail}`);
  return received.reply;
}

/** The whole body, latin1; rejects when it breaks off. */
export async function textOf(received: Received): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of received.response?.body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks).toString('latin1');
}
