import { ApiError } from './api.js';
import { button, el, setText, statePicker } from './dom.js';
import { counted, left, when } from './format.js';
import { createFrame, createLoader, hashOf, pathPart } from './frame.js';
import { Grid } from './grid.js';
import { dropLetters, redriveAll, redriveLetters } from './letter-acts.js';
import { letterDetails } from './letter-details.js';
import { brief } from './plain-text.js';
import { showState, stateWord } from './states.js';

/** @typedef {import('./shapes.d.ts').Letter} Letter */
/** @typedef {import('./frame.js').Context} Context */

const PAGE = 200;
const MOST = 2_000;
const LETTER_STATES = ['parked', 'needs_client', 'redriving', 'done', 'expired'];

/**
 * Dead letters: what was given up and kept, to send again or to drop.
 * @param {Context} context
 * @returns {import('./frame.js').View}
 */
export function lettersView(context) {
  const { go } = context;
  let selected = '';
  /** @type {Set<string>} */
  const marked = new Set();
  const list = letterList(context, () => {
    for (const id of marked) if (!list.letters.some((one) => one.id === id)) marked.delete(id);
    refresh();
  });
  const mark = (/** @type {Letter} */ { id }) => {
    if (!marked.delete(id)) marked.add(id);
    refresh();
  };
  const grid = letterGrid({ marked, mark, open: (one) => go(hashOf('dead-letters', one.id)) });
  const tools = letterTools(context, { marked, list });
  const { element, panel } = createFrame(context, {
    name: 'dead-letters',
    title: 'Dead letters',
    intro:
      'Requests that were given up and kept, with everything needed to send them again. The space bar marks a row.',
    tools: tools.elements,
    grid,
  });
  const details = letterDetails(context, () => list.load());
  const refresh = () => {
    grid.setRows(list.letters);
    tools.show();
    showDetails();
  };
  const showDetails = () => {
    const letter = list.find(selected);
    if (letter) panel.show(details(letter));
    else panel.hide();
  };
  return {
    element,
    open(id) {
      selected = id;
      list.wanted = id;
      grid.select(id);
      showDetails();
      void list.load();
    },
    update(topics) {
      if (topics.has('letters')) list.loadSoon();
    },
    tick() {
      grid.draw();
      showDetails();
      list.tick();
    },
  };
}

/**
 * The letters as far as they were loaded.
 * @param {Context} context
 * @param {() => void} onChange
 */
function letterList(context, onChange) {
  const { api } = context;
  let isDue = false;
  let most = PAGE;
  const list = {
    /** @type {readonly Letter[]} */
    letters: [],
    /** @type {Letter | undefined} */
    other: undefined,
    state: '',
    host: '',
    hasMore: false,
    /** One that is looked at, wherever it is in the list. */
    wanted: '',
    load: () => loader.load(),
    loadSoon: () => {
      isDue = true;
    },
    loadMore: () => {
      most = Math.min(MOST, most + PAGE * 5);
      void list.load();
    },
    tick: () => {
      if (isDue) loader.loadIfOlder(500);
    },
    /** @param {string} id */
    find: (id) =>
      list.letters.find((one) => one.id === id) ?? (list.other?.id === id ? list.other : undefined),
  };
  const loader = createLoader(context, async () => {
    isDue = false;
    const query = new URLSearchParams({
      ...(list.state && { state: list.state }),
      ...(list.host && { host: list.host }),
    });
    const found = await api.all(`/dead-letters?${query}`, { most });
    list.letters = /** @type {Letter[]} */ (found.items);
    list.hasMore = !found.isWhole;
    if (list.wanted !== '' && !list.letters.some(({ id }) => id === list.wanted)) {
      list.other = await letterOrNone(api, list.wanted);
    } else list.other = undefined;
    onChange();
  });
  return list;
}

