import { steadyNow } from './clock.js';
import { el, setAttribute, setText } from './dom.js';
import { GridHead } from './grid-head.js';
import { moveOf } from './grid-moves.js';

/**
 * @template R
 * @typedef {import('./grid-head.js').Column<R>} Column
 */
/**
 * @template R
 * @typedef {object} GridOptions
 * @property {string} label
 * @property {readonly Column<R>[]} columns
 * @property {(row: R) => string} keyOf
 * @property {string} empty what is said when there are no rows
 * @property {(row: R) => void} [onOpen]
 * @property {(row: R) => void} [onMark] the space bar on a row
 * @property {(row: R) => string} [toneOf] class of a row
 * @property {string} [sortBy] column key; without it the order of the rows is kept
 * @property {string} main key of the column that names the row: on narrow windows it goes first
 */
/** @typedef {{ row: unknown, element: HTMLTableRowElement, cells: HTMLTableCellElement[] }} Shown */

const OVERSCAN = 6;
/** Rows stay where they are while somebody points at them or moves among them. */
const HOLD_MS = 8_000;

/**
 * A table of any length of which only what is in sight exists. Arrows, Home, End, page keys move; Enter opens a row.
 * @template R
 */
export class Grid {
  element;
  /** @type {GridOptions<R>} */
  #o;
  /** @type {R[]} */
  #rows = [];
  /** @type {Map<string, number>} */
  #places = new Map();
  /** @type {Map<string, Shown>} */
  #shown = new Map();
  #scroller;
  #table;
  #body;
  #above = spacer();
  #below = spacer();
  #note;
  #rowHeight = 0;
  /** @type {string | undefined} */
  #active;
  #selected = '';
  #heldUntil = 0;
  /** @type {GridHead<R>} */
  #head;

