import { button, el, finder, picker, setText } from './dom.js';
import { size, when } from './format.js';
import { createFrame, hashOf } from './frame.js';
import { Grid } from './grid.js';
import { MOST_EVENTS } from './model.js';
import { brief, visible } from './plain-text.js';

/** @typedef {import('./model.js').Heard} Heard */

/** Kinds of events by what somebody would look for. */
const KINDS = /** @type {Readonly<Record<string, readonly string[]>>} */ ({
  '': [],
  traffic: [
    'exchange_started',
    'attempt_finished',
    'exchange_finished',
    'attempt_closed',
    'heartbeat',
    'request_refused',
  ],
  'lanes and sites': [
    'early_warning',
    'lane_paused',
    'lane_isolated',
    'breaker_changed',
    'fuse_changed',
    'site_changed',
    'suspicious_reply',
  ],
  'routes and sessions': ['route_ejected', 'route_restored', 'upstream_out', 'session_ended'],
  'dead letters': ['dead_letter_parked', 'dead_letter_closed', 'dead_letter_redriven'],
  'all but traffic': [],
});

/**
 * What happens, the newest on top.
 * @param {import('./frame.js').Context} context
 * @returns {import('./frame.js').View}
 */
export function eventsView(context) {
  const { model, go } = context;
  let text = '';
  let kind = '';
  let selected = '';
  let isPaused = false;
  /** @type {Heard | undefined} */
  let chosen;
  const grid = eventGrid((event) => go(hashOf('events', String(event.key))));
  const refresh = () => {
    const fits = filterOf(kind, text);
    const rows = model.events.slice(-MOST_EVENTS).filter(fits).reverse();
    grid.setRows(rows);
  };
  const count = el('p', { class: 'filter' });
  const pause = button('Pause', () => {
    isPaused = !isPaused;
    setText(pause, isPaused ? 'Go on' : 'Pause');
    if (!isPaused) refresh();
  });
  const choose = kindPicker((name) => {
    kind = name;
    refresh();
  });
  const find = finder('Find', (typed) => {
    text = typed;
    refresh();
  });
  const { element, panel } = createFrame(context, {
    name: 'events',
    title: 'Events',
    tools: [choose, find.element, pause, count],
    grid,
  });
  const showDetails = () => {
    if (selected === '' || !chosen) return panel.hide();
    const event = chosen;
    panel.show(eventDetails(event, go));
  };
  return {
    element,
    open(id) {
      selected = id;
      chosen = model.events.find(({ key }) => String(key) === id) ?? chosen;
      grid.select(id);
      if (!isPaused) refresh();
      showDetails();
    },
    update(topics) {
      // What somebody reads does not move away under the eye.
      if (!topics.has('events') || isPaused || grid.isHeld) return;
      refresh();
    },
    tick() {
      const newest = model.events.at(-1)?.key ?? 0;
      const unseen = newest - (grid.rows[0]?.key ?? newest);
      const isBehind = (isPaused || grid.isHeld) && unseen > 0;
      setText(
        count,
        isBehind ? `${unseen} since then` : `The newest ${MOST_EVENTS} are kept here.`,
      );
      if (!isPaused && !grid.isHeld) refresh();
    },
  };
}

/** @param {(kind: string) => void} onChange */
function kindPicker(onChange) {
  const options = Object.keys(KINDS).map((name) => /** @type {const} */ ([name, name || 'all']));
  return picker({ label: 'Show', options, value: '' }, onChange).element;
}

/**
 * @param {Heard} event
 * @param {(hash: string) => void} go
 * @returns {import('./panel.js').Details}
 */
function eventDetails(event, go) {
  const { exchange } = event;
  const open = () => go(hashOf('exchanges', String(exchange)));
  return {
    key: String(event.key),
    title: event.type,
    facts: factsOf(event),
    actions: typeof exchange === 'string' ? [{ label: 'Its exchange', act: open }] : [],
  };
}

/**
 * @param {string} kind
 * @param {string} text
 * @returns {(event: Heard) => boolean}
 */
function filterOf(kind, text) {
  const types = KINDS[kind] ?? [];
  const traffic = KINDS.traffic ?? [];
  return (event) => {
    if (types.length > 0 && !types.includes(event.type)) return false;
    if (kind === 'all but traffic' && traffic.includes(event.type)) return false;
    return text === '' || JSON.stringify(event).toLowerCase().includes(text);
  };
}

/** @param {(row: Heard) => void} onOpen */
function eventGrid(onOpen) {
  return /** @type {Grid<Heard>} */ (
    new Grid({
      label: 'Events',
      keyOf: ({ key }) => String(key),
      empty: 'Nothing has happened since this page was opened.',
      main: 'what',
      onOpen,
      columns: [
        { key: 'time', title: 'Time', show: ({ at }) => when(at) },
        { key: 'type', title: 'Event', show: ({ type }) => type.replaceAll('_', ' ') },
        { key: 'about', title: 'About', show: about },
        { key: 'what', title: 'What', show: what },
      ],
    })
  );
}

/** @param {Heard} event */
function about(event) {
  const found = [
    event.lane,
    event.upstream,
    event.route,
    event.session,
    event.host,
    event.dead_letter,
  ];
  return brief(String(found.find((one) => typeof one === 'string') ?? ''), 200);
}

/** The fields that say most, for each kind of event; their words are the server's. */
const TELLING = /** @type {Readonly<Record<string, readonly string[]>>} */ ({
  exchange_started: ['method', 'url', 'client'],
  attempt_finished: ['n', 'status', 'verdict', 'explain'],
  heartbeat: ['method', 'url'],
  exchange_finished: ['answered', 'verdict', 'stop', 'method', 'url'],
  attempt_closed: ['n', 'cause', 'route', 'sent_bytes', 'received_bytes'],
  early_warning: ['sentence'],
  lane_paused: ['until'],
  breaker_changed: ['state', 'until'],
  lane_isolated: ['isolated'],
  route_ejected: ['route', 'until'],
  dead_letter_parked: ['dead_letter', 'reason', 'due'],
  notice: ['message'],
});

/** @param {Heard} event */
function what(event) {
  const names = TELLING[event.type] ?? Object.keys(event).filter((name) => !HEAD.has(name));
  const parts = names
    .filter((name) => event[name] !== null && event[name] !== undefined)
    .map((name) => said(name, event[name]));
  return brief(parts.join(' · '), 400);
}

/**
 * @param {string} name
 * @param {unknown} value
 */
function said(name, value) {
  if (name === 'n') return `try ${value}`;
  if (name === 'sent_bytes') return `${size(Number(value))} up`;
  if (name === 'received_bytes') return `${size(Number(value))} down`;
  if (typeof value === 'boolean') return value ? name : `not ${name}`;
  return shown(value);
}

const HEAD = new Set(['type', 'at', 'key', 'lane', 'exchange']);

/** @param {unknown} value */
function shown(value) {
  if (typeof value === 'string')
    return /^\d{4}-\d\d-\d\dT/.test(value) ? `until ${when(value)}` : value;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/**
 * @param {Heard} event
 * @returns {import('./panel.js').Fact[]}
 */
function factsOf(event) {
  return Object.entries(event)
    .filter(([name, value]) => name !== 'key' && value !== null)
    .map(([name, value]) => [
      name,
      visible(typeof value === 'object' ? JSON.stringify(value) : String(value)),
    ]);
}
