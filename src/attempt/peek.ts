import { fieldValue, fieldValues } from '../core/fields.ts';
import { mediaType, mediaTypeMatches } from '../core/media-type.ts';
import type { BodySight } from '../core/verdict.ts';
import type { Exchange } from '../exchange/ports.ts';
import { textOf } from './charset.ts';
import { followCoding } from './coding-end.ts';
import { decode } from './decode.ts';
import type { Incoming } from './incoming.ts';

interface ReplyHead {
  readonly status: number;
  readonly rawHeaders: readonly string[];
}

// They have no end, and each piece is wanted at once.
const ENDLESS: ReadonlySet<string | undefined> = new Set([
  'text/event-stream',
  'multipart/x-mixed-replace',
]);

/** Holds a body for as long as it takes to judge it, looks at a decoded copy, and lets it flow. */
export async function peek(
  incoming: Incoming,
  head: ReplyHead,
  exchange: Exchange,
): Promise<BodySight> {
  const sight = await look(incoming, head, exchange);
  if (hasMoreToCome(sight) && head.status !== 206) followEnd(incoming, head);
  incoming.release();
  return sight;
}

async function look(incoming: Incoming, head: ReplyHead, exchange: Exchange): Promise<BodySight> {
  const { inspect } = exchange.policy;
  if (exchange.method === 'HEAD' || head.status === 204 || head.status === 304)
    return { kind: 'none' };
  // The rest of a body was judged by its beginning, and its coding cannot be taken off from the middle.
  if (head.status === 206 && fieldValue(exchange.rawHeaders, 'if-range') !== undefined)
    return { kind: 'unseen' };
  const contentType = fieldValue(head.rawHeaders, 'content-type');
  const endless = ENDLESS.has(mediaType(contentType));
  if (endless || !mediaTypeMatches(inspect.types, contentType)) return { kind: 'unseen' };
  const known = fieldValue(head.rawHeaders, 'content-length') !== undefined;
  const ms = known || isExpected(exchange, head.status) ? undefined : inspect.holdMs;
  const end = await incoming.held({ bytes: inspect.holdBytes, ms });
  const decoded = await decode(
    incoming.heldBytes(),
    fieldValues(head.rawHeaders, 'content-encoding').join(','),
    { maxBytes: inspect.bytes, whole: end === 'complete' },
  );
  return {
    kind: 'seen',
    text: textOf(decoded.bytes, contentType),
    receivedBytes: incoming.receivedBytes,
    end,
    coding: decoded.coding,
  };
}

function hasMoreToCome(sight: BodySight): boolean {
  return sight.kind === 'unseen' || (sight.kind === 'seen' && sight.end === 'pending');
}

/** What could not be held whole is watched to its end: a site may frame half of a coded body as if it were all. */
function followEnd(incoming: Incoming, { rawHeaders }: ReplyHead): void {
  if (ENDLESS.has(mediaType(fieldValue(rawHeaders, 'content-type')))) return;
  const codingEnd = followCoding(fieldValues(rawHeaders, 'content-encoding').join(','));
  if (codingEnd) incoming.follow(codingEnd);
}

/** Whether the user said what a good reply must show: then it is worth waiting for. */
function isExpected(exchange: Exchange, status: number): boolean {
  if (exchange.expectText !== undefined) return true;
  const good = status >= 200 && status < 300 && status !== 204 && status !== 206;
  return exchange.policy.expect.some(({ when }) => {
    const methodFits = when.method === undefined || when.method === exchange.method;
    return methodFits && (when.statuses?.includes(status) ?? good);
  });
}
