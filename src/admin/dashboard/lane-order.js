import { rounded } from './format.js';

/** @typedef {import('./shapes.d.ts').Lane} Lane */

/** Trouble first. */
const RANKS = /** @type {Readonly<Record<string, number>>} */ ({
  isolated: 0,
  breaker_open: 1,
  breaker_half_open: 2,
  paused: 3,
  active: 4,
  idle: 5,
});

/**
 * Orders lanes by what needs a look: trouble first, then what is waited for.
 * @param {Lane} a
 * @param {Lane} b
 */
export function byTrouble(a, b) {
  const ranks = (RANKS[a.state] ?? 9) - (RANKS[b.state] ?? 9);
  return ranks || Math.sign(b.waiting - a.waiting);
}

/**
 * Whether nothing, or less than usual, is sent to the host.
 * @param {Lane} lane
 */
export const isTroubled = ({ state }) => (RANKS[state] ?? 9) < 4;

/**
 * When the state ends by itself, if that is known.
 * @param {Lane} lane
 */
export const endsAt = (lane) =>
  lane.state === 'breaker_open'
    ? lane.breaker_until
    : lane.state === 'paused'
      ? lane.paused_until
      : null;

/**
 * Starts per second, in words.
 * @param {Lane} lane
 */
export const rateOf = ({ rate }) => (rate === null ? 'no limit' : `${rounded(rate)} /s`);
