import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Asked } from './chaos-asking.ts';
import { judged, type Outcome, violation } from './chaos-judge.ts';
import { bytesOf, pathOf } from './chaos-pages.ts';

/** What the conversation knows of the network around it. */
export interface Surroundings {
  readonly authority: string;
  /** No reply may be silent for longer, in ms. */
  readonly limitMs: number;
  /** For how long the network between client and proxy has held bytes back, in all, in ms. */
  heldMs(): number;
  /** Whether that network brings everything, and soon. */
  isCalm(): boolean;
  hasLeft(): boolean;
}

const LOOK_EVERY_MS = 50;

/** Asks everything at once over one HTTP/2 connection, and judges every stream. */
export async function converseH2(
  inner: TLSSocket,
  requests: readonly Asked[],
  around: Surroundings,
): Promise<readonly Outcome[]> {
  const session = connect(`https://${around.authority}`, { createConnection: () => inner });
  session.on('error', () => {});
  session.on('goaway', () => {});
  const progress = { lastAt: performance.now(), heldBefore: around.heldMs() };
  const news = () =>
    Object.assign(progress, { lastAt: performance.now(), heldBefore: around.heldMs() });
  const quietMs = () =>
    performance.now() - progress.lastAt - (around.heldMs() - progress.heldBefore);
  const watch = setInterval(() => {
    if (quietMs() > around.limitMs) session.destroy();
  }, LOOK_EVERY_MS);
  try {
    await Promise.race([once(session, 'connect'), once(session, 'close')]);
    if (session.destroyed) return [endOf('the connection', around, quietMs() > around.limitMs)];
    return await Promise.all(
      requests.map((asked) => new Stream(session, asked, around, news).outcome()),
    );
  } finally {
    clearInterval(watch);
    session.destroy();
  }
}

/** What a client makes of an end without a reply. */
function endOf(what: string, { isCalm, hasLeft }: Surroundings, isLate: boolean): Outcome {
  if (hasLeft()) return { kind: 'left' };
  if (isLate) return violation(`hang: waiting for ${what}`);
  return isCalm() ? violation(`no answer at all: ${what}`) : { kind: 'broken' };
}

/** One request, and what became of it. */
class Stream {
  readonly #asked: Asked;
  readonly #around: Surroundings;
  readonly #stream: ClientHttp2Stream;
  readonly #pieces: Buffer[] = [];
  #fields: IncomingHttpHeaders | undefined;
  #isWhole = false;
  #heads = 0;
  #error = '';

  constructor(session: ClientHttp2Session, asked: Asked, around: Surroundings, news: () => void) {
    this.#asked = asked;
    this.#around = around;
    const { method, page } = asked;
    const length = page.upload > 0 ? { 'content-length': page.upload } : {};
    this.#stream = session.request(
      { ':method': method, ':path': pathOf(page), ':authority': around.authority, ...length },
      { endStream: page.upload === 0 },
    );
    this.#stream.on('error', (error) => {
      this.#error = error.message;
    });
    this.#stream.on('headers', news).on('trailers', news);
    this.#stream.on('response', (fields) => {
      news();
      this.#heads += 1;
      this.#fields = fields;
    });
    this.#stream.on('data', (piece: Buffer) => {
      news();
      this.#pieces.push(piece);
    });
    this.#stream.on('end', () => {
      // With its connection a stream ends, too, as if all had come.
      this.#isWhole = !session.destroyed;
    });
    if (page.upload > 0) this.#stream.end(bytesOf(`up${page.id}`, page.upload));
  }

  async outcome(): Promise<Outcome> {
    const since = performance.now();
    await new Promise<void>((resolve) => {
      if (this.#stream.closed) resolve();
      else this.#stream.once('close', () => resolve());
    });
    const tookMs = performance.now() - since;
    const isWhole = this.#isWhole && this.#stream.rstCode === 0 && this.#error === '';
    if (this.#heads > 1) return violation('two answers on one stream');
    if (this.#fields === undefined) {
      const what = `${this.#asked.method} (${this.#stream.rstCode} ${this.#error})`;
      return endOf(what, this.#around, tookMs > this.#around.limitMs * 3);
    }
    return isWhole ? this.#judged(this.#fields) : this.#cut();
  }

  #cut(): Outcome {
    return this.#around.hasLeft() ? { kind: 'left' } : { kind: 'broken' };
  }

  #judged(headers: IncomingHttpHeaders): Outcome {
    const fields = new Map(
      Object.entries(headers).map(([name, value]) => [name, String(value)] as const),
    );
    const body = Buffer.concat(this.#pieces);
    const status = Number(headers[':status']);
    return judged({ kind: 'whole', status, fields, body, used: 0 }, this.#asked);
  }
}
