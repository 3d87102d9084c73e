import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Answer, Problem } from './endpoint.ts';

const STALL_MS = 30_000;
const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

/** Sets what every answer says. */
export function prepare(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
}

/** Sends an answer whole, or in pieces as fast as the client takes them. Never rejects. */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Exclude<Answer, { kind: 'events' }>,
): Promise<void> {
  switch (answer.kind) {
    case 'json':
      return whole(response, answer.status, {
        headers: { 'Content-Type': 'application/json; charset=utf-8' },
        body: `${JSON.stringify(answer.body)}\n`,
      });
    case 'bytes':
      return whole(response, answer.status, answer);
    case 'problem':
      return refuse(request, response, answer);
    case 'text':
      if (request.method === 'HEAD') {
        return void response.writeHead(200, { 'Content-Type': answer.contentType }).end();
      }
      return pour(response, answer);
  }
}

function whole(
  response: ServerResponse,
  status: number,
  { headers, body }: { headers: Readonly<Record<string, string>>; body: string | Uint8Array },
): void {
  response.writeHead(status, { ...headers, 'Content-Length': Buffer.byteLength(body) });
  // Node leaves the body of an answer to HEAD out by itself.
  response.end(body);
}

/** What is still coming of a refused request is not waited for. */
function refuse(request: IncomingMessage, response: ServerResponse, refusal: Problem): void {
  const { status, reason, detail, headers = {} } = refusal;
  const title = STATUS_CODES[status] ?? 'Error';
  const body = { type: `urn:forbear:admin:${reason}`, title, status, reason, detail };
  const closes = request.complete ? {} : { Connection: 'close' };
  whole(response, status, {
    headers: { 'Content-Type': 'application/problem+json', ...headers, ...closes },
    body: `${JSON.stringify(body)}\n`,
  });
}

async function pour(
  response: ServerResponse,
  { contentType, pieces }: Extract<Answer, { kind: 'text' }>,
): Promise<void> {
  const source = pieces[Symbol.asyncIterator]();
  try {
    response.writeHead(200, { 'Content-Type': contentType });
    response.flushHeaders();
    // Between pieces there may be long silence; between a piece and its taking there may not.
    response.socket?.setTimeout(0);
    for (let next = await source.next(); !next.done; next = await source.next()) {
      if (response.destroyed) return;
      if (!response.write(next.value)) await taken(response);
    }
    response.end();
  } catch {
    // The head is out: a cut is all that is left to say that it is not whole.
    response.destroy();
  } finally {
    void source.return?.();
  }
}

/** Rejects when the client leaves, or takes nothing for long. */
async function taken(response: ServerResponse): Promise<void> {
  const over = new AbortController();
  const signal = AbortSignal.any([over.signal, AbortSignal.timeout(STALL_MS)]);
  try {
    await Promise.race([
      once(response, 'drain', { signal }),
      once(response, 'close', { signal }).then(() => Promise.reject(new Error('the client left'))),
    ]);
  } finally {
    over.abort();
  }
}
