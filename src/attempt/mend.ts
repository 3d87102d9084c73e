import { fieldValues } from '../core/fields.ts';
import type { Head } from './head.ts';

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * A head that a strict parser takes: CRLF, clean names and values, and one framing (RFC 9112 section 6.3).
 * Undefined where two lengths differ: nobody can tell which of them holds, so there is nothing to mend.
 */
export function mended(head: Head): string | undefined {
  const chunked = fieldValues(head.rawHeaders, 'transfer-encoding').length > 0;
  const lengths = new Set(
    fieldValues(head.rawHeaders, 'content-length')
      .flatMap((value) => value.split(','))
      .map((value) => value.trim()),
  );
  if (!chunked && lengths.size > 1) return undefined;
  let text = `HTTP/1.1 ${head.status} ${clean(head.reason)}\r\n`;
  let hasLength = false;
  for (let i = 0; i + 1 < head.rawHeaders.length; i += 2) {
    const name = head.rawHeaders[i] ?? '';
    const isLength = name.toLowerCase() === 'content-length';
    if (!NAME.test(name) || (isLength && (chunked || hasLength))) continue;
    hasLength ||= isLength;
    text += `${name}: ${isLength ? [...lengths][0] : clean(head.rawHeaders[i + 1] ?? '')}\r\n`;
  }
  return `${text}\r\n`;
}

function clean(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is taken out
  return text.replace(/[\x00-\x08\x0a-\x1f\x7f]/g, '');
}
