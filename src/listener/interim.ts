import { keep, replyHeaders } from '../exchange/headers.ts';
import type { Exchange } from '../exchange/ports.ts';
import { type Outlet, sendable } from './outlet.ts';

/** Interim replies that one client request may be given, over all its attempts. */
const MAX_INTERIMS = 100;

/**
 * The way of interim replies to the client: as they come, whichever attempt they are of. They promise nothing of
 * the final reply, so those of an attempt that fails do no harm; but hints that were shown are not shown again by the next. A 102 without fields is a sign of life each time.
 */
export function informing(outlet: Outlet): Exchange['inform'] {
  const { inform } = outlet;
  if (inform === undefined) return undefined;
  const shown = new Set<string>();
  let count = 0;
  return (status, rawHeaders) => {
    if (status < 102 || status > 199 || outlet.headSent || outlet.gone) return;
    // They have no length (RFC 9110 section 8.6).
    const isPassed = (name: string) => name !== 'content-length' && !name.startsWith('forbear-');
    const passed = keep(replyHeaders(rawHeaders, status), isPassed);
    const fields = sendable(passed);
    const text = JSON.stringify([status, ...fields]);
    if ((fields.length > 0 && shown.has(text)) || count >= MAX_INTERIMS) return;
    shown.add(text);
    count += 1;
    inform(status, fields);
  };
}