/**
 * One letter; undefined when it was dropped meanwhile.
 * @param {Context['api']} api
 * @param {string} id
 * @returns {Promise<Letter | undefined>}
 */
async function letterOrNone(api, id) {
  try {
    return await api.get(`/dead-letters/${pathPart(id)}`);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * @param {Context} context
 * @param {{ marked: Set<string>, list: ReturnType<typeof letterList> }} o
 */
function letterTools(context, { marked, list }) {
  const states = LETTER_STATES.map((one) => /** @type {const} */ ([one, stateWord(one)]));
  const choose = statePicker(states, (chosen) => {
    list.state = chosen;
    void list.load();
  });
  const host = el('input', { type: 'search', spellcheck: 'false', autocomplete: 'off' });
  host.addEventListener('change', () => {
    list.host = host.value.trim().toLowerCase();
    void list.load();
  });
  const done = async (/** @type {Promise<unknown>} */ act) => {
    if ((await act) === undefined) return;
    marked.clear();
    await list.load();
  };
  const ids = () => [...marked];
  const redrive = button('Redrive marked', () => void done(redriveLetters(context, ids())));
  const drop = button('Drop marked', () => void done(dropLetters(context, ids())), {
    class: 'danger',
  });
  const due = button('Redrive what is due', () => void done(redriveAll(context, 'due')));
  const all = button('Redrive all', () => void done(redriveAll(context, 'all')));
  const more = button('Load more', list.loadMore);
  const count = el('span', { class: 'filter', role: 'status' });
  return {
    elements: [
      choose,
      el('label', { class: 'field' }, el('span', {}, 'Host'), host),
      ...[redrive, drop, due, all, more, count],
    ],
    show() {
      redrive.disabled = marked.size === 0;
      drop.disabled = marked.size === 0;
      more.hidden = !list.hasMore || list.letters.length >= MOST;
      const some = list.hasMore ? 'The newest ' : '';
      const chosen = marked.size > 0 ? `, ${marked.size} marked` : '';
      setText(count, `${some}${counted(list.letters.length, 'letter')}${chosen}`);
    },
  };
}

/** @param {{ marked: Set<string>, mark: (row: Letter) => void, open: (row: Letter) => void }} o */
function letterGrid({ marked, mark, open }) {
  return /** @type {Grid<Letter>} */ (
    new Grid({
      label: 'Dead letters',
      keyOf: ({ id }) => id,
      empty: 'There is none.',
      main: 'url',
      onOpen: open,
      onMark: mark,
      columns: [
        {
          key: 'mark',
          title: 'Mark',
          show: (letter, cell) =>
            void showMark(cell, { letter, isMarked: marked.has(letter.id), mark }),
        },
        { key: 'state', title: 'State', show: (one, cell) => void showState(cell, one.state) },
        {
          key: 'until',
          title: 'Due in',
          show: (one) => (one.state === 'parked' ? left(one.due_at) : ''),
        },
        { key: 'why', title: 'Why', show: (one) => one.stop ?? one.reason },
        { key: 'times', title: 'Times', show: (one) => String(one.count) },
        { key: 'url', title: 'Request', show: (one) => `${one.method} ${brief(one.url)}` },
        { key: 'parked', title: 'Parked', show: (one) => when(one.parked_at) },
      ],
    })
  );
}

/**
 * @param {HTMLElement} cell
 * @param {{ letter: Letter, isMarked: boolean, mark: (row: Letter) => void }} o
 */
function showMark(cell, { letter, isMarked, mark }) {
  let box = cell.querySelector('input');
  if (!box) {
    // The space bar does the same on the row: a stop for each box would be a long way.
    box = el('input', { type: 'checkbox', tabindex: '-1' });
    cell.replaceChildren(box);
    box.addEventListener('click', (event) => event.stopPropagation());
  }
  box.setAttribute('aria-label', `Mark ${brief(letter.id)}`);
  box.checked = isMarked;
  box.onchange = () => mark(letter);
}
