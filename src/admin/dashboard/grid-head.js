import { el } from './dom.js';

/**
 * @template R
 * @typedef {object} Column
 * @property {string} key
 * @property {string} title
 * @property {string} [hint] what the title means
 * @property {(row: R, cell: HTMLElement) => string | undefined} show the cell's text, or undefined when it drew the cell itself
 * @property {(a: R, b: R) => number} [compare] the column can be sorted by it
 * @property {'descending'} [first] how it is sorted when it is chosen
 */

/**
 * The titles of a table, by which it is sorted.
 * @template R
 */
export class GridHead {
  element;
  /** @type {{ columns: readonly Column<R>[], keyOf: (row: R) => string, sortBy?: string }} */
  #o;
  /** @type {() => void} */
  #onSort;
  /** @type {{ key: string, sign: 1 | -1 }} */
  #sort;
  /** @type {Map<string, HTMLTableCellElement>} */
  #cells = new Map();

  /**
   * @param {{ columns: readonly Column<R>[], keyOf: (row: R) => string, sortBy?: string }} o
   * @param {() => void} onSort
   */
  constructor(o, onSort) {
    this.#o = o;
    this.#onSort = onSort;
    this.#sort = { key: o.sortBy ?? '', sign: 1 };
    for (const column of o.columns) this.#cells.set(column.key, this.#cell(column));
    this.element = el('tr', { 'aria-rowindex': 1 }, ...this.#cells.values());
    this.#show();
  }

  /**
   * The rows in the order that was chosen.
   * @param {readonly R[]} rows
   */
  sorted(rows) {
    const { compare } = this.#o.columns.find(({ key }) => key === this.#sort.key) ?? {};
    if (!compare) return [...rows];
    const { keyOf } = this.#o;
    const { sign } = this.#sort;
    return [...rows].sort((a, b) => sign * compare(a, b) || (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  /** @param {Column<R>} column */
  #cell({ key, title, hint, compare, first }) {
    const cell = el('th', { scope: 'col', class: `c-${key}`, ...(hint && { title: hint }) });
    if (!compare) {
      cell.append(title);
      return cell;
    }
    const sorter = el('button', { type: 'button', class: 'sorter' }, title);
    sorter.addEventListener('click', () => {
      const isSame = this.#sort.key === key;
      this.#sort = { key, sign: isSame ? (this.#sort.sign === 1 ? -1 : 1) : first ? -1 : 1 };
      this.#show();
      this.#onSort();
    });
    cell.append(sorter);
    return cell;
  }

  #show() {
    for (const [key, cell] of this.#cells) {
      const direction = this.#sort.sign === 1 ? 'ascending' : 'descending';
      if (key === this.#sort.key) cell.setAttribute('aria-sort', direction);
      else cell.removeAttribute('aria-sort');
    }
  }
}
