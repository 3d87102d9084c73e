import { fieldValue } from '../core/fields.ts';
import type { Letter } from '../store/letter.ts';
import { bodyText, type FullLetter } from './full-letter.ts';

const CREATOR = { name: 'Forbear', version: '1' };

/** An HTTP Archive 1.2 with one entry per letter: the request, and what a redrive brought or its last try met. */
export async function* harOf(letters: AsyncIterable<FullLetter>): AsyncGenerator<string> {
  yield `{"log":{"version":"1.2","creator":${JSON.stringify(CREATOR)},"pages":[],"entries":[`;
  let separator = '\n';
  for await (const full of letters) {
    yield separator + JSON.stringify(entryOf(full));
    separator = ',\n';
  }
  yield '\n]}}\n';
}

function entryOf(full: FullLetter) {
  const { letter } = full;
  const last = letter.attempts.at(-1);
  const time = Math.max(0, last?.durationMs ?? 0);
  return {
    startedDateTime: new Date(last?.at ?? letter.parkedAt).toISOString(),
    time,
    request: requestOf(full),
    response: responseOf(full),
    cache: {},
    timings: { send: 0, wait: time, receive: 0 },
    comment: `${letter.id}: ${letter.state}, ${letter.reason}. ${last?.sentence ?? ''}`.trim(),
  };
}

function requestOf({ letter, body }: FullLetter) {
  const text = body?.length ? bodyText(body) : undefined;
  const mimeType = fieldValue(letter.rawHeaders, 'content-type') ?? 'application/octet-stream';
  return {
    method: letter.method,
    url: letter.url,
    httpVersion: 'HTTP/1.1',
    cookies: cookiesOf(letter.rawHeaders),
    headers: fieldsOf(letter.rawHeaders),
    queryString: queryOf(letter.url),
    headersSize: -1,
    bodySize: letter.bodyBytes,
    ...(text === undefined ? {} : { postData: postData(mimeType, text) }),
  };
}

/** The format knows no encoding for a posted body: one that is no text is said to be base64 in the comment. */
function postData(mimeType: string, { encoding, text }: ReturnType<typeof bodyText>) {
  const note = encoding === 'base64' ? { comment: 'base64' } : {};
  return { mimeType, params: [], text, ...note };
}

function responseOf({ letter, response }: FullLetter) {
  const status = response?.status ?? letter.attempts.at(-1)?.status ?? 0;
  const rawHeaders = response?.rawHeaders ?? [];
  const text = response && bodyText(response.body);
  return {
    status,
    statusText: response?.reason ?? '',
    httpVersion: 'HTTP/1.1',
    cookies: [],
    headers: fieldsOf(rawHeaders),
    content: {
      size: response?.bytes ?? 0,
      mimeType: fieldValue(rawHeaders, 'content-type') ?? 'x-unknown',
      ...(text === undefined ? {} : { text: text.text }),
      ...(text?.encoding === 'base64' ? { encoding: 'base64' } : {}),
    },
    redirectURL: fieldValue(rawHeaders, 'location') ?? '',
    headersSize: -1,
    bodySize: response?.bytes ?? -1,
  };
}

function fieldsOf(raw: Letter['rawHeaders']): { name: string; value: string }[] {
  const fields: { name: string; value: string }[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    fields.push({ name: raw[i] ?? '', value: raw[i + 1] ?? '' });
  }
  return fields;
}

function cookiesOf(rawHeaders: readonly string[]): { name: string; value: string }[] {
  const pieces = (fieldValue(rawHeaders, 'cookie') ?? '').split(';');
  return pieces.flatMap((piece) => {
    const at = piece.indexOf('=');
    return at === -1
      ? []
      : [{ name: piece.slice(0, at).trim(), value: piece.slice(at + 1).trim() }];
  });
}

function queryOf(url: string): { name: string; value: string }[] {
  if (!URL.canParse(url)) return [];
  return [...new URL(url).searchParams].map(([name, value]) => ({ name, value }));
}
