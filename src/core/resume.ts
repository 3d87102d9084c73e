import { fieldValue, fieldValues, type RawHeaders } from './fields.ts';
import { mediaType } from './media-type.ts';
import { httpDate } from './moments.ts';

/** What a download began as: enough to ask for the rest of just this, and to know it again. */
export interface Beginning {
  /** The strong validator for If-Range: an entity tag or a date, in the site's own spelling. */
  readonly validator: string;
  readonly etag: string | undefined;
  /** The content codings, in lower case; ranges count in coded bytes. */
  readonly coding: string;
  /** Bytes of the whole; undefined when the site did not say. */
  readonly totalBytes: number | undefined;
}

/** Why an answer is not the rest of what began. */
export type Misfit = 'not_partial' | 'several_ranges' | 'other_range' | 'changed';

/** What an answer to the question for the rest is. `complete`: there is no rest. */
export type Fit =
  | { readonly kind: 'rest'; readonly totalBytes: number }
  | { readonly kind: 'complete' }
  | { readonly kind: 'misfit'; readonly misfit: Misfit };

interface Head {
  readonly status: number;
  readonly rawHeaders: RawHeaders;
}

/** They have no end, so there is no rest. */
const ENDLESS: ReadonlySet<string | undefined> = new Set([
  'text/event-stream',
  'multipart/x-mixed-replace',
]);
// RFC 7232 section 2.2.2: so far apart, the file was not changed twice within the second it is dated.
const SETTLED_MS = 60_000;

/** What began, if its rest can be asked for: a whole GET with a strong validator from a site that has ranges. */
export function beginningOf(
  request: { readonly method: string; readonly rawHeaders: RawHeaders },
  reply: Head,
  nowWall: number,
): Beginning | undefined {
  if (request.method !== 'GET' || reply.status !== 200) return undefined;
  if (fieldValue(request.rawHeaders, 'range') !== undefined) return undefined;
  const { rawHeaders } = reply;
  if (fieldValue(rawHeaders, 'accept-ranges')?.toLowerCase() === 'none') return undefined;
  if (ENDLESS.has(mediaType(fieldValue(rawHeaders, 'content-type')))) return undefined;
  const validator = strongValidator(rawHeaders, nowWall);
  if (validator === undefined) return undefined;
  const etag = fieldValue(rawHeaders, 'etag');
  return { validator, etag, coding: codingOf(rawHeaders), totalBytes: lengthOf(rawHeaders) };
}

/** The request's own fields with the question for the rest; it is the first answer that is continued, so no others are wanted. */
export function askingForRest(rawHeaders: RawHeaders, beginning: Beginning, offset: number) {
  const asked: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? '';
    if (!REPLACED.has(name.toLowerCase())) asked.push(name, rawHeaders[i + 1] ?? '');
  }
  return [...asked, 'Range', `bytes=${offset}-`, 'If-Range', beginning.validator];
}

const REPLACED: ReadonlySet<string> = new Set(['if-range', 'if-none-match', 'if-modified-since']);

/** Whether an answer goes on at `offset` with the very bytes that are missing. */
export function fitOf(beginning: Beginning, offset: number, reply: Head): Fit {
  const { status, rawHeaders } = reply;
  if (status === 416) return fitOfNothing(beginning, offset, rawHeaders);
  if (status !== 206) return misfit('not_partial');
  if (mediaType(fieldValue(rawHeaders, 'content-type')) === 'multipart/byteranges') {
    return misfit('several_ranges');
  }
  const range = contentRange(fieldValues(rawHeaders, 'content-range'));
  if (range === undefined || range.first !== offset) return misfit('other_range');
  if (beginning.totalBytes !== undefined && range.totalBytes !== beginning.totalBytes) {
    return misfit('changed');
  }
  if (fieldValue(rawHeaders, 'etag') !== beginning.etag) return misfit('changed');
  if (!sameCoding(beginning, rawHeaders)) return misfit('changed');
  return { kind: 'rest', totalBytes: range.totalBytes };
}

/** What does not fit, in words. */
export function explainMisfit(misfit: Misfit, status: number): string {
  switch (misfit) {
    case 'not_partial':
      return `the site answered ${status} where the rest was asked for`;
    case 'several_ranges':
      return 'the site answered with several ranges where the rest was asked for';
    case 'other_range':
      return 'the site answered with another range than the rest';
    case 'changed':
      return 'the document has changed since the download began';
  }
}

/**
 * "Nothing lies behind what you have" proves that all has come, though its end was not seen; not so where a
 * content coding may have ended early too.
 */
function fitOfNothing(beginning: Beginning, offset: number, rawHeaders: RawHeaders): Fit {
  if (beginning.coding !== '') return misfit('not_partial');
  const said = fieldValue(rawHeaders, 'content-range');
  const etag = fieldValue(rawHeaders, 'etag');
  if (etag !== undefined && etag !== beginning.etag) return misfit('changed');
  return said === `bytes */${offset}` ? { kind: 'complete' } : misfit('not_partial');
}

/** RFC 9110 section 13.1.5: an entity tag, or a date only where there is no tag at all; and only a strong one. */
function strongValidator(rawHeaders: RawHeaders, nowWall: number): string | undefined {
  const etag = fieldValue(rawHeaders, 'etag');
  if (etag !== undefined) return /^"[\x21\x23-\x7e\x80-\xff]*"$/.test(etag) ? etag : undefined;
  const modified = fieldValue(rawHeaders, 'last-modified');
  const now = { wallMs: nowWall };
  const modifiedAt = httpDate(modified ?? '', now);
  const sentAt = httpDate(fieldValue(rawHeaders, 'date') ?? '', now);
  if (modifiedAt === undefined || sentAt === undefined) return undefined;
  return sentAt - modifiedAt >= SETTLED_MS ? modified : undefined;
}

/** A 206 may leave the coding out, as it may all that the client knows already; a tag vouches for it, a date does not. */
function sameCoding({ etag, coding }: Beginning, rawHeaders: RawHeaders): boolean {
  const told = codingOf(rawHeaders);
  return told === coding || (told === '' && etag !== undefined);
}

function codingOf(rawHeaders: RawHeaders): string {
  return fieldValues(rawHeaders, 'content-encoding')
    .flatMap((value) => value.toLowerCase().split(','))
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .join(',');
}

function lengthOf(rawHeaders: RawHeaders): number | undefined {
  // RFC 9112 section 6.3: Transfer-Encoding overrides Content-Length.
  if (fieldValue(rawHeaders, 'transfer-encoding') !== undefined) return undefined;
  const length = fieldValue(rawHeaders, 'content-length');
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function contentRange(values: readonly string[]) {
  const parts = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(values.join());
  if (!parts) return undefined;
  const [first = 0, last = 0, totalBytes = 0] = parts.slice(1).map(Number);
  return first <= last && last < totalBytes ? { first, totalBytes } : undefined;
}

const misfit = (misfit: Misfit): Fit => ({ kind: 'misfit', misfit });
