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

/** @typedef {{ begin: number, lengthMs: number }} Scale */
/**
 * @typedef {object} Span
 * @property {number} attempted how many there were; the newest of them are shown
 * @property {string} startedAt
 * @property {string | null} [endsAt] the end of all, or of what is waited for, where it is known
 */

/** The attempts of an exchange, one after the other, with the time between them. */
export function timeline() {
  const list = el('ol', { class: 'timeline' });
  const note = el('p', { class: 'intro' });
  const whole = el('div', { class: 'whole' });
  const now = el('p', { class: 'step-now warn', hidden: true });
  const element = el('div', { class: 'trail' }, el('h3', {}, 'Time line'), note, whole, list, now);
  let signature = '';
  return {
    element,
    /**
     * @param {readonly Try[]} attempts
     * @param {Span} o
     * @param {string} [waiting] what it does right now, as long as it is not over
     */
    show(attempts, { attempted, startedAt, endsAt }, waiting = '') {
      now.hidden = waiting === '';
      setText(now, waiting);
      const last = attempts.at(-1)?.at ?? startedAt;
      const drawn = `${startedAt} ${endsAt} ${attempts.length} ${last}`;
      if (drawn === signature) return;
      signature = drawn;
      const isCut = attempted > attempts.length;
      setText(note, noteOf(attempts.length, attempted));
      const first = attempts[0];
      const begin = isCut && first ? startOf(first) : Date.parse(startedAt);
      const end = Math.max(Date.parse(last), endsAt ? Date.parse(endsAt) : 0);
      const scale = { begin, lengthMs: Math.max(1, end - begin) };
      whole.replaceChildren(...overview(attempts, scale));
      list.replaceChildren(...attempts.flatMap((one, i) => step(one, attempts[i + 1], scale)));
    },
  };
}

/**
 * @param {number} shown
 * @param {number} attempted
 */
function noteOf(shown, attempted) {
  if (shown === 0) return 'Nothing has been sent yet.';
  return attempted > shown ? `The newest ${shown} of ${attempted} attempts.` : '';
}

/** @param {Try} attempt */
const startOf = ({ at, duration_ms }) => Date.parse(at) - duration_ms;

/**
 * All attempts in one bar; what is between them is waiting.
 * @param {readonly Try[]} attempts
 * @param {Scale} scale
 */
function overview(attempts, scale) {
  if (attempts.length === 0) return [];
  const parts = attempts.map((one) => {
    const x = Math.min(99, Math.max(0, ((startOf(one) - scale.begin) / scale.lengthMs) * 100));
    const width = Math.max(0.6, Math.min(100 - x, (one.duration_ms / scale.lengthMs) * 100));
    const place = { x: x.toFixed(2), width: width.toFixed(2), height: 4 };
    return svg('rect', { class: `bar-${toneOf(one)}`, ...place });
  });
  const base = svg('rect', { class: 'bar-all', width: 100, height: 4 });
  const look = { class: 'bar', viewBox: '0 0 100 4', preserveAspectRatio: 'none' };
  return [
    svg('svg', { ...look, 'aria-hidden': 'true' }, base, ...parts),
    el('p', { class: 'bar-ends' }, el('span', {}, '0'), el('span', {}, span(scale.lengthMs))),
  ];
}

/** @param {Try} attempt */
function toneOf({ verdict }) {
  const fault = verdict.split('/', 1)[0] ?? '';
  return fault === 'none' ? 'good' : fault === 'client' ? 'calm' : 'bad';
}

/**
 * @param {Try} attempt
 * @param {Try | undefined} next
 * @param {Scale} scale
 */
function step(attempt, next, scale) {
  const { n, status, verdict, route, duration_ms } = attempt;
  const tone = toneOf(attempt);
  const after = startOf(attempt) - scale.begin;
  const made = el(
    'li',
    { class: tone },
    el(
      'p',
      { class: 'step-head' },
      el('span', { class: 'step-n' }, `${tone === 'good' ? '✓' : '▲'} Attempt ${n}`),
      el('span', {}, status === null ? 'no reply' : String(status)),
      el('span', { class: 'step-verdict' }, visible(verdict)),
    ),
    el('p', {}, brief(attempt.explain, 600)),
    el(
      'p',
      { class: 'step-foot' },
      `${visible(route)} · +${span(Math.max(0, after))}, took ${span(duration_ms)} · ${size(attempt.sent_bytes)} up, ${size(attempt.received_bytes)} down`,
    ),
  );
  if (!next) return [made];
  const waitedMs = Math.max(0, startOf(next) - Date.parse(attempt.at));
  const how = attempt.action === 'rotate' ? 'another route' : 'waited';
  return [made, el('li', { class: 'between' }, `${how} ${span(waitedMs)}`)];
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
