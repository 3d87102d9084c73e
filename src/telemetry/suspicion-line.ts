import type { ProxyEvent } from './events.ts';
import type { LogLine } from './log-lines.ts';
import { request, requestFields } from './request-words.ts';

/** Tells a good-looking reply that may be none, with what speaks for and against it. */
export function suspicionLine(event: Extract<ProxyEvent, { type: 'suspicious_reply' }>): LogLine {
  const { exchange: done, lane, route, sign, score, enforced } = event;
  const why = [...event.for, ...event.against.map((words) => `but ${words}`)].join('; ');
  const what = sign === 'learned' ? 'unlike what usually comes there' : `like ${sign}`;
  return {
    level: 'warn',
    message: `suspicious: ${request(done)} over ${route.label} is ${what} (${why})${enforced ? '' : '; reported only'}`,
    fields: {
      ...requestFields(done),
      forbear: {
        exchange: done.id,
        lane,
        route: route.label,
        sign,
        evidence: event.for,
        evidence_against: event.against,
        score,
        enforced,
        client: done.client.name,
      },
    },
  };
}
