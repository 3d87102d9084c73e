import { gunzipSync } from 'node:zlib';
import type { Asked } from './chaos-asking.ts';
import { bytesOf, digest, MEANT } from './chaos-pages.ts';
import type { Reading } from './chaos-reader.ts';

/** How one request ended for its client, in the words of the table. */
export type Outcome =
  | { readonly kind: 'whole' | 'healed' | 'site_status' | 'own_status' | 'broken' | 'left' }
  | { readonly kind: 'violation'; readonly what: string };

/** What must not happen. */
export const violation = (what: string): Outcome => ({ kind: 'violation', what });

/** A whole reply is the site's as it was meant, or one of the proxy's own that says so. */
export function judged(
  reply: Extract<Reading, { kind: 'whole' }>,
  asked: Asked | undefined,
): Outcome {
  const { status, fields, body } = reply;
  const meant = fields.get(MEANT);
  if (meant === undefined) return judgedOwn(reply, asked);
  if (asked?.method === 'HEAD') return { kind: status === 200 ? 'whole' : 'site_status' };
  if (digest(body) !== meant) {
    const told = [...fields].map((field) => field.join(': ')).join('; ');
    const said = JSON.stringify(body.toString('latin1').slice(-60));
    return violation(
      `${status}: another body than was meant: ${body.length} bytes, ${said} (${told})`,
    );
  }
  if (status !== 200) {
    return status === 206 ? violation('a part that was not asked for') : { kind: 'site_status' };
  }
  if (asked === undefined) return violation('a page instead of a switch');
  const plain = fields.get('content-encoding') === 'gzip' ? gunzipSync(body) : body;
  const { id, size } = asked.page;
  if (!plain.equals(bytesOf(id, size))) return violation('the page of another request');
  return { kind: Number(fields.get('forbear-attempts') ?? 1) > 1 ? 'healed' : 'whole' };
}

function judgedOwn(
  { status, fields, body }: Extract<Reading, { kind: 'whole' }>,
  asked: Asked | undefined,
): Outcome {
  const isOwn = fields.get('content-type')?.startsWith('application/problem+json') === true;
  if (!isOwn || status < 400) return violation(`${status}: a reply of nobody's`);
  if (asked?.method !== 'HEAD') JSON.parse(body.toString());
  return { kind: 'own_status' };
}
