import { rateChart } from './chart.js';
import { proxyNow } from './clock.js';
import { el } from './dom.js';
import { percent } from './format.js';
import { hashOf } from './frame.js';
import { isTroubled } from './lane-order.js';
import { createFigure } from './states.js';

/** @typedef {import('./model.js').Topic} Topic */

/**
 * The line above every view: how it goes all in all.
 * @param {import('./model.js').Model} model
 */
export function createOverview(model) {
  const running = createFigure('exchanges', `${hashOf('exchanges')}?state=running`);
  const waiting = createFigure('waiting', `${hashOf('exchanges')}?state=waiting`);
  const success = createFigure('success', hashOf('events'));
  const retries = createFigure('retries a minute', hashOf('events'));
  const lanes = createFigure('lanes in trouble', hashOf('lanes'));
  const routes = createFigure('routes ejected', hashOf('routes'));
  const letters = createFigure('dead letters', hashOf('dead-letters'));
  const chart = rateChart(120, 34);
  const element = el(
    'div',
    { class: 'overview', role: 'group', 'aria-label': 'All in all' },
    ...[running, waiting, success].map((figure) => figure.element),
    el('div', { class: 'figure-chart' }, chart.element),
    ...[retries, lanes, routes, letters].map((figure) => figure.element),
  );
  const showStatus = (/** @type {import('./shapes.d.ts').Status} */ status) => {
    running.show(String(status.exchanges));
    waiting.show(String(status.waiting));
    const { ejected } = status.routes;
    routes.show(`${ejected} of ${ejected + status.routes.in}`, ejected > 0 ? 'warn' : 'calm');
    const kept = status.dead_letters;
    if (kept === null) return letters.show('store fails', 'bad');
    const open = kept.parked + kept.redriving + kept.needs_client;
    letters.show(String(open), kept.needs_client > 0 ? 'warn' : 'calm');
  };
  return {
    element,
    /** @param {ReadonlySet<Topic>} topics */
    update(topics) {
      if (topics.has('events')) {
        const now = proxyNow();
        const recent = model.all.recent(now);
        chart.draw(model.all.points(now), recent);
        success.show(percent(recent.success), toneOfShare(recent.success));
        retries.show(String(model.all.retriesPerMinute(now)));
      }
      if (topics.has('lanes')) {
        const troubled = [...model.lanes.values()].filter(isTroubled).length;
        lanes.show(`${troubled} of ${model.lanes.size}`, troubled > 0 ? 'warn' : 'calm');
      }
      if (model.status && topics.has('status')) showStatus(model.status);
    },
  };
}

/** @param {number | undefined} share */
const toneOfShare = (share) => (share !== undefined && share < 0.5 ? 'bad' : 'calm');
