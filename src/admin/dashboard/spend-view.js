import { el, setText } from './dom.js';
import { money, size, when } from './format.js';
import { createFrame } from './frame.js';
import { Grid } from './grid.js';
import { brief } from './plain-text.js';

/** @typedef {import('./shapes.d.ts').SpendRow} SpendRow */
/** @typedef {SpendRow & { readonly kind: 'upstream' | 'lane' }} Row */

/**
 * What the traffic cost, and what for.
 * @param {import('./frame.js').Context} context
 * @returns {import('./frame.js').View}
 */
export function spendView(context) {
  const { model } = context;
  const since = el('p', { class: 'filter' });
  const grid = spendGrid();
  const tools = [since];
  const { element } = createFrame(context, { name: 'spend', title: 'Spend', tools, grid });
  const refresh = () => {
    const { spend } = model;
    if (!spend) {
      setText(since, 'This process does not count what its traffic costs.');
      return grid.setRows([]);
    }
    setText(since, `Since ${when(spend.since)}, by price_per_gb of the upstreams.`);
    grid.setRows([
      ...spend.upstreams.map((row) => /** @type {const} */ ({ ...row, kind: 'upstream' })),
      ...spend.lanes.map((row) => /** @type {const} */ ({ ...row, kind: 'lane' })),
    ]);
  };
  return {
    element,
    open() {
      refresh();
      void model.loadSpend().catch(() => {});
    },
    update(topics) {
      if (topics.has('spend')) refresh();
    },
    tick: () => grid.draw(),
  };
}

function spendGrid() {
  const cause = (/** @type {Row} */ row, /** @type {string} */ name) =>
    /** @type {Readonly<Record<string, number>>} */ (row.bytes_by_cause)[name] ?? 0;
  const bytes = (/** @type {Row} */ row) => row.sent_bytes + row.received_bytes;
  /**
   * @param {string} key
   * @param {string} title
   */
  const column = (key, title) =>
    /** @type {import('./grid.js').Column<Row>} */ ({
      key,
      title,
      show: (row) => size(cause(row, key)),
      compare: (a, b) => cause(a, key) - cause(b, key),
      first: 'descending',
    });
  const rank = (/** @type {Row} */ { kind }) => (kind === 'upstream' ? 0 : 1);
  return /** @type {Grid<Row>} */ (
    new Grid({
      label: 'Spend',
      keyOf: ({ kind, name }) => `${kind} ${name}`,
      empty: 'Nothing was counted yet.',
      main: 'host',
      sortBy: 'kind',
      columns: [
        {
          key: 'kind',
          title: 'Of',
          show: ({ kind }) => kind,
          compare: (a, b) => rank(a) - rank(b) || (b.price ?? 0) - (a.price ?? 0),
        },
        {
          key: 'host',
          title: 'Name',
          show: ({ name }) => brief(name),
          compare: (a, b) => (a.name < b.name ? -1 : 1),
        },
        {
          key: 'price',
          title: 'Price',
          show: ({ price }) => money(price),
          compare: (a, b) => (a.price ?? 0) - (b.price ?? 0),
          first: 'descending',
        },
        { key: 'each', title: 'Per good reply', show: (row) => money(row.price_per_good_reply) },
        {
          key: 'bytes',
          title: 'Bytes',
          show: (row) => size(bytes(row)),
          compare: (a, b) => bytes(a) - bytes(b),
          first: 'descending',
        },
        column('first_try', 'First tries'),
        column('retry', 'Retries'),
        column('rejected_body', 'Rejected bodies'),
        column('tunnel', 'Tunnels'),
      ],
    })
  );
}
