import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

/** A site behind exits of its own: `pause*` hosts ask to be left alone for an hour, `/blocked` turns the address away. */
export interface TrialSite {
  /** URLs of the exits, for a list of routes. */
  readonly exits: readonly string[];
  /** Every request that reached the site: exit, host, path, instant. */
  readonly asked: readonly Asked[];
  close(): void;
}

export interface Asked {
  readonly exit: string;
  readonly host: string;
  readonly path: string;
}

const HOUR_S = 3600;

/** Starts the site and `size` exits with addresses 127.0.9.1 and up. */
export async function startTrialSite(size: number, slowMs = 0): Promise<TrialSite> {
  const asked: Asked[] = [];
  const server = createServer((incoming, reply) => {
    const exit = incoming.socket.remoteAddress ?? '';
    const { host = '' } = incoming.headers;
    const path = incoming.url ?? '';
    asked.push({ exit, host, path });
    const answer = () => {
      if (host.startsWith('pause')) reply.writeHead(429, { 'Retry-After': HOUR_S }).end('later');
      else if (path.startsWith('/blocked')) reply.writeHead(403).end('Access denied');
      else if (path.startsWith('/broken')) reply.writeHead(500).end('broken');
      else reply.end(exit);
    };
    if (slowMs === 0) answer();
    else setTimeout(answer, slowMs);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const proxies = await Promise.all(
    Array.from({ length: size }, (_, n) => startExit(`127.0.9.${n + 1}`, port)),
  );
  return {
    exits: proxies.map((proxy) => proxy.url),
    asked,
    close: () => {
      for (const one of [server, ...proxies.map((proxy) => proxy.server)]) {
        one.closeAllConnections();
        one.close();
      }
    },
  };
}

async function startExit(exit: string, port: number) {
  const server = createServer((near, answer) => {
    const url = new URL(near.url ?? '');
    const far = request({
      ...{ host: '127.0.0.1', port, localAddress: exit, agent: false, method: near.method },
      path: `${url.pathname}${url.search}`,
      headers: { host: url.host },
    });
    far.on('response', (reply) => {
      answer.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
      reply.pipe(answer);
    });
    far.on('error', () => near.socket.destroy());
    near.pipe(far);
    answer.on('close', () => far.destroy());
  });
  server.on('connect', (_, socket) => {
    const far = connect({ host: '127.0.0.1', port, localAddress: exit }, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    far.on('error', () => socket.destroy());
    socket.on('error', () => far.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
