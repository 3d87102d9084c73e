import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { chance } from './chance.ts';

export interface GatewayOptions {
  /** How many addresses it has. */
  readonly exits: number;
  /** The loopback port behind a name; undefined: there is no such name. */
  readonly portOf: (host: string) => number | undefined;
}

export interface Gateway {
  readonly port: number;
  /** The account that its users have; the token behind `-sid-` chooses the address. */
  readonly account: { readonly name: string; readonly password: string };
  /** The address that requests with this token come from. */
  exitOf(token: string): string;
  close(): Promise<void>;
}

const ACCOUNT = { name: 'pool', password: 'secret' };
const HOP_BY_HOP = /^(proxy-.*|connection|keep-alive)$/i;

/** The nth exit: an address of its own in 127.10.0.0/16, 250 to each third number. */
export function exitAddress(n: number): string {
  return `127.10.${Math.floor(n / 250)}.${(n % 250) + 1}`;
}

/** Starts a gateway as residential providers have them: one port, and an exit address for each token in the username. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const agent = new Agent({ keepAlive: true });
  const sockets = new Set<Duplex>();
  const exitOf = (token: string) => exitAddress(Math.floor(chance('exit', token) * options.exits));
  const server = createServer((incoming, outgoing) => {
    const token = tokenOf(incoming);
    if (token === undefined) askForLogin(outgoing);
    else
      forward(incoming, outgoing, { agent, localAddress: exitOf(token), portOf: options.portOf });
  });
  server.keepAliveTimeout = 300_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('connect', (incoming, client, head) => {
    const token = tokenOf(incoming);
    const port = options.portOf(hostOf(`http://${incoming.url}`));
    if (token === undefined) refuse(client, '407 Proxy Authentication Required');
    else if (port === undefined) refuse(client, '502 Bad Gateway');
    else tunnel(client as Socket, head, { port, localAddress: exitOf(token) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    account: ACCOUNT,
    exitOf,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      await once(server, 'close');
    },
  };
}

/** The token of a valid login. */
function tokenOf(incoming: IncomingMessage): string | undefined {
  const encoded = /^Basic (.+)$/i.exec(incoming.headers['proxy-authorization'] ?? '')?.[1] ?? '';
  const [user = '', password] = Buffer.from(encoded, 'base64').toString().split(':');
  const [name, token] = user.split('-sid-');
  return name === ACCOUNT.name && password === ACCOUNT.password ? token : undefined;
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

function askForLogin(outgoing: ServerResponse): void {
  outgoing.writeHead(407, { 'Proxy-Authenticate': 'Basic realm="pool"', 'Content-Length': 0 });
  outgoing.end();
}

interface Way {
  readonly agent: Agent;
  readonly localAddress: string;
  readonly portOf: GatewayOptions['portOf'];
}

function forward(incoming: IncomingMessage, outgoing: ServerResponse, way: Way): void {
  const url = incoming.url ?? '';
  const port = way.portOf(hostOf(url));
  if (port === undefined) {
    outgoing.writeHead(502, { 'Content-Length': 0 }).end();
    return;
  }
  const { pathname, search } = new URL(url);
  const onward = request({
    host: '127.0.0.1',
    port,
    localAddress: way.localAddress,
    agent: way.agent,
    method: incoming.method,
    path: pathname + search,
    headers: endToEnd(incoming.rawHeaders),
  });
  onward.on('response', (reply) => {
    outgoing.writeHead(reply.statusCode ?? 502, reply.statusMessage, endToEnd(reply.rawHeaders));
    reply.pipe(outgoing);
    // What broke off there breaks off here: the client can tell by the length.
    reply.on('error', () => outgoing.destroy());
  });
  onward.on('error', () => incoming.socket.resetAndDestroy());
  outgoing.on('close', () => onward.destroy());
  incoming.pipe(onward);
}

/** Names and values in turn, without those that belong to one connection. */
function endToEnd(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let n = 0; n + 1 < rawHeaders.length; n += 2) {
    const [name = '', value = ''] = rawHeaders.slice(n, n + 2);
    if (!HOP_BY_HOP.test(name)) kept.push(name, value);
  }
  return kept;
}

function refuse(client: Duplex, status: string): void {
  client.on('error', () => {});
  client.end(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
}

function tunnel(
  client: Socket,
  head: Buffer,
  to: { readonly port: number; readonly localAddress: string },
): void {
  const site = connect({ host: '127.0.0.1', ...to }, () => {
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    site.write(head);
    site.pipe(client);
    client.pipe(site);
  });
  // A reset travels on as a reset, an end as an end.
  site.on('error', () => client.resetAndDestroy());
  client.on('error', () => site.destroy());
  client.on('close', () => site.destroy());
}
