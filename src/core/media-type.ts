import { globMatches } from './glob.ts';

/** The media type of a Content-Type field in lower case, without its parameters; undefined when there is none. */
export function mediaType(contentType: string | undefined): string | undefined {
  const end = contentType?.indexOf(';') ?? -1;
  const type = (end === -1 ? contentType : contentType?.slice(0, end))?.trim().toLowerCase();
  return type === '' ? undefined : type;
}

/**
 * Whether a Content-Type fits one of the patterns (`text/*`, `application/*+json`).
 * Without a type anything may come, so it fits every list that is not empty.
 */
export function mediaTypeMatches(
  patterns: readonly string[],
  contentType: string | undefined,
): boolean {
  const type = mediaType(contentType);
  if (type === undefined) return patterns.length > 0;
  return patterns.some((pattern) => pattern === '*' || globMatches(pattern.toLowerCase(), type));
}

/** Types that carry a page or a message for a reader; scripts and styles may hold a vendor's words by trade. */
const PAGES = ['text/html', 'text/plain', 'application/xhtml+xml', 'application/*json', '*/xml'];

/** Whether a body of this type may be looked at for challenge and block pages. */
export function isPage(contentType: string | undefined): boolean {
  return mediaTypeMatches(PAGES, contentType);
}
