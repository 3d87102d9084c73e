/** The head of a request exactly as it shall be sent, less what only undici knows: whether a length must be added. */
export interface OutgoingHead {
  readonly requestLine: string;
  /** Names and values in turn; Host, Connection and Transfer-Encoding included where they are wanted. */
  readonly fields: readonly string[];
  /** Set where the body goes in chunks: its trailer fields, asked for when the last chunk goes out. */
  readonly trailers?: (() => readonly string[]) | undefined;
}

/** undici's end of a chunked body; nothing else that it writes looks so. */
const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * Puts what undici writes for one request into our words: its head, and the end of a chunked body, behind
 * which it knows no trailers. Body bytes come as buffers and pass as they are.
 */
export function rewording(head: OutgoingHead): (chunk: unknown) => unknown {
  let began = false;
  return (chunk) => {
    if (typeof chunk !== 'string') return chunk;
    if (!began) {
      began = true;
      return wordedHead(head, chunk);
    }
    return head.trailers && chunk === LAST_CHUNK ? `\r\n${lastChunk(head.trailers())}` : chunk;
  };
}

function wordedHead(outgoing: OutgoingHead, text: string): string {
  const { trailers, requestLine } = outgoing;
  const isWhole = text.endsWith('\r\n\r\n');
  if (trailers !== undefined) {
    const head = `${requestLine}\r\n${lines(outgoing.fields)}`;
    // undici gives an empty body a length or nothing at all; to the client it was a body in chunks.
    return isWhole ? `${head}\r\n${lastChunk(trailers())}` : head;
  }
  const length = /\r\ncontent-length: (\d+)\r\n\r\n$/.exec(text)?.[1];
  const fields = [...outgoing.fields];
  const at = fields.findIndex(
    (field, i) => i % 2 === 0 && field.toLowerCase() === 'content-length',
  );
  // A client's `Content-Length: 0` stays, also where undici would leave it out.
  const kept = at !== -1 && fields[at + 1]?.trim() === (length ?? '0');
  if (at !== -1 && !kept) fields.splice(at, 2);
  if (length !== undefined && !kept) fields.push('Content-Length', length);
  return `${requestLine}\r\n${lines(fields)}\r\n`;
}

const lastChunk = (trailers: readonly string[]): string => `0\r\n${lines(trailers)}\r\n`;

function lines(fields: readonly string[]): string {
  let text = '';
  for (let i = 0; i + 1 < fields.length; i += 2) text += `${fields[i]}: ${fields[i + 1]}\r\n`;
  return text;
}
