import { createAnnouncer } from './announcer.js';
import { Api, ApiError } from './api.js';
import { connectionView } from './connection.js';
import { button, el, setAttribute, setText } from './dom.js';
import { eventsView } from './events-view.js';
import { exchangesView } from './exchanges-view.js';
import { Feed } from './feed.js';
import { ago } from './format.js';
import { command, hashOf } from './frame.js';
import { isTroubled } from './lane-order.js';
import { lanesView } from './lanes-view.js';
import { lettersView } from './letters-view.js';
import { loginView } from './login.js';
import { Model } from './model.js';
import { createNotice } from './notice.js';
import { createOverview } from './overview.js';
import { routesView } from './routes-view.js';
import { sessionsView } from './sessions-view.js';
import { spendView } from './spend-view.js';
import { stateWord } from './states.js';
import { themePicker } from './theme.js';
import { warningList } from './warning-list.js';

/** @typedef {import('./frame.js').View} View */
/** @typedef {import('./model.js').Topic} Topic */

const STATUS_MS = 2_000;
const SPEND_MS = 5_000;

const VIEWS = /** @type {const} */ ([
  ['lanes', 'Lanes', lanesView],
  ['exchanges', 'Exchanges', exchangesView],
  ['routes', 'Routes', routesView],
  ['sessions', 'Sessions', sessionsView],
  ['dead-letters', 'Dead letters', lettersView],
  ['spend', 'Spend', spendView],
  ['events', 'Events', eventsView],
]);

const place = (/** @type {string} */ id) =>
  /** @type {HTMLElement} */ (document.getElementById(id));

const api = new Api();
const model = new Model(api);
const feed = new Feed(api);
const notice = createNotice();
const overview = createOverview(model);
const warnings = warningList(model);
const connection = connectionView(place('connection'), feed);
const announce = createAnnouncer(place('announcer'));
const stage = el('div', { class: 'stage' });

/** @type {import('./frame.js').Context} */
const context = {
  api,
  model,
  say: notice.say,
  fail: notice.fail,
  go: (hash) => {
    location.hash = hash;
  },
  isStale: () => feed.state.kind !== 'live',
};

/** @type {Map<string, View>} */
const made = new Map();
/** @type {Map<string, HTMLAnchorElement>} */
const links = new Map();
let shown = '';
const login = loginView(api, () => {
  shown = '';
  route();
  feed.retry();
});

/** Draws once per frame, however much has happened. */
const changed = /** @type {Set<Topic>} */ (new Set());
let isScheduled = false;

model.onChange = (topic, event) => {
  if (event) announce(event);
  changed.add(topic);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    const topics = new Set(changed);
    changed.clear();
    if (topics.has('status') || topics.has('lanes')) showHead();
    overview.update(topics);
    if (topics.has('warnings')) warnings.show();
    made.get(shown)?.update(topics);
  });
};

feed.onMessage = (message) => model.hear(message);
feed.onState = () => {
  connection.show();
  if (feed.state.kind === 'locked') lock();
  if (feed.state.kind === 'live') void catchUp();
};
api.onLocked = lock;

/** What was missed while nothing was heard is asked for. */
async function catchUp() {
  try {
    await Promise.all([
      ...[model.loadStatus(), model.loadLanes()],
      ...[model.loadSpend(), model.loadWarnings(), model.loadInterception()],
    ]);
    for (const topic of /** @type {const} */ (['exchanges', 'routes', 'sessions', 'letters'])) {
      model.onChange(topic);
    }
  } catch (error) {
    tellUnlessKnown(error);
  }
}

/** @param {unknown} error */
function tellUnlessKnown(error) {
  // That it is locked, or not reached, is shown at the top already.
  if (error instanceof ApiError && error.status !== 401) notice.fail(error);
}

function lock() {
  if (shown === 'login') return;
  shown = 'login';
  stage.replaceChildren(login.element);
  login.focus();
  showHead();
}

function route() {
  if (shown === 'login' && feed.state.kind === 'locked') return;
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  // A jump within the page is no other view.
  if (location.hash === '#main') return;
  const [first = '', id = ''] = path.split('/', 2);
  const [name, title, make] = VIEWS.find(([key]) => key === first) ?? VIEWS[0];
  const view = made.get(name) ?? make(context);
  made.set(name, view);
  const isOther = shown !== name;
  if (isOther) {
    shown = name;
    stage.replaceChildren(view.element);
  }
  for (const [key, link] of links) {
    if (key !== name) link.removeAttribute('aria-current');
    else if (isOther) {
      link.setAttribute('aria-current', 'page');
      link.scrollIntoView({ block: 'nearest', inline: 'center' });
    }
  }
  document.title = `${title} · Forbear`;
  view.open(decoded(id), new URLSearchParams(search));
  showHead();
  if (isOther && id === '' && hasNavigated) focusTitle();
  hasNavigated = true;
}

let hasNavigated = false;

/** Whoever cannot see it hears that the page has changed. */
function focusTitle() {
  const title = stage.querySelector('h1');
  if (title instanceof HTMLElement) title.focus({ preventScroll: true });
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function showHead() {
  const { status } = model;
  place('views').hidden = shown === 'login';
  overview.element.hidden = shown === 'login';
  place('main').toggleAttribute('data-locked', shown === 'login');
  const link = links.get('spend');
  if (link) link.hidden = model.spend === undefined;
  if (!status || shown === 'login') return;
  const listens = status.listen ? ` on ${status.listen}` : '';
  const text = `${status.version}, ${stateWord(status.state)}${listens}, up ${ago(status.started_at)}`;
  setText(place('process'), text);
  setAttribute(document.body, 'data-process', status.state);
  const troubled = [...model.lanes.values()].filter(isTroubled).length;
  const title = VIEWS.find(([key]) => key === shown)?.[1] ?? '';
  document.title = `${troubled > 0 ? `(${troubled}) ` : ''}${title} · Forbear`;
}

async function drain() {
  await command(context, {
    title: 'Drain and stop?',
    text: 'Forbear accepts nothing any more, turns away who waits, lets what runs finish, and ends. Only its operator can start it again.',
    verb: 'Drain',
    call: () => api.act('POST', '/drain'),
    done: 'It drains.',
  });
  await model.loadStatus().catch(tellUnlessKnown);
}

/**
 * Loads again and again; a page that nobody sees asks for nothing.
 * @param {() => Promise<void>} load
 * @param {number} everyMs
 */
function keepLoading(load, everyMs) {
  setTimeout(async () => {
    if (feed.state.kind === 'live' && !document.hidden) await load().catch(tellUnlessKnown);
    keepLoading(load, everyMs);
  }, everyMs);
}

function start() {
  for (const [name, title] of VIEWS) {
    const link = el('a', { href: hashOf(name) }, title);
    links.set(name, link);
    place('views').append(link);
  }
  place('tools').append(
    themePicker(),
    button('Drain…', () => void drain(), { class: 'danger' }),
  );
  place('main').append(
    connection.banner,
    overview.element,
    warnings.element,
    stage,
    notice.element,
  );
  document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault();
    place('main').focus();
  });
  addEventListener('hashchange', route);
  setInterval(() => {
    if (document.hidden) return;
    connection.show();
    overview.update(new Set(['events']));
    made.get(shown)?.tick();
  }, 1_000);
  keepLoading(() => model.loadStatus(), STATUS_MS);
  keepLoading(() => model.loadSpend(), SPEND_MS);
  keepLoading(() => model.loadInterception(), SPEND_MS);
  keepLoading(() => model.loadWarnings(), SPEND_MS);
  route();
  feed.retry();
}

start();
