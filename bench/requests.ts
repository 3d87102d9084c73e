import { type Agent, request } from 'node:http';

/** A request sent to a proxy in absolute form. */
export interface Ask {
  readonly url: string;
  readonly proxyPort: number;
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** What came of it; `complete` is false where the body ended before its length. */
export type Answer =
  | {
      readonly kind: 'page';
      readonly status: number;
      readonly body: string;
      readonly complete: boolean;
      readonly cookie: string | undefined;
      readonly retryAfterMs: number | undefined;
    }
  | { readonly kind: 'failed' };

/** Sends one request, once. Never rejects. */
export function ask({ url, proxyPort, agent, headers, signal }: Ask): Promise<Answer> {
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port: proxyPort, path: url, agent, signal };
    const sent = request({ ...options, headers: { Host: new URL(url).host, ...headers } });
    sent.on('error', () => resolve({ kind: 'failed' }));
    sent.on('response', (reply) => {
      const seconds = Number(reply.headers['retry-after'] ?? Number.NaN);
      let body = '';
      reply.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      reply.on('error', () => {});
      reply.on('close', () =>
        resolve({
          kind: 'page',
          status: reply.statusCode ?? 0,
          body,
          complete: reply.complete,
          cookie: reply.headers['set-cookie']?.[0]?.split(';')[0],
          retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
        }),
      );
    });
    sent.end();
  });
}