  /** @param {GridOptions<R>} o */
  constructor(o) {
    this.#o = o;
    this.#head = new GridHead(o, () => {
      this.#heldUntil = 0;
      this.setRows(this.#rows);
    });
    this.#body = el('tbody', {}, this.#above, this.#below);
    this.#table = el(
      'table',
      { role: 'grid', 'aria-label': o.label, 'aria-rowcount': 1 },
      el('thead', {}, this.#head.element),
      this.#body,
    );
    this.#scroller = el('div', { class: 'scroller' }, this.#table);
    this.#note = el('p', { class: 'empty' }, o.empty);
    this.element = el('div', { class: 'grid' }, this.#scroller, this.#note);
    this.#scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    new ResizeObserver(() => {
      // Rows are higher where a window is narrow.
      this.#rowHeight = 0;
      this.draw();
    }).observe(this.#scroller);
    this.#listen();
  }

  /** Whether somebody points at the rows or moves among them right now. */
  get isHeld() {
    return steadyNow() < this.#heldUntil;
  }

  get rows() {
    return this.#rows;
  }

  /**
   * Shows these rows, in order unless they are held.
   * @param {readonly R[]} rows
   */
  setRows(rows) {
    const { keyOf } = this.#o;
    if (this.isHeld) {
      const coming = new Map(rows.map((row) => [keyOf(row), row]));
      const stay = this.#rows.map(keyOf).filter((key) => coming.has(key));
      const known = new Set(stay);
      const fresh = rows.filter((row) => !known.has(keyOf(row)));
      this.#rows = [...stay.map((key) => /** @type {R} */ (coming.get(key))), ...fresh];
    } else this.#rows = this.#head.sorted(rows);
    this.#places = new Map(this.#rows.map((row, i) => [keyOf(row), i]));
    this.draw();
  }

  /**
   * Marks the row whose details are shown.
   * @param {string} key
   */
  select(key) {
    this.#selected = key;
    if (key !== '') this.#active = key;
    this.draw();
  }

  /** Moves the focus to the row that was left last. */
  focus() {
    const place = this.#places.get(this.#current) ?? 0;
    if (this.#rows.length > 0) this.#moveTo(place);
    else this.#scroller.focus();
  }

  /** Draws what is in sight. */
  draw() {
    const { keyOf } = this.#o;
    this.#note.hidden = this.#rows.length > 0;
    if (this.element.offsetParent === null) return;
    this.#rowHeight ||= Number.parseFloat(getComputedStyle(this.#above).lineHeight) || 34;
    setAttribute(this.#table, 'aria-rowcount', String(this.#rows.length + 1));
    const { scrollTop, clientHeight } = this.#scroller;
    const [from, to] = this.#window(scrollTop, clientHeight);
    const wanted = this.#rows.slice(from, to);
    const keys = new Set(wanted.map(keyOf));
    for (const [key, { element }] of this.#shown) if (!keys.has(key)) this.#hide(key, element);
    const current = this.#current;
    height(this.#above, from * this.#rowHeight);
    height(this.#below, (this.#rows.length - Math.min(to, this.#rows.length)) * this.#rowHeight);
    /** @type {Element | null} */
    let next = this.#above.nextElementSibling;
    for (const [i, row] of wanted.entries()) {
      const { element } = this.#place(row, from + i, current);
      if (element === next) next = element.nextElementSibling;
      else this.#body.insertBefore(element, next);
    }
  }

  /**
   * @param {number} top
   * @param {number} seen
   * @returns {[number, number]}
   */
  #window(top, seen) {
    const last = Math.max(0, this.#rows.length - Math.ceil(seen / this.#rowHeight));
    const first = Math.min(last, Math.floor(top / this.#rowHeight));
    const from = Math.max(0, first - OVERSCAN);
    return [from, first + Math.ceil(seen / this.#rowHeight) + OVERSCAN];
  }

  /** Key of the row to which Tab leads: the one that was left last, else the first. */
  get #current() {
    const [first] = this.#rows;
    if (this.#active !== undefined && this.#places.has(this.#active)) return this.#active;
    return first === undefined ? '' : this.#o.keyOf(first);
  }

  /**
   * @param {R} row
   * @param {number} index
   * @param {string} current
   */
  #place(row, index, current) {
    const { columns, keyOf, toneOf } = this.#o;
    const key = keyOf(row);
    const shown = this.#shown.get(key) ?? this.#make(key);
    const { element, cells } = shown;
    shown.row = row;
    setAttribute(element, 'aria-rowindex', String(index + 2));
    setAttribute(element, 'aria-selected', String(key === this.#selected));
    setAttribute(element, 'tabindex', key === current ? '0' : '-1');
    setAttribute(element, 'class', toneOf?.(row) ?? '');
    for (const [i, column] of columns.entries()) {
      const cell = /** @type {HTMLTableCellElement} */ (cells[i]);
      const text = column.show(row, cell);
      if (text === undefined) continue;
      setText(cell, text);
      setAttribute(cell, 'title', cell.textContent ?? '');
    }
    return shown;
  }

  /** @param {string} key */
  #make(key) {
    const cells = this.#o.columns.map((column) => this.#cell(column));
    const element = el('tr', {}, ...cells);
    element.dataset.key = key;
    const shown = { row: undefined, element, cells };
    this.#shown.set(key, shown);
    return shown;
  }

  /** @param {Column<R>} column */
  #cell({ key, title }) {
    const isMain = key === this.#o.main;
    return el('td', { class: `c-${key}${isMain ? ' main' : ''}`, 'data-title': title });
  }

  /**
   * @param {string} key
   * @param {HTMLElement} element
   */
  #hide(key, element) {
    // The focus must not fall to the page when its row scrolls away.
    if (element.contains(document.activeElement)) this.#scroller.focus({ preventScroll: true });
    element.remove();
    this.#shown.delete(key);
  }

  #listen() {
    const hold = () => {
      this.#heldUntil = steadyNow() + HOLD_MS;
    };
    this.#scroller.tabIndex = -1;
    this.#body.addEventListener('pointermove', hold, { passive: true });
    this.#body.addEventListener('focusin', ({ target }) => {
      hold();
      const row = target instanceof Element ? target.closest('tr[data-key]') : null;
      if (row instanceof HTMLElement) this.#active = row.dataset.key;
    });
    this.#body.addEventListener('pointerleave', () => {
      this.#heldUntil = 0;
    });
    this.#body.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest('tr[data-key]') : null;
      if (row instanceof HTMLElement) this.#open(row.dataset.key ?? '');
    });
    this.#scroller.addEventListener('keydown', (event) => {
      if (event.target instanceof Element && event.target.closest('thead')) return;
      hold();
      if (this.#key(event.key)) event.preventDefault();
    });
  }

  /**
   * @param {string} key
   * @returns {boolean} whether it meant something
   */
  #key(key) {
    const place = this.#places.get(this.#current) ?? 0;
    const page = Math.max(1, Math.floor(this.#scroller.clientHeight / this.#rowHeight) - 2);
    const to = moveOf(key, { place, last: this.#rows.length - 1, page });
    if (to !== undefined) return this.#moveTo(to);
    const row = this.#rows[place];
    if (row === undefined) return false;
    if (key === 'Enter') return this.#open(this.#o.keyOf(row));
    if (key !== ' ' || !this.#o.onMark) return false;
    this.#o.onMark(row);
    return true;
  }

  /** @param {number} place */
  #moveTo(place) {
    const row = this.#rows[place];
    if (row === undefined) return false;
    this.#active = this.#o.keyOf(row);
    const top = place * this.#rowHeight;
    const { scrollTop, clientHeight } = this.#scroller;
    const headHeight = this.#table.tHead?.offsetHeight ?? 0;
    if (top < scrollTop) this.#scroller.scrollTop = top;
    const bottom = top + this.#rowHeight + headHeight;
    if (bottom > scrollTop + clientHeight) this.#scroller.scrollTop = bottom - clientHeight;
    this.draw();
    this.#shown.get(this.#active)?.element.focus({ preventScroll: true });
    return true;
  }

  /** @param {string} key */
  #open(key) {
    const row = this.#rows[this.#places.get(key) ?? -1];
    if (row === undefined || !this.#o.onOpen) return false;
    this.#active = key;
    this.#o.onOpen(row);
    return true;
  }
}

function spacer() {
  return el('tr', { class: 'spacer', 'aria-hidden': 'true' });
}

/**
 * @param {HTMLElement} element
 * @param {number} px
 */
function height(element, px) {
  const text = `${px}px`;
  if (element.style.height !== text) element.style.height = text;
}
