import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after } from 'node:test';
import { type Clock, systemClock } from '../../src/clock.ts';
import type { Config, PolicyPatch } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { Stop } from '../../src/core/action.ts';
import { newLedger } from '../../src/core/ledger.ts';
import type { FailureReply, Verdict } from '../../src/core/verdict.ts';
import { createHeldMemory } from '../../src/exchange/held-memory.ts';
import type { Delivery, Exchange, Received } from '../../src/exchange/ports.ts';
import { type Authority, openAuthority } from '../../src/listener/authority.ts';
import { createListener, type Listener, type ListenerDeps } from '../../src/listener/listener.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { seededRandom } from '../support/fake-clock.ts';
import { policyWith } from '../support/policy.ts';

export interface Rig {
  readonly port: number;
  readonly listener: Listener;
  readonly authority: Authority;
  /** Exchanges that reached the loop, tunnels included. */
  readonly seen: Exchange[];
  readonly events: ProxyEvent[];
  event<T extends ProxyEvent['type']>(type: T): Promise<Extract<ProxyEvent, { type: T }>>;
  stop(): Promise<void>;
}

export interface RigOptions {
  readonly config?: Partial<Config>;
  readonly policy?: PolicyPatch;
  readonly clock?: Clock;
  readonly run?: ListenerDeps['run'];
  readonly runTunnel?: ListenerDeps['runTunnel'];
  readonly sessionState?: ListenerDeps['sessionState'];
}

let shared: Promise<Authority> | undefined;

/** One CA for all tests of a file. */
export function testAuthority(): Promise<Authority> {
  if (shared === undefined) {
    const home = mkdtempSync(join(tmpdir(), 'forbear-ca-'));
    after(() => rmSync(home, { recursive: true, force: true }));
    shared = openAuthority(home);
  }
  return shared;
}

/** A listener on loopback in front of a loop that the test writes. */
export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const loaded = loadConfig({ file: undefined, env: {}, flags: {} });
  assert.equal(loaded.kind, 'ok');
  const policy = policyWith(options.policy);
  const config: Config = {
    ...loaded.config,
    policy,
    listen: { host: '127.0.0.1', port: 0 },
    ...options.config,
  };
  const authority = await testAuthority();
  const seen: Exchange[] = [];
  const events: ProxyEvent[] = [];
  const watchers = new Set<() => void>();
  const run = options.run ?? (async () => replyWith({ body: 'hello' }));
  const runTunnel = options.runTunnel ?? (async () => failedWith('connection_refused', 'dial'));
  const listener = createListener({
    config: () => config,
    authority,
    clock: options.clock ?? systemClock,
    random: seededRandom(1),
    memory: createHeldMemory(() => config.memory.maxHeldBytes),
    emit: (event) => {
      events.push(event);
      for (const watcher of watchers) watcher();
    },
    policyFor: () => ({ policy }),
    run: (exchange) => {
      seen.push(exchange);
      return run(exchange);
    },
    runTunnel: (exchange, flight) => {
      seen.push(exchange);
      return runTunnel(exchange, flight);
    },
    runUpgrade: (exchange) => {
      seen.push(exchange);
      return run(exchange);
    },
    sessionState: options.sessionState ?? (() => 'active'),
  });
  const { port } = await listener.listen();
  return {
    port,
    listener,
    authority,
    seen,
    events,
    stop: () => listener.close(),
    event: (type) => {
      const { promise, resolve } = Promise.withResolvers<never>();
      const look = () => {
        const found = events.find((event) => event.type === type);
        if (found === undefined) return;
        watchers.delete(look);
        resolve(found as never);
      };
      watchers.add(look);
      look();
      return promise;
    },
  };
}

export interface Scripted {
  readonly status?: number;
  readonly reason?: string;
  readonly rawHeaders?: readonly string[];
  readonly body?: string | Readable;
  readonly rawTrailers?: readonly string[];
  readonly verdict?: Verdict;
  readonly stop?: Stop;
  readonly onDiscard?: () => void;
}

