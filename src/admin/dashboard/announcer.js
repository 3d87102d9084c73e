import { steadyNow } from './clock.js';
import { setText } from './dom.js';
import { brief } from './plain-text.js';

const QUIET_MS = 10_000;

/** @typedef {import('./shapes.d.ts').Happening} Happening */

/**
 * Reads out what an operator would look up for, and no more often than one can listen.
 * @param {HTMLElement} place
 */
export function createAnnouncer(place) {
  let saidAt = -QUIET_MS;
  let missed = 0;
  return (/** @type {Happening} */ event) => {
    const text = trouble(event);
    if (text === '') return;
    const now = steadyNow();
    if (now - saidAt < QUIET_MS) {
      missed += 1;
      return;
    }
    const rest = missed > 0 ? ` Since the last word ${missed} more.` : '';
    setText(place, `${brief(text, 200)}.${rest}`);
    saidAt = now;
    missed = 0;
  };
}

/** @param {Happening} event */
function trouble(event) {
  switch (event.type) {
    case 'breaker_changed':
      return `Breaker of ${event.lane} is ${String(event.state).replace('_', ' ')}`;
    case 'early_warning':
      return event.raised ? `Early warning: ${event.sentence}` : '';
    case 'upstream_out':
      return `Upstream ${event.upstream} is out`;
    case 'lane_isolated':
      return `${event.lane} is ${event.isolated ? 'isolated' : 'resumed'}`;
    case 'store_trouble':
      return `Trouble with the store: ${event.detail}`;
    default:
      return '';
  }
}
