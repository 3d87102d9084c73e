import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { good } from '../test/support/certificates.ts';
import { Answer, HINT, type Memory } from './chaos-answer.ts';

/** The same site in HTTP/2, with the faults that only this has. */
export function createH2Origin(memory: Memory): Http2SecureServer {
  const server = createSecureServer({ ...good, allowHTTP1: false });
  server.on('request', (request, response) => {
    void new H2Answer(request, response, memory).give();
  });
  server.on('sessionError', () => {});
  return server;
}

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } =
  constants;

/** What each connection was asked, by stream. */
const answering = new WeakMap<ServerHttp2Session, Map<number, H2Answer>>();

class H2Answer extends Answer {
  readonly #response: Http2ServerResponse;
  readonly #stream: ServerHttp2Stream;

  constructor(request: Http2ServerRequest, response: Http2ServerResponse, memory: Memory) {
    super(request, memory);
    this.#response = response;
    this.#stream = response.stream;
    this.#stream.on('error', () => {});
    const session = this.#stream.session as ServerHttp2Session;
    const others = answering.get(session) ?? new Map<number, H2Answer>();
    answering.set(session, others.set(this.#stream.id ?? 0, this));
  }

  protected override send(status: number, fields: Record<string, string>, body: Buffer): void {
    if (!this.#stream.destroyed) this.#response.writeHead(status, fields).end(body);
  }

  protected override hint(): void {
    if (!this.#stream.destroyed) this.#stream.additionalHeaders({ ':status': 103, link: HINT });
  }

  /** Before a byte of reply: the whole connection, or this stream alone. */
  protected override reset(): void {
    const how = this.roll('reset');
    if (how < 0.3) return void this.#stream.session?.destroy();
    if (how < 0.5) return void this.#goAway(this.#stream.id ?? 0);
    if (how < 0.7) return void this.#stream.close(NGHTTP2_INTERNAL_ERROR);
    // Not processed, says the protocol: even a POST may come again.
    if (how < 0.85) {
      this.takeBackPost();
      return void this.#stream.close(NGHTTP2_REFUSED_STREAM);
    }
    this.#goAway((this.#stream.id ?? 0) - 2);
  }

  protected override async spoilt(): Promise<void> {
    const { fields, body } = this.whole();
    const kinds = [
      'cut',
      'cut',
      'short',
      'session',
      'goaway',
      'drip',
      'stall',
      'trailers',
      'hints',
    ];
    const kind = kinds[Math.floor(this.roll('spoilt') * kinds.length)] ?? '';
    const at = Math.floor(this.roll('at') * body.length);
    const stream = this.#stream;
    if (stream.destroyed) return;
    const length = { ...fields, 'Content-Length': String(body.length) };
    const isBodiless = this.method === 'HEAD' || body.length === 0;
    if (isBodiless || kind === 'hints') {
      if (!isBodiless) this.hint();
      stream.respond({ ':status': 200, ...length }, { endStream: isBodiless });
      return void (isBodiless || stream.end(body));
    }
    switch (kind) {
      case 'cut':
        stream.respond({ ':status': 200, ...length });
        return void stream.write(body.subarray(0, at), () => stream.close(this.#code()));
      case 'short':
        stream.respond({ ':status': 200, ...fields, 'Content-Length': String(body.length + 1) });
        return void stream.end(body);
      case 'session':
        stream.respond({ ':status': 200, ...length });
        return void stream.write(body.subarray(0, at), () => stream.session?.destroy());
      case 'goaway':
        // Goes on with what it has, and takes no more.
        stream.respond({ ':status': 200, ...fields });
        stream.session?.close();
        return void stream.end(body);
      case 'drip':
        stream.respond({ ':status': 200, ...fields });
        for (let from = 0; from < body.length && !stream.destroyed; from += STEP) {
          stream.write(body.subarray(from, from + STEP));
          await pause(25);
        }
        return void stream.end();
      case 'stall':
        stream.respond({ ':status': 200, ...length });
        return void stream.write(body.subarray(0, at));
      default:
        this.#response.addTrailers({ 'x-end': 'yes' });
        this.send(200, fields, body);
    }
  }

  /** The last word on a connection: streams behind `lastStream` were not processed, it says, so that must be true. */
  #goAway(lastStream: number): void {
    const { session } = this.#stream;
    for (const [id, other] of answering.get(session as ServerHttp2Session) ?? []) {
      if (id > lastStream) other.takeBackPost();
    }
    session?.goaway(NGHTTP2_NO_ERROR, Math.max(0, lastStream));
    session?.destroy();
  }

  #code(): number {
    const codes = [NGHTTP2_NO_ERROR, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR];
    return codes[Math.floor(this.roll('code') * codes.length)] ?? NGHTTP2_CANCEL;
  }
}

/** Bytes of each piece of a reply that comes slowly. */
const STEP = 16_384;
