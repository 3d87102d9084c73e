import { steadyNow } from './clock.js';
import { confirm } from './dialog.js';
import { el } from './dom.js';
import { createPanel } from './panel.js';

/** @typedef {import('./model.js').Topic} Topic */
/**
 * What every view gets.
 * @typedef {object} Context
 * @property {import('./api.js').Api} api
 * @property {import('./model.js').Model} model
 * @property {(text: string) => void} say
 * @property {(error: unknown) => void} fail
 * @property {(hash: string) => void} go
 * @property {() => boolean} isStale whether what is shown is of the past
 */
/**
 * One page of the dashboard.
 * @typedef {object} View
 * @property {HTMLElement} element
 * @property {(id: string, query: URLSearchParams) => void} open shows the list, or with an id the details of one
 * @property {(topics: ReadonlySet<Topic>) => void} update something has changed
 * @property {() => void} tick a second has passed: countdowns
 */

/**
 * A heading, tools, a list, and details beside it. Closing the details leads back to the list.
 * @param {Context} context
 * @param {{ name: string, title: string, intro?: string, tools?: readonly Node[],
 *   grid: { element: HTMLElement, focus: () => void }, listHash?: () => string }} o
 */
export function createFrame({ go }, { name, title, intro, tools = [], grid, listHash }) {
  const panel = createPanel(() => {
    go(listHash ? listHash() : hashOf(name));
    grid.focus();
  });
  const element = el(
    'section',
    { class: 'view', 'aria-labelledby': 'view-title' },
    el('h1', { id: 'view-title', tabindex: '-1' }, title),
  );
  if (intro) element.append(el('p', { class: 'intro' }, intro));
  if (tools.length > 0) element.append(el('div', { class: 'tools' }, ...tools));
  element.append(el('div', { class: 'split' }, grid.element, panel.element));
  return { element, panel };
}

/**
 * Asks, acts, and tells how it went. Resolves with the answer; undefined when it was not done.
 * @template T
 * @param {Context} context
 * @param {Parameters<typeof confirm>[0] & { call: () => Promise<T>, done: string | ((answer: T) => string) }} o
 * @returns {Promise<T | undefined>}
 */
export async function command({ say, fail }, { call, done, ...question }) {
  if (!(await confirm(question))) return undefined;
  try {
    const answer = await call();
    say(typeof done === 'string' ? done : done(answer));
    return answer;
  } catch (error) {
    fail(error);
    return undefined;
  }
}

/**
 * A name as a part of a path; half a pair of surrogates, which no path can have, becomes a U+FFFD.
 * @param {string} name
 */
export const pathPart = (name) => encodeURIComponent(name.toWellFormed());

/**
 * A part of the address bar's path.
 * @param {string} view
 * @param {string} [id]
 */
export const hashOf = (view, id) => `#/${view}${id === undefined ? '' : `/${pathPart(id)}`}`;

/**
 * Loads when it is wanted, never twice at once, and not while nothing can be reached.
 * @param {Context} context
 * @param {() => Promise<void>} load
 */
export function createLoader({ fail, isStale }, load) {
  let isRunning = false;
  let isWanted = false;
  let loadedAt = 0;
  const loader = {
    async load() {
      if (isRunning) {
        isWanted = true;
        return;
      }
      isRunning = true;
      do {
        isWanted = false;
        loadedAt = steadyNow();
        await load().catch((error) => isStale() || fail(error));
      } while (isWanted);
      isRunning = false;
    },
    /**
     * The same if the last time is as long ago.
     * @param {number} ms
     */
    loadIfOlder(ms) {
      if (!isStale() && !isRunning && steadyNow() - loadedAt > ms) void loader.load();
    },
  };
  return loader;
}
