/**
 * The text of an HTML page that a reader would see, white space folded, at most `max` characters of it.
 * One pass; scripts, styles and comments are skipped, entities stay as they are. Text without tags is its own.
 */
export function readableText(html: string, max: number): string {
  // Kept in pieces: to look at the end of a growing text would copy it each time.
  const parts: string[] = [];
  let length = 0;
  let spaced = true;
  let at = 0;
  while (at < html.length && length < max) {
    const tag = html.indexOf('<', at);
    const end = tag === -1 ? html.length : tag;
    while (at < end && length < max) {
      const piece = html.slice(at, Math.min(end, at + PIECE_CHARS));
      at += piece.length;
      const folded = joint(piece.replace(WHITE, ' '), length === 0, spaced);
      if (folded === '') continue;
      parts.push(folded);
      length += folded.length;
      spaced = folded.endsWith(' ');
    }
    if (tag !== -1) at = afterTag(html, tag);
  }
  const text = parts.join('');
  // What was cut keeps its length, so that `max` tells whether there was more.
  return text.length >= max ? text.slice(0, max) : text.trimEnd();
}

/** The text of the first `<title>`, in lower case; empty when there is none near the start. */
export function titleText(html: string): string {
  const head = html.slice(0, TITLE_WITHIN).toLowerCase();
  const open = head.indexOf('<title');
  const from = open === -1 ? -1 : head.indexOf('>', open);
  const to = from === -1 ? -1 : head.indexOf('</title', from);
  return to === -1
    ? ''
    : head
        .slice(from + 1, to)
        .replace(WHITE, ' ')
        .trim();
}

const TITLE_WITHIN = 16_384;
const PIECE_CHARS = 4096;
const WHITE = /\s+/g;

/** A piece as it follows what is there: with a space between, where there is none; empty when it adds nothing. */
function joint(folded: string, isFirst: boolean, spaced: boolean): string {
  if (folded === ' ' || folded === '') return '';
  if (isFirst) return folded.trimStart();
  return spaced || folded.startsWith(' ') ? folded : ` ${folded}`;
}

/** Where reading goes on after the tag (or comment, script, style) that begins at `at`. */
function afterTag(html: string, at: number): number {
  const first = html.charCodeAt(at + 1);
  if (first === BANG && html.startsWith('<!--', at)) return after(html, '-->', at + 4);
  const hidden = isS(first) ? HIDDEN.exec(html.slice(at + 1, at + 8))?.[1] : undefined;
  return after(html, '>', hidden === undefined ? at : closing(html, hidden.toLowerCase(), at));
}

const BANG = 33;
const HIDDEN = /^(script|style)\b/i;

/** Most tags are neither script nor style, and one character shows it. */
const isS = (code: number): boolean => code === 115 || code === 83;

function closing(html: string, name: string, from: number): number {
  let at = html.indexOf('</', from);
  while (at !== -1) {
    const found = isS(html.charCodeAt(at + 2)) && html.slice(at + 2, at + 2 + name.length);
    if (found && found.toLowerCase() === name) return at;
    at = html.indexOf('</', at + 2);
  }
  return html.length;
}

function after(html: string, end: string, at: number): number {
  const found = html.indexOf(end, at);
  return found === -1 ? html.length : found + end.length;
}
