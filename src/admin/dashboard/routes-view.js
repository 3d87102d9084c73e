import { el, picker, statePicker } from './dom.js';
import { left, rounded, span, when } from './format.js';
import { command, createFrame, createLoader, hashOf, pathPart } from './frame.js';
import { Grid } from './grid.js';
import { brief, visible } from './plain-text.js';
import { showState, stateWord } from './states.js';

/** @typedef {import('./frame.js').Context} Context */
/** @typedef {import('./shapes.d.ts').RouteRow} RouteRow */
/** @typedef {import('./shapes.d.ts').UpstreamRow} UpstreamRow */
/** @typedef {import('./shapes.d.ts').Reputation} Reputation */

const MOST = 5_000;
const EVERY_MS = 5_000;

/**
 * The ways out, what is known of them, and which are out until when.
 * @param {Context} context
 * @returns {import('./frame.js').View}
 */
export function routesView(context) {
  const { api, go } = context;
  let selected = '';
  let state = '';
  /** @type {RouteRow[]} */
  let routes = [];
  /** @type {readonly Reputation[]} */
  let reputation = [];
  const upstreams = el('ul', { class: 'upstreams', 'aria-label': 'Upstreams' });
  const grid = routeGrid((route) => go(hashOf('routes', route.id)));
  const table = reputationTable();
  const states = /** @type {const} */ ([
    ['in', 'in use'],
    ['ejected', 'ejected'],
  ]);
  const choose = statePicker(states, (chosen) => {
    state = chosen;
    refresh();
  });
  const tools = [choose, upstreams];
  const { element, panel } = createFrame(context, { name: 'routes', title: 'Routes', tools, grid });
  const refresh = () => grid.setRows(routes.filter((one) => state === '' || one.state === state));
  const showDetails = () => {
    const route = routes.find(({ id }) => id === selected);
    if (!route) return panel.hide();
    table.show(reputation);
    panel.show({
      key: route.id,
      title: visible(route.label),
      facts: routeFacts(route),
      actions: [routeAction(context, route, all.load)],
      more: [table.element],
    });
  };
  const known = createLoader(context, async () => {
    const id = selected;
    if (id === '') return;
    const { items } = await api.get(`/routes/${pathPart(id)}/reputation`);
    if (id !== selected) return;
    reputation = items;
    showDetails();
  });
  const all = createLoader(context, async () => {
    const { items, first } = await api.all('/routes', { most: MOST });
    routes = /** @type {RouteRow[]} */ (items);
    showUpstreams(upstreams, /** @type {UpstreamRow[]} */ (first.upstreams));
    refresh();
    showDetails();
    await known.load();
  });
  return {
    element,
    open(id) {
      if (id !== selected) reputation = [];
      selected = id;
      grid.select(id);
      showDetails();
      void all.load();
    },
    update(topics) {
      if (topics.has('routes')) all.loadIfOlder(500);
    },
    tick() {
      grid.draw();
      showDetails();
      all.loadIfOlder(EVERY_MS);
    },
  };
}

/** @param {(route: RouteRow) => void} onOpen */
function routeGrid(onOpen) {
  const rank = (/** @type {RouteRow} */ { state }) => (state === 'ejected' ? 0 : 1);
  return /** @type {Grid<RouteRow>} */ (
    new Grid({
      label: 'Routes',
      keyOf: ({ id }) => id,
      empty: 'No route yet: a gateway has one with its first request.',
      main: 'route',
      sortBy: 'state',
      onOpen,
      columns: [
        {
          key: 'route',
          title: 'Route',
          show: ({ label }) => brief(label),
          compare: (a, b) => (a.label < b.label ? -1 : 1),
        },
        {
          key: 'state',
          title: 'State',
          show: ({ state }, cell) => void showState(cell, state),
          compare: (a, b) => rank(a) - rank(b),
        },
        { key: 'until', title: 'Back in', show: ({ ejected_until }) => left(ejected_until) },
        {
          key: 'sessions',
          title: 'Sessions',
          show: ({ sessions }) => String(sessions),
          compare: (a, b) => a.sessions - b.sessions,
          first: 'descending',
        },
        {
          key: 'upstream',
          title: 'Upstream',
          show: ({ upstream }) => brief(upstream),
          compare: (a, b) => (a.upstream < b.upstream ? -1 : 1),
        },
      ],
    })
  );
}

