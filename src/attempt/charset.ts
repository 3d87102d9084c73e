const LOOK_BYTES = 1024;

/**
 * Text from bytes by what they say of themselves: byte order mark, then Content-Type, then the document's own
 * declaration, else UTF-8. Never throws: wrong bytes become U+FFFD, unknown names count as UTF-8.
 */
export function textOf(bytes: Buffer, contentType: string | undefined): string {
  const label = markOf(bytes) ?? declaredIn(contentType) ?? writtenIn(bytes);
  return decoderFor(label).decode(bytes);
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return undefined;
}

function declaredIn(contentType: string | undefined): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType ?? '')?.[1];
}

function writtenIn(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, LOOK_BYTES);
  const label =
    /<meta[^>]+charset\s*=\s*["']?\s*([\w:.-]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml[^>]+encoding\s*=\s*["']([\w:.-]+)/i.exec(start)?.[1];
  // What could be read as ASCII so far is not UTF-16, whatever it says (HTML, "prescan a byte stream").
  return label !== undefined && /^utf-?16/i.test(label) ? 'utf-8' : label;
}

function decoderFor(label: string | undefined) {
  try {
    return new TextDecoder(label ?? 'utf-8');
  } catch {
    return new TextDecoder('utf-8');
  }
}
