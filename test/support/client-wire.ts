import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import tls from 'node:tls';
import { loadConfig } from '../../src/config/load.ts';
import { createProxy, openAuthority, type Proxy as RunningProxy } from '../../src/proxy.ts';
import type { ProxyEvent } from '../../src/telemetry/events.ts';
import { root } from './certificates.ts';

/** A whole proxy as a client on bare sockets sees it. */
export interface ClientWire {
  readonly proxy: RunningProxy;
  readonly port: number;
  readonly caPem: string;
  readonly events: readonly ProxyEvent[];
  /** Names that were looked up. */
  readonly lookups: readonly string[];
  told<T extends ProxyEvent['type']>(type: T): Extract<ProxyEvent, { type: T }>[];
  dial(): Promise<Socket>;
  /** A tunnel that has its 200. */
  tunnel(target: string, ...headers: string[]): Promise<Socket>;
  /** TLS over a tunnel, the proxy's CA trusted. */
  secureOver(socket: Socket, o: tls.ConnectionOptions): Promise<tls.TLSSocket>;
  /** The same over a new tunnel. */
  secure(target: string, o?: tls.ConnectionOptions): Promise<tls.TLSSocket>;
}

/** Starts a proxy that trusts the tests' root, and for which names under `test` lead to 127.0.0.1. */
export async function startWire(
  t: TestContext,
  lines: readonly string[] = [],
  resolve: (host: string) => readonly LookupAddress[] = () => [{ address: '127.0.0.1', family: 4 }],
): Promise<ClientWire> {
  const home = mkdtempSync(join(tmpdir(), 'forbear-wire-'));
  writeFileSync(join(home, 'root.pem'), root);
  const tlsLines = lines.some((line) => line.startsWith('tls:'))
    ? []
    : [`tls: { extra_ca: [${join(home, 'root.pem')}] }`];
  const text = ['listen: 127.0.0.1:0', ...tlsLines, ...lines].join('\n');
  const loaded = loadConfig({ file: undefined, text, env: {}, flags: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.faults));
  const events: ProxyEvent[] = [];
  const lookups: string[] = [];
  const proxy = await createProxy({
    config: loaded.config,
    home,
    emit: (event) => events.push(event),
    resolve: async (host) => {
      lookups.push(host);
      if (!host.endsWith('.test') || host.startsWith('nowhere.')) {
        throw Object.assign(new Error(`no ${host}`), { code: 'ENOTFOUND' });
      }
      return resolve(host);
    },
  });
  const { port } = (await proxy.start()).proxy;
  const clients = new Set<Socket>();
  t.after(async () => {
    for (const socket of clients) socket.destroy();
    await proxy.stop();
    rmSync(home, { recursive: true });
  });
  const caPem = (await openAuthority(home)).caPem;
  const dial = async () => {
    const socket = await dialTo(port);
    clients.add(socket);
    return socket.once('close', () => clients.delete(socket));
  };
  const tunnel = async (target: string, ...headers: string[]) => {
    const socket = await dial();
    socket.write(connectTo(target, ...headers));
    const head = await heard(socket, (got) => got.includes('\r\n\r\n'));
    if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(head);
    return socket;
  };
  const secureOver = async (socket: Socket, o: tls.ConnectionOptions) => {
    const inner = tls.connect({ socket, ca: caPem, ...o });
    inner.on('error', () => {});
    await once(inner, 'secureConnect');
    return inner;
  };
  return {
    proxy,
    port,
    caPem,
    events,
    lookups,
    told: (type) => events.filter((event): event is never => event.type === type),
    dial,
    tunnel,
    secureOver,
    async secure(target, o = {}) {
      const servername = target.replace(/:\d+$/, '');
      return secureOver(await tunnel(target), { servername, ...o });
    },
  };
}

/** The request head of a CONNECT. */
export function connectTo(target: string, ...headers: string[]): string {
  return [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`, ...headers, '', ''].join('\r\n');
}

/** A bare connection on which half an end is no end. */
export async function dialTo(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes (latin1) and returns all that comes until the proxy ends the connection. */
export async function ask(wire: { readonly port: number }, bytes: string): Promise<string> {
  const socket = await dialTo(wire.port);
  socket.write(bytes, 'latin1');
  const all = await heardToEnd(socket);
  socket.destroy();
  return all;
}

/** All that comes until the connection ends, however. */
export function heardToEnd(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.once('end', () => resolve(text));
  socket.once('close', () => resolve(text));
  return promise;
}

/** What has come by the time it is enough. Rejects when the connection closes before. */
export function heard(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  const onData = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (!isEnough(text)) return;
    socket.off('data', onData);
    socket.off('close', onClose).off('end', onClose);
    resolve(text);
  };
  const onClose = () => reject(new Error(`closed after ${JSON.stringify(text.slice(0, 2000))}`));
  socket.on('data', onData);
  socket.once('close', onClose).once('end', onClose);
  return promise;
}

/** The status of each reply in what was heard. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d{3})/g)].map(([, status]) => Number(status));
}

/** A field of a head, or undefined. */
export function fieldOf(head: string, name: string): string | undefined {
  return new RegExp(`^${name}:[ \t]*(.*?)\r$`, 'im').exec(head)?.[1];
}
