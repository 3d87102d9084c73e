import { fieldValue, type RawHeaders } from './fields.ts';
import type { Marker, Sign } from './marker.ts';
import { VENDOR_MARKERS } from './markers.ts';
import { isPage } from './media-type.ts';
import { readableText, titleText } from './readable-text.ts';
import type { ResponseReply } from './verdict.ts';
import { WALLS } from './walls.ts';

export interface Found {
  readonly marker: Marker;
  /** What was seen of it. */
  readonly signs: readonly string[];
}

/** What else than the reply a marker may depend on. */
export interface Asked {
  /** Path and query of the request. */
  readonly path: string;
  /** The user's own rows; they come first. */
  readonly markers: readonly Marker[];
}

/** A marker of which something was seen, with what speaks for and against it. */
export interface Weighed {
  readonly marker: Marker;
  readonly seen: readonly string[];
  readonly against: readonly string[];
  /** Signs seen, as a share of the signs needed. */
  readonly score: number;
  readonly holds: boolean;
}

const MARKERS: readonly Marker[] = [...VENDOR_MARKERS, ...WALLS];
const NOTHING_KNOWN: Asked = { path: '', markers: [] };

/** A page with more readable text than this has a content of its own, whatever scripts or words it carries. */
const MAX_TEXT = 2000;
/** Challenge pages are small: their marks stand within this many characters. */
const MAX_SOURCE = 32_768;
const MAX_SHOWN = 80;

/** Finds the challenge, block or throttle page that a reply is, if it is one: by a field that proves it, or by two signs. */
export function findMarker(reply: ResponseReply, asked: Asked = NOTHING_KNOWN): Found | undefined {
  return (
    provenMarker(asked.markers, reply.rawHeaders) ??
    provenMarker(MARKERS, reply.rawHeaders) ??
    shownMarker(reply, asked)
  );
}

/** The page that an earlier look has named; undefined when it is known no more. */
export function namedMarker(id: string, markers: readonly Marker[]): Marker | undefined {
  return [...markers, ...MARKERS].find((marker) => marker.id === id);
}

/** All markers of which anything was seen, the likeliest first: for whoever wants to know why, or why not. */
export function weighMarkers(reply: ResponseReply, asked: Asked): readonly Weighed[] {
  const page = pageOf(reply, asked);
  return [...asked.markers, ...MARKERS]
    .flatMap((marker) => weighed(marker, reply.rawHeaders, page) ?? [])
    .sort((a, b) => Number(b.holds) - Number(a.holds) || b.score - a.score);
}

function provenMarker(markers: readonly Marker[], rawHeaders: RawHeaders): Found | undefined {
  for (const marker of markers) {
    const proof = proofOf(marker, rawHeaders);
    if (proof !== undefined) return { marker, signs: [proof] };
  }
  return undefined;
}

function proofOf({ proof }: Marker, rawHeaders: RawHeaders): string | undefined {
  if (proof === undefined) return undefined;
  const value = fieldValue(rawHeaders, proof.header);
  const lower = value?.toLowerCase();
  if (value === undefined || !proof.words.some((word) => lower?.includes(word))) return undefined;
  return `${proof.header}: ${value.toLowerCase().slice(0, MAX_SHOWN)}`;
}

/** The page in the forms that signs are looked for in, lower case. */
interface Page {
  readonly status: number;
  readonly path: string;
  readonly rawHeaders: RawHeaders;
  readonly source: string;
  readonly title: string;
  readonly text: string;
}

function shownMarker(reply: ResponseReply, asked: Asked): Found | undefined {
  const page = pageOf(reply, asked);
  if (page === undefined) return undefined;
  for (const marker of [...asked.markers, ...MARKERS]) {
    const signs = signsOf(marker, page);
    if (signs !== undefined) return { marker, signs };
  }
  return undefined;
}

function pageOf(reply: ResponseReply, { path, markers }: Asked): Page | undefined {
  const { status, rawHeaders, body } = reply;
  if (body.kind !== 'seen' || !isPage(fieldValue(rawHeaders, 'content-type'))) return undefined;
  const most = Math.max(MAX_TEXT, ...markers.map(({ maxText }) => maxText ?? 0));
  // Some pages begin with a screenful of blanks.
  const html = body.text.trimStart();
  const read = readableText(html, most + 1);
  if (read.length > most || html.includes('\0')) return undefined;
  const source = html.slice(0, MAX_SOURCE).toLowerCase();
  const title = plain(titleText(html));
  return {
    status,
    path: (path.split('?', 1)[0] ?? '').toLowerCase(),
    rawHeaders,
    source,
    title,
    text: `${title}\n${plain(read.toLowerCase())}`,
  };
}

/** With the apostrophes that people type, however the page writes them. */
function plain(text: string): string {
  return text.replace(/’|&(?:#39|#x27|apos|rsquo|#8217);/g, "'").replaceAll('&amp;', '&');
}

function signsOf(marker: Marker, page: Page): readonly string[] | undefined {
  const { signs } = marker;
  if (signs.length === 0 || outOfPlace(marker, page)) return undefined;
  const seen: string[] = [];
  for (const sign of signs) {
    const one = shown(sign, page);
    if (one === undefined) return undefined;
    seen.push(one);
  }
  return contradictions(marker, page).length > 0 ? undefined : seen;
}

/** What is cheap to see, and enough to pass a row over. */
function outOfPlace({ statuses, maxText = MAX_TEXT }: Marker, page: Page): boolean {
  if (statuses !== undefined && !statuses.includes(page.status)) return true;
  return page.text.length > maxText + page.title.length + 1;
}

function contradictions({ unless = [], unlessPath = [] }: Marker, page: Page): readonly string[] {
  return [
    ...unless.filter((mark) => page.source.includes(mark)),
    ...unlessPath
      .filter((word) => (word === '/' ? page.path === '/' : page.path.includes(word)))
      .map((word) => `asked for ${word}`),
  ];
}

function shown(sign: Sign, page: Page): string | undefined {
  const { header, title = [], text = [], body = [] } = sign;
  if (header !== undefined) {
    const [name, has] = header;
    const value = fieldValue(page.rawHeaders, name);
    if (value?.toLowerCase().includes(has)) return `${name}: ${value.slice(0, MAX_SHOWN)}`;
  }
  return (
    title.find((mark) => page.title.includes(mark)) ??
    text.find((mark) => page.text.includes(mark)) ??
    body.find((mark) => page.source.includes(mark))
  );
}

function weighed(
  marker: Marker,
  rawHeaders: RawHeaders,
  page: Page | undefined,
): Weighed | undefined {
  const proof = proofOf(marker, rawHeaders);
  if (proof !== undefined) return { marker, seen: [proof], against: [], score: 1, holds: true };
  if (page === undefined || marker.signs.length === 0) return undefined;
  const seen = marker.signs.flatMap((sign) => shown(sign, page) ?? []);
  if (seen.length === 0) return undefined;
  const score = seen.length / marker.signs.length;
  const against = [
    ...contradictions(marker, page),
    ...(outOfPlace(marker, page) ? ['too much text of its own, or another status'] : []),
  ];
  return { marker, seen, against, score, holds: score === 1 && against.length === 0 };
}
