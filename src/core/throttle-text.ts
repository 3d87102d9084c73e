import { fieldValue } from './fields.ts';
import { isPage } from './media-type.ts';
import { readableText, titleText } from './readable-text.ts';
import type { ResponseReply } from './verdict.ts';

const MAX_JSON = 2048;
const MAX_TEXT = 400;
const MAX_SOURCE = 16_384;
const MAX_SAID = 120;
const STATUSES: readonly number[] = [200, 202, 203, 403, 503];

/** What throttles call themselves. Whole phrases: "rate limit: 100" in a quotation of terms is none of them. */
const PHRASES: readonly string[] = [
  'too many requests',
  'too_many_requests',
  'toomanyrequests',
  'rate limited',
  'rate-limited',
  'rate_limited',
  'ratelimited',
  'rate limit exceeded',
  'rate limit has been exceeded',
  'rate_limit_exceeded',
  'ratelimitexceeded',
  'rate limit reached',
  'exceeded the rate limit',
  'exceeded your rate limit',
  'request limit exceeded',
  'request was throttled',
  'throttlingexception',
  'requests too frequent',
  'zu viele anfragen',
  'trop de requêtes',
  'demasiadas solicitudes',
  'demasiadas peticiones',
  'troppe richieste',
  'muitas solicitações',
  'muitas requisições',
  'te veel verzoeken',
  'zbyt wiele żądań',
  'слишком много запросов',
  'çok fazla istek',
  'リクエストが多すぎます',
  '请求过于频繁',
  '请求太频繁',
  '访问过于频繁',
  '요청이 너무 많습니다',
];

/** The words with which a small reply says "send less" without the status for it; undefined when it does not. */
export function throttleWords(reply: ResponseReply): string | undefined {
  const { status, rawHeaders, body } = reply;
  if (body.kind !== 'seen' || body.end !== 'complete' || !STATUSES.includes(status))
    return undefined;
  if (!isPage(fieldValue(rawHeaders, 'content-type'))) return undefined;
  const text = body.text.trim();
  if (text.startsWith('{')) return inJson(text);
  return text.startsWith('[') ? undefined : inPage(text);
}

/** A title or first words of a page that has hardly any others. */
function inPage(html: string): string | undefined {
  if (html.length > MAX_SOURCE) return undefined;
  const text = readableText(html, MAX_TEXT + 1).toLowerCase();
  if (text.length > MAX_TEXT) return undefined;
  const title = titleText(html);
  const opening = title === '' ? text : title;
  return throttling(opening) ? opening : undefined;
}

/** An object that is an error or holds one, whose words are a throttle's. */
function inJson(text: string): string | undefined {
  if (text.length > MAX_JSON) return undefined;
  const top = parsed(text);
  if (!isObject(top)) return undefined;
  const { error, errors, fault } = top;
  const inner = [error, Array.isArray(errors) ? errors[0] : errors, fault].map(errorWords);
  const words = inner.find((found) => found !== undefined);
  if (words !== undefined) return words;
  // A message is anybody's text: at the top it counts where the object calls itself a failure.
  return wordsUnder(CODE_KEYS, top) ?? (failed(top) ? wordsUnder(MESSAGE_KEYS, top) : undefined);
}

function errorWords(part: unknown): string | undefined {
  if (throttling(part)) return part;
  return isObject(part) ? wordsUnder([...CODE_KEYS, ...MESSAGE_KEYS], part) : undefined;
}

function wordsUnder(
  keys: readonly string[],
  part: Readonly<Record<string, unknown>>,
): string | undefined {
  return keys.map((key) => part[key]).find(throttling);
}

const CODE_KEYS = [
  'error',
  'code',
  'error_code',
  'errorCode',
  'type',
  'reason',
  'error_description',
];
const MESSAGE_KEYS = ['message', 'msg', 'detail', 'title', 'description', 'errorMessage'];
function throttling(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_SAID) return false;
  const lower = value.toLowerCase();
  return PHRASES.some((phrase) => lower.includes(phrase));
}

function failed(part: Readonly<Record<string, unknown>>): boolean {
  if (part.success === false || part.ok === false || part.error) return true;
  return Object.keys(part).length === 1 || STATE_KEYS.some((key) => isFailure(part[key]));
}

const STATE_KEYS = ['code', 'status', 'statusCode', 'status_code', 'error_code', 'errorCode'];

const isFailure = (state: unknown): boolean =>
  typeof state === 'number'
    ? state >= 400
    : state === 'error' || state === 'fail' || state === '429';

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