/**
 * @param {HTMLElement} list
 * @param {readonly UpstreamRow[]} rows
 */
function showUpstreams(list, rows) {
  list.replaceChildren(
    ...rows.map(({ name, kind, out_until }) =>
      el(
        'li',
        { class: out_until ? 'bad' : 'calm' },
        `${out_until ? '▲ ' : ''}${brief(name, 40)} (${kind})${out_until ? ` out until ${when(out_until)}` : ''}`,
      ),
    ),
  );
}

/**
 * @param {RouteRow} route
 * @returns {import('./panel.js').Fact[]}
 */
function routeFacts({ id, upstream, state, ejected_until, sessions }) {
  const until = ejected_until ? `, back in ${left(ejected_until)} (${when(ejected_until)})` : '';
  return [
    ['State', stateWord(state) + until],
    ['Upstream', visible(upstream)],
    ['Id', visible(id)],
    ['Sessions', String(sessions)],
  ];
}

/** What each lane knows of a route. */
function reputationTable() {
  const body = el('tbody');
  const heads = ['Lane', 'Score', 'Good', 'Bad', 'Time to head', 'Out'];
  const table = el(
    'table',
    { class: 'plain' },
    el(
      'caption',
      {},
      'Reputation: everywhere, and for each lane. Counts fade by half in 30 minutes.',
    ),
    el('thead', {}, el('tr', {}, ...heads.map((head) => el('th', { scope: 'col' }, head)))),
    body,
  );
  const element = el(
    'div',
    { class: 'scroll-x', tabindex: '0', role: 'region', 'aria-label': 'Reputation' },
    table,
  );
  return {
    element,
    /** @param {readonly Reputation[]} rows */
    show(rows) {
      body.replaceChildren(
        ...rows.map((row) =>
          el(
            'tr',
            {},
            el('th', { scope: 'row' }, row.lane === null ? 'everywhere' : visible(row.lane)),
            el('td', {}, row.score.toFixed(2)),
            el('td', {}, rounded(row.good)),
            el('td', {}, rounded(row.bad)),
            el('td', {}, row.head_ms === null ? '–' : span(row.head_ms)),
            el('td', {}, row.ejected_until ? `▲ ${left(row.ejected_until)}, ${row.reason}` : '–'),
          ),
        ),
      );
    },
  };
}

const SPANS = /** @type {const} */ ([
  ['3600000', '1 hour'],
  ['86400000', '1 day'],
  ['604800000', '7 days'],
]);

/**
 * @param {Context} context
 * @param {RouteRow} route
 * @param {() => Promise<void>} load
 * @returns {import('./panel.js').Action}
 */
function routeAction(context, { id, label, state }, load) {
  const path = `/routes/${pathPart(id)}`;
  const name = visible(label);
  if (state === 'ejected') {
    const restore = async () => {
      await command(context, {
        title: 'Restore this route?',
        text: `${name} is used again, by every lane. What is known of it stays.`,
        verb: 'Restore',
        call: () => context.api.act('POST', `${path}/restore`),
        done: `${label} is restored.`,
      });
      await load();
    };
    return { label: 'Restore', act: () => void restore() };
  }
  const eject = async () => {
    const length = picker({ label: 'For', options: SPANS, value: '86400000' });
    await command(context, {
      title: 'Eject this route?',
      text: `${name} is taken out everywhere. A gateway's address is replaced by a new one for good; the last routes of a list go on being used.`,
      verb: 'Eject',
      fields: [length.element],
      call: () => context.api.act('POST', `${path}/eject`, { for_ms: Number(length.select.value) }),
      done: (after) =>
        after.state === 'gone' ? `${label} is gone; the next is new.` : `${label} is ejected.`,
    });
    await load();
  };
  return { label: 'Eject', tone: 'danger', act: () => void eject() };
}
