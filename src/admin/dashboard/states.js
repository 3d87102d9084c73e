import { el, setAttribute, setText } from './dom.js';

/** @typedef {'good' | 'calm' | 'warn' | 'bad'} Tone */

/** Every state has a sign of its own: colour is never the only one. */
const STATES =
  /** @type {Readonly<Record<string, readonly [sign: string, word: string, tone: Tone]>>} */ ({
    isolated: ['⊘', 'isolated', 'bad'],
    breaker_open: ['▲', 'breaker open', 'bad'],
    breaker_half_open: ['△', 'probing', 'warn'],
    paused: ['‖', 'paused', 'warn'],
    active: ['●', 'active', 'good'],
    idle: ['○', 'idle', 'calm'],
    in: ['●', 'in use', 'good'],
    ejected: ['▲', 'ejected', 'bad'],
    waiting: ['‖', 'waiting', 'warn'],
    running: ['●', 'running', 'good'],
    done: ['✓', 'done', 'calm'],
    burned: ['▲', 'burned', 'bad'],
    expired: ['○', 'expired', 'calm'],
    parked: ['‖', 'parked', 'warn'],
    redriving: ['●', 'being sent', 'good'],
    needs_client: ['▲', 'needs you', 'bad'],
    ready: ['●', 'ready', 'good'],
    starting: ['△', 'starting', 'warn'],
    draining: ['▲', 'draining', 'warn'],
  });

/**
 * Shows a state in an element: sign, word and colour.
 * @param {HTMLElement} place
 * @param {string} state
 */
export function showState(place, state) {
  const [sign, word, tone] = STATES[state] ?? ['·', state, 'calm'];
  if (place.dataset.state === state) return;
  place.dataset.state = state;
  place.replaceChildren(
    el('span', { class: `state ${tone}` }, el('span', { 'aria-hidden': 'true' }, sign), ` ${word}`),
  );
}

/**
 * The word for a state.
 * @param {string} state
 */
export const stateWord = (state) => STATES[state]?.[1] ?? state;

/**
 * A figure with its label; the tone is in a sign, too.
 * @param {string} label
 * @param {string} href
 */
export function createFigure(label, href) {
  const value = el('span', { class: 'figure-value' }, '–');
  const element = el(
    'a',
    { class: 'figure', href },
    value,
    el('span', { class: 'figure-label' }, label),
  );
  return {
    element,
    /**
     * @param {string} text
     * @param {Tone} [tone]
     */
    show(text, tone = 'calm') {
      setText(value, tone === 'bad' || tone === 'warn' ? `▲ ${text}` : text);
      setAttribute(element, 'data-tone', tone);
    },
  };
}
