import { el, setAttribute, svg } from './dom.js';
import { percent } from './format.js';

/** @typedef {import('./rates.js').Point} Point */

/**
 * Success rate (solid) and retry rate (dashed) over five minutes, as two lines of one picture.
 * @param {number} width
 * @param {number} height
 */
export function rateChart(width, height) {
  const success = svg('path', { class: 'line-success' });
  const retry = svg('path', { class: 'line-retry' });
  const picture = svg(
    'svg',
    {
      class: 'chart',
      role: 'img',
      viewBox: `0 0 ${width} ${height}`,
      preserveAspectRatio: 'none',
      'aria-label': 'no traffic yet',
    },
    success,
    retry,
  );
  return {
    element: picture,
    /**
     * @param {readonly Point[]} points
     * @param {Point} recent
     */
    draw(points, recent) {
      const shape = { width, height };
      setAttribute(success, 'd', path(points, 'success', shape));
      setAttribute(retry, 'd', path(points, 'retry', shape));
      const isSilent = recent.success === undefined && recent.retry === undefined;
      const text = `success ${percent(recent.success)}, retries ${percent(recent.retry)}`;
      setAttribute(picture, 'aria-label', isSilent ? 'no traffic yet' : text);
    },
  };
}

/**
 * A line through what is known; where nothing happened the last value holds on.
 * @param {readonly Point[]} points
 * @param {'success' | 'retry'} field
 * @param {{ width: number, height: number }} shape
 */
function path(points, field, { width, height }) {
  const step = width / Math.max(1, points.length - 1);
  let text = '';
  let before;
  for (const [i, point] of points.entries()) {
    const share = point[field];
    if (share === undefined) continue;
    const x = (i * step).toFixed(1);
    const y = (1.5 + (1 - share) * (height - 3)).toFixed(1);
    text += text === '' ? `M${x} ${y}` : `H${x}${y === before ? '' : `V${y}`}`;
    before = y;
  }
  return text === '' ? '' : `${text}H${width}`;
}

/** What the lines of a chart mean. */
export function chartLegend() {
  return el(
    'span',
    { class: 'legend' },
    el('span', { class: 'key-success', 'aria-hidden': 'true' }),
    'success ',
    el('span', { class: 'key-retry', 'aria-hidden': 'true' }),
    'retries',
  );
}
