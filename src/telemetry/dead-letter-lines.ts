import { seconds } from '../core/explain.ts';
import type { ProxyEvent, RedriveOutcome } from './events.ts';
import type { LogLine } from './log-lines.ts';
import { request, requestFields } from './request-words.ts';

type About = Extract<
  ProxyEvent,
  {
    type: 'dead_letter_parked' | 'dead_letter_closed' | 'dead_letter_redriven' | 'store_trouble';
  }
>;

/** What happens to dead letters, and to what they are kept in. */
export function deadLetterLine(event: About): LogLine {
  switch (event.type) {
    case 'dead_letter_parked':
      return parked(event);
    case 'dead_letter_closed':
      return {
        level: 'info',
        message: `dead letter ${event.id} is done: its client has got there by itself`,
        fields: { forbear: { dead_letter: event.id } },
      };
    case 'dead_letter_redriven':
      return {
        level: event.outcome === 'done' ? 'info' : 'warn',
        message: `dead letter ${event.id} ${OUTCOMES[event.outcome]}: ${event.detail}`,
        fields: {
          forbear: { dead_letter: event.id, lane: event.lane, outcome: event.outcome },
        },
      };
    case 'store_trouble':
      return {
        level: 'error',
        message: `could not ${event.doing}: ${event.message}`,
        fields: { error: { type: event.code } },
      };
  }
}

const OUTCOMES: Record<RedriveOutcome, string> = {
  done: 'was sent again and is done',
  parked: 'was sent again in vain and stays',
  expired: 'was sent again in vain and has expired',
  needs_client: 'needs its client',
  put_off: 'is put off',
  busy: 'was not sent again',
  missing: 'does not exist',
  unsendable: 'cannot be sent again as it is',
  interrupted: 'was interrupted and stays',
};

function parked(event: Extract<ProxyEvent, { type: 'dead_letter_parked' }>): LogLine {
  const { exchange, id, count, state, dueAt, at, kept, lane, reason } = event;
  const times = count > 1 ? ` (${count} times)` : '';
  const next =
    state === 'parked' ? `due in ${seconds(Math.max(0, dueAt - at))}` : 'it needs its client';
  const where = kept === 'memory' ? '; in memory only, the disk does not take it' : '';
  return {
    level: kept === 'memory' ? 'warn' : 'info',
    message: `${request(exchange)} is kept as dead letter ${id}${times}: ${next}${where}`,
    fields: {
      ...requestFields(exchange),
      error: { type: reason },
      forbear: {
        exchange: exchange.id,
        dead_letter: id,
        lane,
        state,
        requests: count,
        due_ms: Math.round(Math.max(0, dueAt - at)),
        client: exchange.client.name,
      },
    },
  };
}
