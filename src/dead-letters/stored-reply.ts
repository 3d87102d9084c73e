import type { Received } from '../exchange/ports.ts';
import type { NewResponse } from '../store/letter.ts';

/** Reads a reply for the store, no more of its body than may be kept; undefined when it breaks off before. */
export async function storedReply(
  received: Received | undefined,
  capBytes: number,
  now: () => number,
): Promise<NewResponse | undefined> {
  const response = received?.response;
  if (!response) return undefined;
  const { status, reason, rawHeaders } = response;
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > capBytes) break;
    }
  } catch {
    return undefined;
  }
  const body = Buffer.concat(chunks).subarray(0, capBytes);
  return { status, reason, rawHeaders, body, truncated: bytes > capBytes, capBytes, at: now() };
}
