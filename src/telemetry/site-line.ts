import type { ProxyEvent } from './events.ts';
import type { LogLine } from './log-lines.ts';
import { requestFields } from './request-words.ts';

/** How a site has changed, in a line. */
export function siteLine(
  event: Extract<ProxyEvent, { type: 'site_changed' | 'early_warning' }>,
): LogLine {
  const { lane } = event;
  if (event.type === 'site_changed') {
    return {
      level: 'info',
      message: `${lane} has changed its pages for everybody: they are learned anew, and no longer suspicious`,
      fields: { ...requestFields(event.exchange), forbear: { lane } },
    };
  }
  const { raised, signal, sentence } = event;
  return {
    level: raised ? 'warn' : 'info',
    message: `${lane}: ${sentence}`,
    fields: { forbear: { lane, signal, raised } },
  };
}
