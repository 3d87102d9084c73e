/**
 * Where a key leads among the rows of a list; undefined when it leads nowhere.
 * @param {string} key as the browser names it
 * @param {{ place: number, last: number, page: number }} o the row that is left, the last one, and how many are in sight
 * @returns {number | undefined}
 */
export function moveOf(key, { place, last, page }) {
  switch (key) {
    case 'ArrowDown':
      return Math.min(last, place + 1);
    case 'ArrowUp':
      return Math.max(0, place - 1);
    case 'PageDown':
      return Math.min(last, place + page);
    case 'PageUp':
      return Math.max(0, place - page);
    case 'Home':
      return 0;
    case 'End':
      return last;
    default:
      return undefined;
  }
}
