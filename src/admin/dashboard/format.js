import { isToday, proxyNow } from './clock.js';

/**
 * A span as people say it: 850 ms, 12 s, 4 min 05 s, 3 h 20 min, 2 d 4 h.
 * @param {number} ms
 */
export function span(ms) {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 10 && ms % 1000 !== 0) return `${(ms / 1000).toFixed(1)} s`;
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${two(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${two(minutes % 60)} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/**
 * How long still until an instant, in whole seconds; empty when there is none.
 * @param {string | null | undefined} iso
 */
export function left(iso) {
  if (!iso) return '';
  const ms = Date.parse(iso) - proxyNow();
  return ms <= 0 ? 'now' : span(Math.ceil(ms / 1000) * 1000);
}

/**
 * How long ago an instant was, in whole seconds.
 * @param {string} iso
 */
export const ago = (iso) =>
  span(Math.max(0, Math.floor((proxyNow() - Date.parse(iso)) / 1000)) * 1000);

const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const calendar = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * The time of day, with the date where it is not today's.
 * @param {string | number} instant
 */
export function when(instant) {
  const date = new Date(instant);
  if (Number.isNaN(date.getTime())) return '';
  return (isToday(date) ? clock : calendar).format(date);
}

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  return `${rounded(bytes / 1000 ** power)} ${units[power - 1]}`;
}

/** @param {number} value */
export function rounded(value) {
  if (value === 0) return '0';
  if (value < 0.001) return '<0.001';
  return value < 1 ? value.toPrecision(2) : value < 100 ? value.toFixed(1) : value.toFixed(0);
}

/**
 * A price as it is configured, without a currency: small ones with the digits that say something.
 * @param {number | null} price
 */
export function money(price) {
  if (price === null) return '–';
  if (price === 0) return '0';
  if (price < 0.000001) return '<0.000001';
  return price < 1 ? price.toPrecision(price < 0.01 ? 2 : 3) : price.toFixed(2);
}

/**
 * A share in whole percent; neither 0 nor 100 unless it is.
 * @param {number | undefined} share
 */
export function percent(share) {
  if (share === undefined) return '–';
  if (share > 0 && share < 0.01) return '<1 %';
  if (share < 1 && share > 0.99) return '>99 %';
  return `${Math.round(share * 100)} %`;
}

/**
 * @param {number} count
 * @param {string} one
 */
export const counted = (count, one, many = `${one}s`) =>
  `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`;

/** @param {number} value */
const two = (value) => String(value).padStart(2, '0');
