import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { chance } from '../test/support/chance.ts';
import { bytesOf, digest, MEANT, type Page, pageAt } from './chaos-pages.ts';

export interface OriginOptions {
  readonly seed: string;
  /** Told of what must never reach a site. */
  readonly onWrong: (what: string, id: string) => void;
}

/** What the site knows of earlier requests. */
export type Memory = OriginOptions & {
  readonly tries: Map<string, number>;
  readonly posts: Map<string, 'sent' | 'refused'>;
};

/** Which request for it this is, from 1 on. */
export function nth(tries: Map<string, number>, id: string): number {
  const n = (tries.get(id) ?? 0) + 1;
  tries.set(id, n);
  if (tries.size > REMEMBERED) tries.delete([...tries.keys()][0] ?? '');
  return n;
}

const REMEMBERED = 5000;

/** One reply of the site: a page, or a fault. */
export abstract class Answer {
  readonly #req: IncomingMessage | Http2ServerRequest;
  readonly #memory: Memory;
  protected readonly page: Page;
  /** What the seed says of this very reply, from [0, 1). */
  protected readonly roll: (what: string) => number;

  constructor(req: IncomingMessage | Http2ServerRequest, memory: Memory) {
    this.#req = req;
    this.#memory = memory;
    this.page = pageAt(req.url ?? '');
    const { id } = this.page;
    const n = nth(memory.tries, id);
    this.roll = (what) => chance(memory.seed, id, n, what);
  }

  async give(): Promise<void> {
    this.#req.on('error', () => {});
    this.#countPost();
    if (!(await this.#took())) return;
    const fault = this.page.isCalm ? 1 : this.roll('fault');
    if (fault < 0.02) return this.reset();
    if (fault < 0.05) return this.#status(503, 'busy');
    if (fault < 0.06) return this.#status(503, 'busy', { 'Retry-After': '1' });
    if (fault < 0.065) return this.#status(429, 'slow down', { 'Retry-After': '1' });
    if (fault < 0.075) return this.#status(500, 'broken');
    if (fault < 0.08) return this.#status(404, 'not here');
    if (fault < 0.09) return; // Silent until it is hung up on.
    if (fault < 0.11) await pause(400 * this.roll('wait'));
    if (fault < 0.26) return this.spoilt();
    this.#good();
  }

  /** A POST that may have been executed must not come again. */
  #countPost(): void {
    if (this.#req.method !== 'POST') return;
    const { posts, onWrong } = this.#memory;
    const { id } = this.page;
    if (posts.get(id) === 'sent') onWrong('a POST came twice', id);
    posts.set(id, 'sent');
    if (posts.size > REMEMBERED) posts.delete([...posts.keys()][0] ?? '');
  }

  /** Reads the upload; one that ends well is whole, or somebody cut it. */
  async #took(): Promise<boolean> {
    const { id, upload } = this.page;
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of this.#req) chunks.push(chunk as Buffer);
    } catch {
      return false;
    }
    const got = Buffer.concat(chunks);
    if (upload > 0 && !got.equals(bytesOf(`up${id}`, upload))) {
      this.#memory.onWrong(`an upload of ${upload} bytes arrived as ${got.length}`, id);
    }
    return true;
  }

  #status(status: number, body: string, fields: Record<string, string> = {}): void {
    if (fields['Retry-After'] !== undefined) this.takeBackPost();
    const meant = digest(Buffer.from(body));
    const length = String(body.length);
    this.send(status, { [MEANT]: meant, 'Content-Length': length, ...fields }, Buffer.from(body));
  }

  /** The page as it should be. */
  protected whole(): { fields: Record<string, string>; body: Buffer } {
    const { id, size, framing, type } = this.page;
    const plain = bytesOf(id, size);
    const body = framing.startsWith('gzip') ? gzipSync(plain) : plain;
    const fields: Record<string, string> = {
      [MEANT]: digest(body),
      'Content-Type': type === 'html' ? 'text/html' : 'application/octet-stream',
    };
    if (framing.startsWith('gzip')) fields['Content-Encoding'] = 'gzip';
    if (framing === 'length' || framing === 'gzip') fields['Content-Length'] = String(body.length);
    if (type === 'tagged') fields.ETag = `"${id}"`;
    return { fields, body };
  }

  #good(): void {
    const { fields, body } = this.whole();
    const { headers, method } = this.#req;
    const from = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1]);
    if (headers['if-range'] === fields.ETag && from < body.length && fields.ETag !== undefined) {
      const rest = body.subarray(from);
      const range = `bytes ${from}-${body.length - 1}/${body.length}`;
      const told = { ...fields, 'Content-Range': range, 'Content-Length': String(rest.length) };
      return void this.send(206, told, rest);
    }
    if (this.roll('hint') < 0.03 && method !== 'HEAD') this.hint();
    this.send(200, fields, method === 'HEAD' ? Buffer.alloc(0) : body);
  }

  protected abstract send(status: number, fields: Record<string, string>, body: Buffer): void;
  /** A 103 before the reply. */
  protected abstract hint(): void;
  /** No reply, and the end. */
  protected abstract reset(): void;
  /** A reply that is not what its head says, or not all of it. */
  protected abstract spoilt(): Promise<void>;

  protected get method(): string {
    return this.#req.method ?? '';
  }

  /** It was not executed. */
  protected takeBackPost(): void {
    if (this.method === 'POST') this.#memory.posts.set(this.page.id, 'refused');
  }
}

/** The Link of a hint. */
export const HINT = '</style.css>; rel=preload';
