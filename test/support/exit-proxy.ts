import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A proxy with an address of its own, as a provider sells them. */
export interface ExitProxy {
  /** The address that sites see. */
  readonly exit: string;
  /** Its URL, login included. */
  readonly url: string;
}

export interface ExitPlan {
  readonly exit: string;
  /** Names it can resolve; each leads to a port of 127.0.0.1. Nothing else is reached. */
  readonly names: Readonly<Record<string, number>>;
}

const LOGIN = 'user:secret';

/**
 * Starts a proxy for absolute-form requests and CONNECT. Fields are handed on as they come, except its own
 * login, so that a field that was meant for the way shows at the site.
 */
export async function startExit(t: TestContext, plan: ExitPlan): Promise<ExitProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near, answer) => forward(near, answer, plan));
  server.on('connect', (near, socket: Socket, head: Buffer) => tunnel(near, socket, head, plan));
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = server.address() as AddressInfo;
  return { exit: plan.exit, url: `http://${LOGIN}@127.0.0.1:${port}` };
}

function forward(near: IncomingMessage, answer: ServerResponse, plan: ExitPlan): void {
  if (!loggedIn(near)) {
    answer.writeHead(407, { 'Proxy-Authenticate': 'Basic realm="exit"' }).end();
    return;
  }
  const url = new URL(near.url ?? '');
  const far = request({
    host: '127.0.0.1',
    port: plan.names[url.hostname],
    localAddress: plan.exit,
    method: near.method,
    path: `${url.pathname}${url.search}`,
    headers: withoutLogin(near.rawHeaders),
    agent: false,
  });
  far.on('response', (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
    reply.pipe(answer);
    reply.on('error', () => answer.destroy());
  });
  // What happens to the far side happens to the near one: nothing is smoothed over.
  far.on('error', () => near.socket.destroy());
  near.pipe(far);
  answer.on('close', () => far.destroy());
}

function tunnel(near: IncomingMessage, socket: Socket, head: Buffer, plan: ExitPlan): void {
  socket.on('error', () => {});
  if (!loggedIn(near)) {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
    return;
  }
  const name = new URL(`http://${near.url}`).hostname;
  const far = connect({
    host: '127.0.0.1',
    port: plan.names[name] ?? 0,
    localAddress: plan.exit,
  });
  far.on('error', () => socket.destroy());
  far.on('connect', () => {
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    far.write(head);
    far.pipe(socket).pipe(far);
  });
  far.on('close', () => socket.destroy());
  socket.on('close', () => far.destroy());
}

function loggedIn(near: IncomingMessage): boolean {
  const expected = `Basic ${Buffer.from(LOGIN).toString('base64')}`;
  return near.headers['proxy-authorization'] === expected;
}

function withoutLogin(rawHeaders: readonly string[]): string[] {
  const isLogin = (index: number): boolean =>
    rawHeaders[index - (index % 2)]?.toLowerCase() === 'proxy-authorization';
  return rawHeaders.filter((_, index) => !isLogin(index));
}
