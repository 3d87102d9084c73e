// Run by load.ts as a process of its own: sites on many loopback addresses, with small pages, slow bodies and echoes.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Server } from 'node:net';
import { good } from '../test/support/certificates.ts';

/** Where a site listens. */
export interface Site {
  readonly host: string;
  readonly plain: number;
  readonly secure: number;
  readonly echo: number;
}

/** What the process tells once everything listens. */
export interface SitesUp {
  readonly sites: readonly Site[];
}

const count = Number(process.argv[2]);
const dribbleMs = Number(process.argv[3]);
const PAGE = `<html>${'content '.repeat(250)}</html>`;
const SLICES = 20;
const PIECE = Buffer.alloc(100, 'slow ');
const slow = new Set<ServerResponse>();

const sites: Site[] = [];
for (let at = 1; at <= count; at++) sites.push(await open(`127.1.${at >> 8}.${at & 255}`));
// A part of the bodies each time, so that the pieces come evenly.
let turn = 0;
setInterval(() => {
  turn = (turn + 1) % SLICES;
  let n = 0;
  for (const res of slow) if (n++ % SLICES === turn) res.write(PIECE);
}, dribbleMs / SLICES);
process.on('disconnect', () => process.exit(0));
process.send?.({ sites } satisfies SitesUp);

async function open(host: string): Promise<Site> {
  const echo = createPlainServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  });
  const [plain, secure, third] = await Promise.all([
    listening(createServer(answer), host),
    listening(createSecureServer(good, answer), host),
    listening(echo, host),
  ]);
  return { host, plain: plain ?? 0, secure: secure ?? 0, echo: third ?? 0 };
}

async function listening(server: Server, host: string): Promise<number> {
  server.listen({ host, port: 0, backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function answer(req: IncomingMessage, res: ServerResponse): void {
  if (!req.url?.startsWith('/slow')) {
    res.writeHead(200, { 'Content-Type': 'text/html', 'Content-Length': PAGE.length }).end(PAGE);
    return;
  }
  // Files stream from their first byte; pages are held for a while until they are judged.
  const type = req.url === '/slow/page' ? 'text/html' : 'application/octet-stream';
  res.writeHead(200, { 'Content-Type': type });
  res.write(PIECE);
  slow.add(res);
  res.on('close', () => slow.delete(res));
}
