import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { good } from '../support/certificates.ts';
import { type RawServer, rawServer, rawTlsServer } from '../support/raw-server.ts';
import { allReadings } from '../support/request-readers.ts';
import { type Message, readRequests } from './http-reader.ts';
import { type Complaint, shown } from './kind.ts';
import { ORIGIN_HOST } from './world.ts';

/** A request as an origin reads it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly fields: Message['fields'];
}

/** What an origin says of a request: the client can tell from the reply what was asked. */
export function printOf(seen: { method: string; path: string; body: string }): string {
  const { method, path, body } = seen;
  return createHash('sha256').update(`${method} ${path}\0${body}`, 'latin1').digest('hex');
}

interface Log {
  readonly seen: Seen[];
  readonly complaints: Complaint[];
}

/** Origins with and without TLS that read as strictly as can be, and answer each request with its print. */
export class Origin {
  readonly plain: RawServer;
  readonly secure: RawServer;
  readonly #log: Log;

  private constructor(plain: RawServer, secure: RawServer, log: Log) {
    this.plain = plain;
    this.secure = secure;
    this.#log = log;
  }

  static async open(): Promise<Origin> {
    const log: Log = { seen: [], complaints: [] };
    const serve = (socket: Socket) => listen(socket, log);
    const plain = await rawServer(serve, ORIGIN_HOST);
    const secure = await rawTlsServer(serve, good, ORIGIN_HOST);
    return new Origin(plain, secure, log);
  }

  /** What came since it was last asked. */
  take(): { readonly seen: readonly Seen[]; readonly complaint: Complaint | undefined } {
    const seen = this.#log.seen.splice(0);
    const [complaint] = this.#log.complaints.splice(0);
    return { seen, complaint };
  }

  async close(): Promise<void> {
    await Promise.all([this.plain.close(), this.secure.close()]);
  }
}

function listen(socket: Socket, log: Log): void {
  let bytes = '';
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.toString('latin1');
    const { messages, end, taken } = readRequests(bytes, 'any');
    const read = bytes.slice(0, taken);
    bytes = bytes.slice(taken);
    if (end === 'bad') log.complaints.push({ rule: 'origin_saw_nonsense', detail: shown(bytes) });
    const counts = new Set(allReadings(read).map(({ lines }) => lines.length));
    if (counts.size > 1 || !counts.has(messages.length)) {
      log.complaints.push({ rule: 'origin_could_misread', detail: shown(read) });
    }
    for (const message of messages) answer(socket, message, log);
  });
  socket.on('end', () => socket.end());
}

function answer(socket: Socket, message: Message, log: Log): void {
  const [method = '', path = ''] = message.start.split(' ');
  const seen = { method, path, body: message.body, fields: message.fields };
  log.seen.push(seen);
  const body = `it was ${path}`;
  const head = ['HTTP/1.1 200 OK', `Content-Length: ${body.length}`, `X-Print: ${printOf(seen)}`];
  socket.write(`${head.join('\r\n')}\r\n\r\n${method === 'HEAD' ? '' : body}`, 'latin1');
}
