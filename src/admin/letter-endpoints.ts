import { type Answer, type Endpoint, json, missing, problem } from './endpoint.ts';
import { IDS } from './letter-ids.ts';
import { LETTER_QUERY, letterFilter } from './letter-query.ts';
import { PAGE_QUERY, pageSize } from './paging.ts';
import { type Redrives, redriveEndpoint } from './redrive-endpoint.ts';
import { listOf, record, ref } from './schemas.ts';
import type { LetterDesk, StoredReply } from './views.ts';

const FORMATS = { jsonl: 'application/x-ndjson', curl: 'text/plain', har: 'application/json' };

/** What there is to know of dead letters, and to do with them. */
export function letterEndpoints(letters: LetterDesk, redrives: Redrives): readonly Endpoint[] {
  return [
    {
      method: 'GET',
      path: '/dead-letters',
      summary: 'Dead letters, the newest first. Credentials are blanked.',
      query: { ...PAGE_QUERY, ...LETTER_QUERY },
      answers: { 200: { description: 'A page of letters.', schema: listOf('DeadLetter') } },
      handle: async ({ query }) => {
        const cursor = query.cursor === undefined ? {} : { cursor: String(query.cursor) };
        const page = await letters.list({
          ...{ ...letterFilter(query), ...cursor, limit: pageSize(query) },
        });
        return json({ items: page.items, next: page.next ?? null });
      },
    },
    {
      method: 'DELETE',
      path: '/dead-letters',
      summary: 'Drops letters for good, whatever their state.',
      body: record({ ids: IDS }),
      answers: { 200: { description: 'How many there were.', schema: DROPPED } },
      handle: async ({ body }) => json({ dropped: await letters.drop(body.ids as string[]) }),
    },
    {
      method: 'GET',
      path: '/dead-letters/export',
      summary: 'Letters with their bodies and replies, to take away.',
      query: {
        ...LETTER_QUERY,
        format: { enum: Object.keys(FORMATS), default: 'jsonl' },
        with_secrets: { type: 'boolean', default: false },
      },
      answers: {
        200: {
          description: 'JSON lines, curl commands, or an HTTP Archive.',
          contentType: 'application/x-ndjson',
        },
      },
      handle: async ({ query }) => {
        const format = (query.format ?? 'jsonl') as keyof typeof FORMATS;
        const withSecrets = query.with_secrets === true;
        const pieces = await begun(letters.export(letterFilter(query), { format, withSecrets }));
        return { kind: 'text', contentType: `${FORMATS[format]}; charset=utf-8`, pieces };
      },
    },
    redriveEndpoint(letters, redrives),
    {
      method: 'GET',
      path: '/dead-letters/{id}',
      summary: 'One letter. Credentials are blanked.',
      answers: { 200: { description: 'The letter.', schema: ref('DeadLetter') } },
      handle: async ({ params }) => {
        const letter = await letters.get(params.id ?? '');
        return letter ? json(letter) : missing(`There is no dead letter ${params.id}.`);
      },
    },
    {
      method: 'DELETE',
      path: '/dead-letters/{id}',
      summary: 'Drops one letter for good.',
      answers: { 200: { description: 'It was there.', schema: DROPPED } },
      handle: async ({ params }) => {
        const dropped = await letters.drop([params.id ?? '']);
        return dropped > 0 ? json({ dropped }) : missing(`There is no dead letter ${params.id}.`);
      },
    },
    bodyEndpoint(letters),
    responseEndpoint(letters),
  ];
}

/** Has the first piece at hand: trouble with the store is told by a status as long as it can be. */
async function begun(pieces: AsyncIterable<string>): Promise<AsyncIterable<string>> {
  const source = pieces[Symbol.asyncIterator]();
  const first = await source.next();
  return (async function* all() {
    if (first.done) return;
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => source };
  })();
}

function bodyEndpoint(letters: LetterDesk): Endpoint {
  return {
    method: 'GET',
    path: '/dead-letters/{id}/body',
    summary: 'The body of the request, byte for byte.',
    answers: { 200: { description: 'The body.', contentType: 'application/octet-stream' } },
    handle: async ({ params }) => {
      const id = params.id ?? '';
      const letter = await letters.get(id);
      if (!letter) return missing(`There is no dead letter ${id}.`);
      const body = await letters.body(id);
      if (!body) return problem(404, 'no_body', `The body of dead letter ${id} was not kept.`);
      const headers = { 'Content-Type': 'application/octet-stream', ...TO_SAVE };
      return { kind: 'bytes', status: 200, headers, body };
    },
  };
}

function responseEndpoint(letters: LetterDesk): Endpoint {
  return {
    method: 'GET',
    path: '/dead-letters/{id}/response',
    summary:
      'The body of the reply that a redrive has brought, as it came; Forbear-Response-Status has its status.',
    answers: {
      200: { description: 'The body.', contentType: 'application/octet-stream' },
    },
    handle: async ({ params }) => {
      const id = params.id ?? '';
      if (!(await letters.get(id))) return missing(`There is no dead letter ${id}.`);
      const reply = await letters.response(id);
      return reply
        ? replyAnswer(reply)
        : problem(404, 'no_response', `No redrive of dead letter ${id} has brought a reply yet.`);
    },
  };
}

const DROPPED = record({ dropped: { type: 'integer', minimum: 0 } });

/** What a site sent is for saving, not for showing: as a page of this origin it could use the API. */
const TO_SAVE = {
  'Content-Disposition': 'attachment',
  'Content-Security-Policy': "default-src 'none'; sandbox",
};

function replyAnswer(reply: StoredReply): Answer {
  const type = fieldOf(reply, 'content-type') ?? 'application/octet-stream';
  // What is cut cannot be decoded by a client on the way.
  const coding = reply.truncated ? undefined : fieldOf(reply, 'content-encoding');
  return {
    kind: 'bytes',
    status: 200,
    headers: {
      'Content-Type': type,
      ...(coding === undefined ? {} : { 'Content-Encoding': coding }),
      ...TO_SAVE,
      'Forbear-Response-Status': String(reply.status),
      'Forbear-Response-Truncated': String(reply.truncated),
    },
    body: reply.body,
  };
}

function fieldOf({ rawHeaders }: StoredReply, name: string): string | undefined {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const value = rawHeaders[i + 1] ?? '';
    if (rawHeaders[i]?.toLowerCase() === name && SAFE.test(value)) return value;
  }
  return undefined;
}

const SAFE = /^[\x20-\x7e]{1,500}$/;
