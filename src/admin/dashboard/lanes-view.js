import { chartLegend, rateChart } from './chart.js';
import { proxyNow } from './clock.js';
import { button, el, finder, setText, statePicker } from './dom.js';
import { left, money, percent } from './format.js';
import { createFrame, hashOf } from './frame.js';
import { Grid } from './grid.js';
import { isolateAny, laneDetails } from './lane-details.js';
import { byTrouble, endsAt, rateOf } from './lane-order.js';
import { brief } from './plain-text.js';
import { showState, stateWord } from './states.js';

/** @typedef {import('./frame.js').Context} Context */
/** @typedef {import('./shapes.d.ts').Lane} Lane */
/** @typedef {import('./rates.js').Rates} Rates */

const STATES = ['isolated', 'breaker_open', 'breaker_half_open', 'paused', 'active', 'idle'];

/**
 * The lanes: what each host gets, and how it does.
 * @param {Context} context
 * @returns {import('./frame.js').View}
 */
export function lanesView(context) {
  const { model } = context;
  let text = '';
  let state = '';
  let selected = '';
  const refresh = () => {
    const lanes = [...model.lanes.values()].filter(
      (lane) => lane.id.includes(text) && (state === '' || lane.state === state),
    );
    grid.setRows(lanes);
  };
  const grid = laneGrid(context, refresh);
  const find = finder('Find a host', (typed) => {
    text = typed;
    refresh();
  });
  const states = STATES.map((one) => /** @type {const} */ ([one, stateWord(one)]));
  const choose = statePicker(states, (chosen) => {
    state = chosen;
    refresh();
  });
  const isolate = button('Isolate a host…', () => void isolateAny(context));
  const { element, panel } = createFrame(context, {
    name: 'lanes',
    title: 'Lanes',
    tools: [find.element, choose, isolate, chartLegend()],
    grid,
  });
  const details = laneDetails(context);
  const showDetails = () => {
    const lane = model.lanes.get(selected);
    if (lane) panel.show(details(lane));
    else panel.hide();
  };
  return {
    element,
    open(id) {
      selected = id;
      grid.select(id);
      refresh();
      showDetails();
    },
    update(topics) {
      if (topics.has('lanes')) refresh();
      if (topics.has('lanes') || topics.has('spend')) showDetails();
    },
    tick() {
      grid.draw();
      showDetails();
    },
  };
}

/** What of a lane is a number. */
const FIGURES = /** @type {readonly import('./grid-head.js').Column<Lane>[]} */ ([
  {
    key: 'flight',
    title: 'In flight',
    show: (lane) => `${lane.in_flight} of ${lane.concurrency}`,
    compare: (a, b) => a.in_flight - b.in_flight,
    first: 'descending',
  },
  {
    key: 'waiting',
    title: 'Waiting',
    show: (lane) => String(lane.waiting),
    compare: (a, b) => a.waiting - b.waiting,
    first: 'descending',
  },
  {
    key: 'rate',
    title: 'Rate',
    hint: 'Starts per second: learned or configured, whichever is less',
    show: rateOf,
    compare: (a, b) => (a.rate ?? Infinity) - (b.rate ?? Infinity),
  },
  {
    key: 'budget',
    title: 'Budget',
    hint: 'Retries that may be scheduled now',
    show: (lane) => String(Math.floor(lane.budget)),
    compare: (a, b) => a.budget - b.budget,
  },
]);

/**
 * @param {Context} context
 * @param {() => void} refresh
 */
function laneGrid({ model, go }, refresh) {
  /** @type {WeakMap<HTMLElement, ReturnType<typeof rateCell>>} */
  const charts = new WeakMap();
  const price = (/** @type {Lane} */ lane) =>
    model.spend?.lanes.find(({ name }) => name === lane.id)?.price;
  const grid = /** @type {Grid<Lane>} */ (
    new Grid({
      label: 'Lanes',
      keyOf: (lane) => lane.id,
      empty: 'No lane yet: a host gets one with its first request.',
      sortBy: 'state',
      onOpen: (lane) => go(hashOf('lanes', lane.id)),
      toneOf: (lane) => (lane.state === 'idle' ? 'faded' : ''),
      main: 'host',
      columns: [
        {
          key: 'host',
          title: 'Host',
          show: (lane) => brief(lane.id),
          compare: (a, b) => (a.id < b.id ? -1 : 1),
        },
        {
          key: 'state',
          title: 'State',
          show: (lane, cell) => void showState(cell, lane.state),
          compare: byTrouble,
        },
        { key: 'until', title: 'Ends in', show: (lane) => left(endsAt(lane)) },
        {
          key: 'breaker',
          title: 'Breaker',
          hint: 'Open: the host fails, and is left alone. Half open: one request tries whether it is back.',
          show: (lane) => lane.breaker.replace('_', ' '),
        },
        {
          key: 'rates',
          title: 'Success, retries',
          hint: 'Solid: exchanges that ended well. Dashed: attempts that were retries. Last five minutes.',
          show(lane, cell) {
            const chart = charts.get(cell) ?? rateCell(cell);
            charts.set(cell, chart);
            chart(model.ratesOf(lane.id));
            return undefined;
          },
        },
        ...FIGURES,
        {
          key: 'spend',
          title: 'Spend',
          show: (lane) => money(price(lane) ?? null),
          compare: (a, b) => (price(a) ?? 0) - (price(b) ?? 0),
          first: 'descending',
        },
      ],
    })
  );
  // Rows that were held come into order again.
  grid.element.addEventListener('pointerleave', refresh);
  return grid;
}

/**
 * A small chart with its numbers.
 * @param {HTMLElement} cell
 */
function rateCell(cell) {
  const chart = rateChart(96, 22);
  const numbers = el('span', { class: 'numbers', 'aria-hidden': 'true' });
  cell.replaceChildren(chart.element, numbers);
  return (/** @type {Rates | undefined} */ rates) => {
    const now = proxyNow();
    const recent = rates?.recent(now) ?? { success: undefined, retry: undefined };
    chart.draw(rates?.points(now) ?? [], recent);
    const isSilent = recent.success === undefined && recent.retry === undefined;
    setText(numbers, isSilent ? '' : `${percent(recent.success)}, ${percent(recent.retry)}`);
  };
}
