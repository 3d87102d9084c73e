import { fieldValue, type RawHeaders } from './fields.ts';
import { type Marker, type Sign, VENDOR_MARKERS } from './markers.ts';
import { isPage } from './media-type.ts';
import { readableText, titleText } from './readable-text.ts';
import type { ResponseReply } from './verdict.ts';
import { WALLS } from './walls.ts';

export interface Found {
  readonly marker: Marker;
  /** What was seen of it. */
  readonly signs: readonly string[];
}

const MARKERS: readonly Marker[] = [...VENDOR_MARKERS, ...WALLS];

/** A page with more readable text than this has a content of its own, whatever scripts or words it carries. */
const MAX_TEXT = 2000;
/** Challenge pages are small: their marks stand within this many characters. */
const MAX_SOURCE = 32_768;

/** Finds the challenge, block or throttle page that a reply is, if it is one: by a field that proves it, or by two signs. */
export function findMarker(reply: ResponseReply): Found | undefined {
  return provenMarker(reply.rawHeaders) ?? shownMarker(reply);
}

function provenMarker(rawHeaders: RawHeaders): Found | undefined {
  for (const marker of MARKERS) {
    if (marker.proof === undefined) continue;
    const { header, words } = marker.proof;
    const value = fieldValue(rawHeaders, header)?.toLowerCase();
    if (value === undefined || !words.some((word) => value.includes(word))) continue;
    return { marker, signs: [`${header}: ${value.slice(0, 80)}`] };
  }
  return undefined;
}

/** The page in the forms that signs are looked for in, lower case. */
interface Page {
  readonly status: number;
  readonly rawHeaders: RawHeaders;
  readonly source: string;
  readonly title: string;
  readonly text: string;
}

function shownMarker(reply: ResponseReply): Found | undefined {
  const page = pageOf(reply);
  if (page === undefined) return undefined;
  for (const marker of MARKERS) {
    const signs = signsOf(marker, page);
    if (signs !== undefined) return { marker, signs };
  }
  return undefined;
}

function pageOf(reply: ResponseReply): Page | undefined {
  const { status, rawHeaders, body } = reply;
  if (body.kind !== 'seen' || !isPage(fieldValue(rawHeaders, 'content-type'))) return undefined;
  const text = readableText(body.text, MAX_TEXT + 1);
  if (text.length > MAX_TEXT || body.text.includes('\0')) return undefined;
  const source = body.text.slice(0, MAX_SOURCE).toLowerCase();
  const title = titleText(body.text);
  return { status, rawHeaders, source, title, text: `${title}\n${text.toLowerCase()}` };
}

function signsOf(marker: Marker, page: Page): readonly string[] | undefined {
  const { signs, statuses, maxText, unless = [] } = marker;
  if (signs.length === 0) return undefined;
  if (statuses !== undefined && !statuses.includes(page.status)) return undefined;
  if (maxText !== undefined && page.text.length > maxText) return undefined;
  const seen: string[] = [];
  for (const sign of signs) {
    const one = shown(sign, page);
    if (one === undefined) return undefined;
    seen.push(one);
  }
  return unless.some((mark) => page.source.includes(mark)) ? undefined : seen;
}

function shown(sign: Sign, page: Page): string | undefined {
  const { header, title = [], text = [], body = [] } = sign;
  if (header !== undefined) {
    const [name, has] = header;
    const value = fieldValue(page.rawHeaders, name);
    if (value?.toLowerCase().includes(has)) return `${name}: ${value.slice(0, 80)}`;
  }
  return (
    title.find((mark) => page.title.includes(mark)) ??
    text.find((mark) => page.text.includes(mark)) ??
    body.find((mark) => page.source.includes(mark))
  );
}
