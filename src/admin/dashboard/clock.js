/** How far the clock of the proxy is ahead of this machine's; told by its answers. */
let aheadMs = 0;

/** Now, by the clock of this machine. */
export const localNow = () => Date.now();

/** Whether an instant is of today, where the page is read. */
export const isToday = (/** @type {Date} */ date) =>
  date.toDateString() === new Date().toDateString();

/** A clock that nobody sets, for spans within the page. */
export const steadyNow = () => performance.now();

/** Now, by the clock of the proxy. */
export const proxyNow = () => Date.now() + aheadMs;

/**
 * Learns the other clock from a `Date` header, which has whole seconds only.
 * @param {string | null} date
 */
export function learnClock(date) {
  const at = Date.parse(date ?? '');
  if (Number.isNaN(at)) return;
  const ahead = at + 500 - Date.now();
  aheadMs = Math.abs(ahead) < 2000 ? 0 : ahead;
}
