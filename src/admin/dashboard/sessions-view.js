import { statePicker } from './dom.js';
import { ago, left, when } from './format.js';
import { command, createFrame, createLoader, hashOf, pathPart } from './frame.js';
import { Grid } from './grid.js';
import { brief, visible } from './plain-text.js';
import { showState, stateWord } from './states.js';

/** @typedef {import('./shapes.d.ts').SessionRow} SessionRow */

const MOST = 5_000;
const EVERY_MS = 5_000;
const SESSION_STATES = ['active', 'burned', 'expired'];

/**
 * Sessions: which id has which address, and which ids are refused still.
 * @param {import('./frame.js').Context} context
 * @returns {import('./frame.js').View}
 */
export function sessionsView(context) {
  const { api, go } = context;
  let selected = '';
  let state = '';
  /** @type {SessionRow[]} */
  let sessions = [];
  const grid = sessionGrid((one) => go(hashOf('sessions', one.id)));
  const refresh = () => grid.setRows(sessions.filter((one) => state === '' || one.state === state));
  const states = SESSION_STATES.map((one) => /** @type {const} */ ([one, one]));
  const choose = statePicker(states, (chosen) => {
    state = chosen;
    refresh();
  });
  const { element, panel } = createFrame(context, {
    name: 'sessions',
    title: 'Sessions',
    intro: 'A session is one id with one address. The address under an id is never swapped.',
    tools: [choose],
    grid,
  });
  const end = async (/** @type {string} */ id) => {
    await command(context, {
      title: 'End this session?',
      text: `${visible(id)} is ended, as its client would end it. The id may begin anew at once, with another address.`,
      verb: 'End',
      call: () => api.act('DELETE', `/sessions/${pathPart(id)}`),
      done: `${id} has ended.`,
    });
    await all.load();
  };
  const showDetails = () => {
    const one = sessions.find(({ id }) => id === selected);
    if (!one) return panel.hide();
    panel.show({
      key: one.id,
      title: visible(one.id),
      facts: sessionFacts(one),
      actions:
        one.state === 'active'
          ? [{ label: 'End', tone: 'danger', act: () => void end(one.id) }]
          : [],
    });
  };
  const all = createLoader(context, async () => {
    sessions = (await api.all('/sessions', { most: MOST })).items;
    refresh();
    showDetails();
  });
  return {
    element,
    open(id) {
      selected = id;
      grid.select(id);
      showDetails();
      void all.load();
    },
    update(topics) {
      if (topics.has('sessions')) all.loadIfOlder(500);
    },
    tick() {
      grid.draw();
      showDetails();
      all.loadIfOlder(EVERY_MS);
    },
  };
}

/** @param {(row: SessionRow) => void} onOpen */
function sessionGrid(onOpen) {
  return /** @type {Grid<SessionRow>} */ (
    new Grid({
      label: 'Sessions',
      keyOf: ({ id }) => id,
      empty: 'There is none: a client begins one with Forbear-Session or a login of its own.',
      main: 'session',
      sortBy: 'session',
      onOpen,
      columns: [
        {
          key: 'session',
          title: 'Session',
          show: ({ id }) => brief(id),
          compare: (a, b) => (a.id < b.id ? -1 : 1),
        },
        {
          key: 'state',
          title: 'State',
          show: ({ state }, cell) => void showState(cell, state),
          compare: (a, b) => (a.state < b.state ? -1 : a.state > b.state ? 1 : 0),
        },
        {
          key: 'until',
          title: 'Ends, or free again, in',
          show: (one) => left(one.ends_at ?? one.refused_until),
        },
        { key: 'route', title: 'Route', show: ({ route }) => brief(route ?? '–') },
        {
          key: 'used',
          title: 'Used',
          show: ({ last_used_at }) => (last_used_at ? `${ago(last_used_at)} ago` : '–'),
          compare: (a, b) => ((a.last_used_at ?? '') < (b.last_used_at ?? '') ? -1 : 1),
          first: 'descending',
        },
      ],
    })
  );
}

/**
 * @param {SessionRow} one
 * @returns {import('./panel.js').Fact[]}
 */
function sessionFacts(one) {
  /** @type {import('./panel.js').Fact[]} */
  const facts = [['State', stateWord(one.state)]];
  const add = (/** @type {string} */ label, /** @type {string | null} */ value) => {
    if (value !== null) facts.push([label, value]);
  };
  const at = (/** @type {string | null} */ iso) => iso && when(iso);
  add('Upstream', one.upstream && visible(one.upstream));
  add('Route', one.route && visible(one.route));
  add('Country', one.country && visible(one.country));
  add('Began', at(one.created_at));
  add('Last used', at(one.last_used_at));
  add('Ends unless it is used', one.ends_at && `in ${left(one.ends_at)} (${when(one.ends_at)})`);
  add(
    'Its id is refused for',
    one.refused_until && `${left(one.refused_until)} (until ${when(one.refused_until)})`,
  );
  return facts;
}
