import { button, el, setText } from './dom.js';

/** @typedef {readonly [label: string, value: string]} Fact */
/** @typedef {{ label: string, act: () => void, tone?: 'danger' }} Action */
/**
 * @typedef {object} Details
 * @property {string} key of what is shown
 * @property {string} title
 * @property {readonly Fact[]} facts
 * @property {readonly Action[]} actions
 * @property {readonly Node[]} [lead] above the facts; the same nodes each time, or nothing in them may hold the focus
 * @property {readonly Node[]} [more] the same below the facts
 */

/**
 * Details of one thing, beside the list. It is shown anew every second: what stays the same is left alone, so that
 * neither the focus nor a selection is lost.
 * @param {() => void} onClose
 */
export function createPanel(onClose) {
  const title = el('h2', { tabindex: '-1' });
  const facts = el('dl', { class: 'facts' });
  const buttons = el('div', { class: 'buttons' });
  const lead = el('div', { class: 'more' });
  const more = el('div', { class: 'more' });
  const head = el(
    'div',
    { class: 'panel-head' },
    title,
    button('Close', onClose, { class: 'quiet' }),
  );
  const element = el(
    'aside',
    { class: 'panel', 'aria-label': 'Details', hidden: true },
    head,
    buttons,
    lead,
    facts,
    more,
  );
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    onClose();
  });
  const shownButtons = new ButtonRow(buttons);
  let key = '';
  return {
    element,
    /** @param {Details} details */
    show(details) {
      const isNew = element.hidden || key !== details.key;
      key = details.key;
      element.hidden = false;
      setText(title, details.title);
      showFacts(facts, details.facts);
      shownButtons.show(details.key, details.actions);
      fill(lead, details.lead ?? []);
      fill(more, details.more ?? []);
      if (isNew) {
        element.scrollTop = 0;
        title.focus({ preventScroll: true });
      }
    },
    hide() {
      element.hidden = true;
      key = '';
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {readonly Node[]} nodes
 */
function fill(place, nodes) {
  const { childNodes } = place;
  place.hidden = nodes.length === 0;
  if (nodes.length === childNodes.length && nodes.every((one, i) => one === childNodes[i])) return;
  place.replaceChildren(...nodes);
}

class ButtonRow {
  #element;
  #signature = '';
  /** @type {Map<string, () => void>} */
  #acts = new Map();

  /** @param {HTMLElement} element */
  constructor(element) {
    this.#element = element;
  }

  /**
   * @param {string} key
   * @param {readonly Action[]} actions
   */
  show(key, actions) {
    this.#acts = new Map(actions.map(({ label, act }) => [label, act]));
    const signature = JSON.stringify([key, ...this.#acts.keys()]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    const hadFocus = this.#element.contains(document.activeElement);
    this.#element.hidden = actions.length === 0;
    this.#element.replaceChildren(
      ...actions.map(({ label, tone }) =>
        button(label, () => this.#acts.get(label)?.(), tone && { class: tone }),
      ),
    );
    // "Isolate" has become "Resume": whoever stood there stands there still.
    const first = this.#element.firstElementChild;
    if (hadFocus && first instanceof HTMLElement) first.focus();
  }
}

/**
 * @param {HTMLDListElement} list
 * @param {readonly Fact[]} facts
 */
function showFacts(list, facts) {
  const labels = [...list.querySelectorAll('dt')].map((dt) => dt.textContent);
  const isSame = labels.length === facts.length && facts.every(([label], i) => label === labels[i]);
  if (!isSame) {
    list.replaceChildren(...facts.map(([label]) => el('div', {}, el('dt', {}, label), el('dd'))));
  }
  const values = list.querySelectorAll('dd');
  for (const [i, [, value]] of facts.entries()) {
    const place = values[i];
    if (place) setText(place, value);
  }
}
