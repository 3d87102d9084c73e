import { fieldValue } from './fields.ts';
import { mediaType } from './media-type.ts';
import { pathPattern } from './path-pattern.ts';
import { readableText, titleText } from './readable-text.ts';
import { shortHash, sketch } from './sketch.ts';
import type { BodySight, ResponseReply } from './verdict.ts';

/** What is remembered of a reply, to hold later ones against: no text of it. */
export interface PageFacts {
  readonly kind: 'page' | 'data' | 'redirect';
  /** Short names of the URL's path and query, and of its path pattern. */
  readonly url: string;
  readonly pattern: string;
  /** Characters that were looked at. */
  readonly size: number;
  /** Short names of the title's words. */
  readonly words: readonly string[];
  /** Whether the page ends as HTML does; undefined where its end was not seen, or it is no HTML. */
  readonly closed: boolean | undefined;
  readonly sketch: string;
  /** How many entries a list of data has, or how many elements the user's selector finds. */
  readonly items: number | undefined;
  /** Short name of where a redirect leads, without its query. */
  readonly to: string | undefined;
}

export interface FactsOf {
  /** Path and query as asked for. */
  readonly path: string;
  /** Characters that are looked at: a text as long as this may go on. */
  readonly maxChars: number;
  /** Counts what the user expects on such pages; undefined where nothing is said. */
  countItems(html: string): number | undefined;
}

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** Where an emptied list could hide is small; counting larger ones would cost more than it tells. */
const MAX_COUNTED = 65_536;
const MAX_WORDS = 12;
const MAX_READ = 8192;

/** The facts of a good-looking reply or a redirect; undefined for all else, and for what was not looked at whole. */
export function pageFacts(reply: ResponseReply, of: FactsOf): PageFacts | undefined {
  const { status, rawHeaders, body } = reply;
  if (REDIRECTS.includes(status)) return redirectFacts(rawHeaders, of.path);
  if (status < 200 || status > 299 || status === 204 || status === 206) return undefined;
  if (body.kind !== 'seen' || body.coding !== 'ok') return undefined;
  if (body.end !== 'complete' && body.end !== 'pending') return undefined;
  const kind = kindOf(fieldValue(rawHeaders, 'content-type'), body.text);
  return kind && bodyFacts(kind, body, of);
}

function bodyFacts(
  kind: 'page' | 'html' | 'data',
  body: Extract<BodySight, { kind: 'seen' }>,
  of: FactsOf,
): PageFacts {
  const { text } = body;
  const whole = body.end === 'complete' && text.length < of.maxChars;
  return {
    kind: kind === 'html' ? 'page' : kind,
    ...names(of.path),
    size: text.length,
    words: kind === 'data' ? [] : wordsOf(titleText(text)),
    closed: kind === 'html' && whole ? endsAsHtml(text) : undefined,
    sketch: sketch(kind === 'data' ? text : readableText(text, MAX_READ)),
    items: kind === 'data' ? (whole ? entries(text) : undefined) : of.countItems(text),
    to: undefined,
  };
}

function redirectFacts(rawHeaders: readonly string[], path: string): PageFacts | undefined {
  const location = fieldValue(rawHeaders, 'location')?.split(/[?#]/, 1)[0];
  if (location === undefined || location === '') return undefined;
  const nothing = { size: 0, words: [], closed: undefined, sketch: '', items: undefined };
  return { kind: 'redirect', ...names(path), ...nothing, to: shortHash(location) };
}

const names = (path: string) => ({
  url: shortHash(path),
  pattern: shortHash(pathPattern(path)),
});

function kindOf(type: string | undefined, text: string): 'page' | 'html' | 'data' | undefined {
  const media = mediaType(type);
  if (media === undefined) return text.trimStart().startsWith('<') ? 'html' : undefined;
  if (media === 'text/html' || media === 'application/xhtml+xml') return 'html';
  if (media === 'application/json' || media.endsWith('+json')) return 'data';
  return media === 'text/plain' || media.endsWith('xml') ? 'page' : undefined;
}

const END_WITHIN = 1024;

/** Comments and scripts may follow the closing tag. */
function endsAsHtml(text: string): boolean {
  return text.slice(-END_WITHIN).toLowerCase().includes('</html');
}

function wordsOf(title: string): readonly string[] {
  const words = title.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '');
  return [...new Set(words.slice(-MAX_WORDS).map(shortHash))];
}

/** The length of a list, or of the longest one in an object or just below it. */
function entries(text: string): number | undefined {
  if (text.length > MAX_COUNTED) return undefined;
  const value = parsed(text);
  if (Array.isArray(value)) return value.length;
  const lists = listsIn(value, 2);
  return lists.length === 0 ? undefined : Math.max(...lists);
}

function listsIn(value: unknown, depth: number): readonly number[] {
  if (Array.isArray(value)) return [value.length];
  if (depth === 0 || typeof value !== 'object' || value === null) return [];
  return Object.values(value)
    .slice(0, 64)
    .flatMap((part) => listsIn(part, depth - 1));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
