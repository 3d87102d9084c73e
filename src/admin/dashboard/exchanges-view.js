import { el, picker, setText } from './dom.js';
import { ago, left, span, when } from './format.js';
import { createFrame, createLoader, hashOf, pathPart } from './frame.js';
import { Grid } from './grid.js';
import { brief, visible } from './plain-text.js';
import { showState } from './states.js';
import { exchangeFacts, timeline } from './timeline.js';

/** @typedef {import('./shapes.d.ts').Trail} Trail */
/** @typedef {import('./shapes.d.ts').Page<Trail>} Trails */

const MOST = 200;
const EVERY_MS = 2_000;

/** What of the exchanges is shown. */
class Choice {
  state = 'waiting';
  lane = '';
  selected = '';

  /** @param {string} selected */
  hash(selected = this.selected) {
    const { state, lane } = this;
    const query = new URLSearchParams({ state, ...(lane && { lane }) });
    return `${hashOf('exchanges', selected === '' ? undefined : selected)}?${query}`;
  }
}

/**
 * Exchanges: who waits, what for and how long still; what runs; what ended lately; and the trail of each.
 * @param {import('./frame.js').Context} context
 * @returns {import('./frame.js').View}
 */
export function exchangesView(context) {
  const { api, go } = context;
  const choice = new Choice();
  const grid = exchangeGrid((one) => go(choice.hash(one.id)));
  const tools = exchangeTools(context, choice);
  const { element, panel } = createFrame(context, {
    name: 'exchanges',
    title: 'Exchanges',
    intro:
      'An exchange is one client request with its one final answer. Waiting is not hanging: each says what for, and how long still.',
    tools: tools.elements,
    grid,
    listHash: () => choice.hash(''),
  });
  const details = trailDetails(context, choice, panel);
  const list = createLoader(context, async () => {
    const { state, lane } = choice;
    const query = new URLSearchParams({
      limit: String(MOST),
      ...(state !== 'all' && { state }),
      ...(lane && { lane }),
    });
    /** @type {Trails} */
    const page = await api.get(`/exchanges?${query}`);
    grid.setRows(page.items);
    tools.showCount(page.next === null ? '' : `The newest ${MOST} are shown.`);
  });
  return {
    element,
    open(id, query) {
      choice.state = query.get('state') ?? (id === '' ? 'waiting' : 'all');
      choice.lane = query.get('lane') ?? '';
      choice.selected = id;
      tools.show();
      grid.select(id);
      details.open();
      void list.load();
    },
    update(topics) {
      // In heavy traffic something happens in every frame.
      if (topics.has('exchanges')) list.loadIfOlder(EVERY_MS);
    },
    tick() {
      grid.draw();
      details.tick();
      list.loadIfOlder(EVERY_MS);
    },
  };
}

/**
 * @param {import('./frame.js').Context} context
 * @param {Choice} choice
 */
function exchangeTools({ go }, choice) {
  const laneNote = el('p', { class: 'filter', hidden: true });
  const count = el('p', { class: 'filter' });
  const options = /** @type {const} */ ([
    ['waiting', 'waiting'],
    ['running', 'running'],
    ['done', 'ended lately'],
    ['all', 'all'],
  ]);
  const choose = picker({ label: 'Show', options, value: choice.state }, (state) => {
    choice.state = state;
    go(choice.hash());
  });
  return {
    elements: [choose.element, laneNote, count],
    show() {
      const { state, lane } = choice;
      choose.select.value = state;
      laneNote.hidden = lane === '';
      const all = el('a', { href: `${hashOf('exchanges')}?state=${state}` }, 'All lanes');
      laneNote.replaceChildren(`Lane ${visible(lane)} only. `, all);
    },
    /** @param {string} text */
    showCount: (text) => setText(count, text),
  };
}

/**
 * The trail of the exchange that is looked at, followed until it ends.
 * @param {import('./frame.js').Context} context
 * @param {Choice} choice
 * @param {ReturnType<typeof createFrame>['panel']} panel
 */
function trailDetails(context, choice, panel) {
  const line = timeline();
  /** @type {Trail | undefined} */
  let trail;
  const show = () => {
    if (choice.selected === '') return panel.hide();
    if (trail?.id !== choice.selected) return;
    const { id, method, url, attempts, attempted, started_at: startedAt, stage, end } = trail;
    const letter = end?.dead_letter;
    const over = end && new Date(Date.parse(startedAt) + end.duration_ms).toISOString();
    const endsAt = over ?? stage?.until ?? null;
    line.show(attempts, { attempted, startedAt, endsAt }, stage ? doing(trail) : '');
    panel.show({
      key: id,
      title: `${method} ${brief(url, 120)}`,
      facts: exchangeFacts(trail),
      actions: letter
        ? [{ label: 'Its dead letter', act: () => context.go(hashOf('dead-letters', letter)) }]
        : [],
      lead: [line.element],
    });
  };
  const loader = createLoader(context, async () => {
    const id = choice.selected;
    if (id === '' || (trail?.id === id && trail.end)) return;
    trail = await context.api.get(`/exchanges/${pathPart(id)}`);
    show();
  });
  return {
    open() {
      show();
      void loader.load();
    },
    tick() {
      show();
      loader.loadIfOlder(900);
    },
  };
}

/** @param {(row: Trail) => void} onOpen */
function exchangeGrid(onOpen) {
  return /** @type {Grid<Trail>} */ (
    new Grid({
      label: 'Exchanges',
      keyOf: ({ id }) => id,
      empty: 'There is none.',
      main: 'url',
      onOpen,
      toneOf: ({ state }) => (state === 'done' ? 'faded' : ''),
      columns: [
        { key: 'state', title: 'State', show: (one, cell) => void showState(cell, one.state) },
        { key: 'why', title: 'Doing, or waiting for', show: why },
        { key: 'until', title: 'Still', hint: STILL, show: still },
        { key: 'for', title: 'Since', show: lasted },
        { key: 'tries', title: 'Tries', show: (one) => String(one.attempted) },
        { key: 'url', title: 'Request', show: (one) => `${one.method} ${brief(one.url)}` },
        { key: 'client', title: 'Client', show: (one) => brief(one.client) },
      ],
    })
  );
}

const STILL = 'How long it waits still; with ≤ where only its patience sets an end';

/** @param {Trail} trail */
function still({ state, stage, deadline }) {
  if (stage?.until) return left(stage.until);
  return state === 'waiting' ? `≤ ${left(deadline)}` : '';
}

/** @param {Trail} trail */
function why({ stage, end }) {
  if (stage) return stage.explain;
  if (!end) return '';
  const how = end.stop ?? end.verdict ?? '';
  return `${end.answered}${how && how !== 'none/ok' ? ` ${how}` : ''}`;
}

/** @param {Trail} trail */
function doing(trail) {
  const rest = still(trail);
  const sign = trail.state === 'waiting' ? '‖' : '●';
  return `${sign} now: ${trail.stage?.explain}${rest && `, ${rest} still`}`;
}

/** @param {Trail} trail */
function lasted({ started_at, end }) {
  return end ? `${span(end.duration_ms)}, ${when(started_at)}` : ago(started_at);
}