const OK: Verdict = { fault: 'none', reason: 'ok', evidence: { kind: 'status', status: 200 } };

/** A delivery as the loop would hand over after one attempt. */
export function replyWith(script: Scripted): Delivery {
  const { status = 200, rawHeaders = [], body = '', verdict = OK, stop } = script;
  const response = {
    status,
    reason: script.reason ?? '',
    rawHeaders,
    body: typeof body === 'string' ? Readable.from(body === '' ? [] : [Buffer.from(body)]) : body,
    rawTrailers: script.rawTrailers ?? [],
  };
  const received: Received = {
    reply: {
      kind: 'response',
      via: 'direct',
      status,
      rawHeaders,
      body: { kind: 'unseen' },
      headMs: 1,
    },
    response,
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => script.onDiscard?.(),
    deliverable: true,
    sentBytes: 11,
    receivedBytes: 22,
  };
  return delivery(received, verdict, stop);
}

/** A delivery without a reply. */
export function failedWith(
  code: FailureReply['code'],
  phase: FailureReply['phase'],
  stop?: Stop,
): Delivery {
  const reply: FailureReply = {
    kind: 'failure',
    via: 'direct',
    phase,
    code,
    leg: 'origin',
    sent: false,
    detail: 'as the test wants it',
  };
  const received: Received = {
    reply,
    response: undefined,
    closed: Promise.resolve(),
    keep: () => {},
    discard: () => {},
    deliverable: false,
    sentBytes: 0,
    receivedBytes: 0,
  };
  const evidence = { kind: 'failure', phase, code, detail: 'as the test wants it' } as const;
  return delivery(
    received,
    { fault: 'host', kind: 'transient', reason: 'unreachable', evidence },
    stop,
  );
}

/** An exchange that was never sent. */
export function neverSent(stop: Stop, retryAfterMs?: number): Delivery {
  return {
    received: undefined,
    verdict: undefined,
    stop,
    retryAfterMs,
    ledger: newLedger,
    route: undefined,
  };
}

function delivery(received: Received, verdict: Verdict, stop: Stop | undefined): Delivery {
  return {
    received,
    verdict,
    stop,
    retryAfterMs: undefined,
    ledger: { ...newLedger, attempts: 2, waitedMs: 1234.4 },
    route: {
      id: 'r1',
      label: 'direct-abc123',
      upstream: 'direct',
      way: { kind: 'direct' },
      session: undefined,
      generation: 0,
    },
  };
}

/** Opens a bare connection. */
export async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends text (latin1) and returns all that comes until the other side closes. */
export async function talk(port: number, text: string | Buffer): Promise<string> {
  const socket = await dial(port);
  socket.write(text, 'latin1');
  const reply = await untilClosed(socket);
  socket.destroy();
  return reply;
}

/** All that comes until the end of the connection, in whichever way that is. */
export function untilClosed(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.once('end', () => resolve(text));
  socket.once('close', () => resolve(text));
  return promise;
}

/** Waits until what has come satisfies a condition, and returns it. */
export function until(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const onData = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (!isEnough(text)) return;
    socket.off('data', onData);
    resolve(text);
  };
  socket.on('data', onData);
  socket.once('close', () => reject(new Error(`closed after ${JSON.stringify(text)}`)));
  return promise;
}

/** The head as lines, and the body. */
export function parse(reply: string): { status: number; lines: string[]; body: string } {
  const split = reply.indexOf('\r\n\r\n');
  assert.notEqual(split, -1, `no whole head in ${JSON.stringify(reply)}`);
  const [statusLine = '', ...lines] = reply.slice(0, split).split('\r\n');
  return { status: Number(statusLine.split(' ')[1]), lines, body: reply.slice(split + 4) };
}

/** The value of a field in a parsed head. */
export function field(lines: readonly string[], name: string): string | undefined {
  const found = lines.find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  return found?.slice(name.length + 1).trim();
}
