// Run by load.ts as a process of its own: opens tunnels and slow bodies through the proxy and holds them.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Site } from './load-origin.ts';

/** What is to be opened, and through which proxy. */
export interface Order {
  readonly proxyPort: number;
  readonly caFile: string;
  readonly sites: readonly Site[];
  readonly blind: number;
  readonly opened: number;
  readonly slow: number;
}

/** What is open now. */
export interface Held {
  readonly blind: number;
  readonly opened: number;
  readonly slow: number;
  /** Slow bodies of which a piece came since the last look. */
  readonly moving: number;
  /** What ended by itself, with the first reason. */
  readonly lost: number;
  readonly why: string;
}

type Kind = 'blind' | 'opened' | 'slow';

/** Fewer than the proxy takes from one client, each from an address of its own. */
const PER_ADDRESS = 600;
const AT_ONCE = 40;
const held: Record<Kind, Set<Socket>> = { blind: new Set(), opened: new Set(), slow: new Set() };
const moving = new Set<Socket>();
let lost = 0;
let why = '';
let opened = 0;

process.on('message', (message: Order | 'look') => {
  if (message === 'look') return void process.send?.(look());
  void carryOut(message).then(() => process.send?.(look()));
});
process.on('disconnect', () => process.exit(0));

function look(): Held {
  const seen = {
    blind: held.blind.size,
    opened: held.opened.size,
    slow: held.slow.size,
    moving: moving.size,
    lost,
    why,
  };
  moving.clear();
  return seen;
}

async function carryOut(order: Order): Promise<void> {
  const ca = readFileSync(order.caFile, 'utf8');
  const kinds: Kind[] = [];
  for (const kind of ['blind', 'opened', 'slow'] as const) {
    for (let n = 0; n < order[kind]; n++) kinds.push(kind);
  }
  let next = 0;
  const worker = async () => {
    for (let n = next++; n < kinds.length; n = next++) {
      const kind = kinds[n] as Kind;
      const site = order.sites[n % order.sites.length] as Site;
      await open(kind, site, { ...order, ca }).catch((error: Error) => lose(error.message));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function open(
  kind: Kind,
  site: Site,
  { proxyPort, ca }: { proxyPort: number; ca: string },
): Promise<void> {
  const from = Math.floor(opened++ / PER_ADDRESS) + 1;
  const socket = connect({ port: proxyPort, host: '127.0.0.1', localAddress: `127.9.0.${from}` });
  socket.on('error', (error) => lose(`${kind}: ${error.message}`));
  await once(socket, 'connect');
  if (kind === 'slow') {
    const path = opened % 2 === 0 ? '/slow/page' : '/slow/file';
    socket.write(
      `GET http://${site.host}:${site.plain}${path} HTTP/1.1\r\nHost: ${site.host}:${site.plain}\r\n\r\n`,
    );
    await heard(socket, 'slow ');
    socket.on('data', () => moving.add(socket));
  }
  if (kind === 'blind') {
    await tunnel(socket, `${site.host}:${site.echo}`);
    socket.write('\x00hello');
    await heard(socket, '\x00hello');
  }
  if (kind === 'opened') await openedTunnel(socket, site, ca);
  held[kind].add(socket);
  socket.once('close', () => {
    held[kind].delete(socket);
    lose(`${kind}: closed`);
  });
}

async function tunnel(socket: Socket, target: string): Promise<void> {
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  await heard(socket, '\r\n\r\n');
}

/** One page through TLS that the proxy opens, and then nothing. */
async function openedTunnel(socket: Socket, site: Site, ca: string): Promise<void> {
  const target = `${site.host}:${site.secure}`;
  await tunnel(socket, target);
  const inner = connectTls({ socket, ca, servername: '', checkServerIdentity: () => undefined });
  inner.on('error', (error) => lose(`opened: ${error.message}`));
  await once(inner, 'secureConnect');
  inner.write(`GET / HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  await heard(inner, '</html>');
  inner.resume();
}

function lose(reason: string): void {
  if (lost++ === 0) why = reason;
}

function heard(socket: Socket, what: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let text = '';
  const onData = (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (/^HTTP\/1\.1 [345]/.test(text)) reject(new Error(text.slice(0, 300)));
    if (!text.includes(what)) return;
    socket.off('data', onData).off('close', onClose);
    resolve();
  };
  const onClose = () => reject(new Error(`closed after ${JSON.stringify(text.slice(0, 200))}`));
  socket.on('data', onData).once('close', onClose);
  return promise;
}
