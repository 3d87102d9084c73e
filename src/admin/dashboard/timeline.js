import { el, setText, svg } from './dom.js';
import { ago, left, size, span, when } from './format.js';
import { brief, visible } from './plain-text.js';

/** @typedef {import('./shapes.d.ts').Trail} Trail */
/**
 * What attempts of exchanges and of dead letters have in common.
 * @typedef {object} Try
 * @property {number} n
 * @property {string} at
 * @property {number} duration_ms
 * @property {string} route
 * @property {number | null} status
 * @property {string} verdict
 * @property {string} action
 * @property {string} explain
 * @property {number} sent_bytes
 * @property {number} received_bytes
 */

/** The attempts of an exchange, one after the other, with the time between them. */
export function timeline() {
  const list = el('ol', { class: 'timeline' });
  const note = el('p', { class: 'intro' });
  const element = el('div', {}, el('h3', {}, 'Attempts'), note, list);
  let signature = '';
  return {
    element,
    /**
     * @param {readonly Try[]} attempts
     * @param {{ attempted: number, startedAt: string }} o
     */
    show(attempts, { attempted, startedAt }) {
      const now = `${startedAt} ${attempts.length} ${attempts.at(-1)?.at}`;
      if (now === signature) return;
      signature = now;
      const isCut = attempted > attempts.length;
      setText(
        note,
        attempts.length === 0
          ? 'Nothing has been sent yet.'
          : isCut
            ? `The newest ${attempts.length} of ${attempted}.`
            : '',
      );
      const begin = Date.parse(isCut ? (attempts[0]?.at ?? startedAt) : startedAt);
      const end = Date.parse(attempts.at(-1)?.at ?? startedAt);
      const scale = { begin, lengthMs: Math.max(1, end - begin) };
      list.replaceChildren(...attempts.map((one) => step(one, scale)));
    },
  };
}

/**
 * @param {Try} attempt
 * @param {{ begin: number, lengthMs: number }} scale
 */
function step(attempt, scale) {
  const { n, status, verdict, route, duration_ms } = attempt;
  const fault = verdict.split('/', 1)[0] ?? '';
  const startedMs = Date.parse(attempt.at) - duration_ms - scale.begin;
  return el(
    'li',
    { class: fault === 'none' ? 'good' : fault === 'client' ? 'calm' : 'bad' },
    el(
      'p',
      { class: 'step-head' },
      el('span', { class: 'step-n' }, `${fault === 'none' ? '✓' : '▲'} ${n}`),
      el('span', {}, `+${span(Math.max(0, startedMs))}`),
      el('span', {}, status === null ? 'no reply' : String(status)),
      el('span', { class: 'step-verdict' }, visible(verdict)),
      el('span', {}, attempt.action),
    ),
    bar(startedMs, duration_ms, scale.lengthMs),
    el('p', {}, brief(attempt.explain, 600)),
    el(
      'p',
      { class: 'step-foot' },
      `by ${visible(route)}, took ${span(duration_ms)}, ${size(attempt.sent_bytes)} up, ${size(attempt.received_bytes)} down, ended ${when(attempt.at)}`,
    ),
  );
}

/**
 * Where in the whole time an attempt was; what is between the bars is waiting.
 * @param {number} startMs
 * @param {number} lengthMs
 * @param {number} wholeMs
 */
function bar(startMs, lengthMs, wholeMs) {
  const x = Math.min(99, Math.max(0, (startMs / wholeMs) * 100));
  const width = Math.max(1, Math.min(100 - x, (lengthMs / wholeMs) * 100));
  return svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'bar-all', width: 100, height: 4 }),
    svg('rect', { class: 'bar-part', x: x.toFixed(2), width: width.toFixed(2), height: 4 }),
  );
}

/**
 * The facts of an exchange.
 * @param {Trail} trail
 * @returns {import('./panel.js').Fact[]}
 */
export function exchangeFacts(trail) {
  const { stage, end } = trail;
  /** @type {import('./panel.js').Fact[]} */
  const facts = [
    ['Exchange', visible(trail.id)],
    ['Lane', visible(trail.lane)],
    ['Client', visible(trail.client)],
    ['Session', trail.session === null ? 'none' : visible(trail.session)],
    [
      'Began',
      `${when(trail.started_at)}, ${ago(trail.started_at)} ago${trail.redrive ? ', as a redrive' : ''}`,
    ],
  ];
  if (stage) {
    const until = stage.until ? `, ${left(stage.until)} still` : '';
    facts.push(['Now', `${stage.explain}, since ${ago(stage.since)}${until}`]);
    facts.push(['Patience ends in', left(trail.deadline)]);
  }
  if (!end) return facts;
  facts.push(['Answered', String(end.answered)]);
  if (end.verdict) facts.push(['Verdict', end.verdict]);
  if (end.stop) facts.push(['Not tried again', end.stopped_because ?? end.stop]);
  facts.push(['Took', `${span(end.duration_ms)}, of which it waited ${span(end.waited_ms)}`]);
  if (end.route) facts.push(['Route', visible(end.route)]);
  facts.push(['Bytes', `${size(end.sent_bytes)} up, ${size(end.received_bytes)} down`]);
  return facts;
}
