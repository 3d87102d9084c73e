import { chartLegend, rateChart } from './chart.js';
import { proxyNow } from './clock.js';
import { el } from './dom.js';
import { counted, left, money, percent, when } from './format.js';
import { command, hashOf, pathPart } from './frame.js';
import { endsAt, rateOf } from './lane-order.js';
import { visible } from './plain-text.js';
import { stateWord } from './states.js';

/** @typedef {import('./frame.js').Context} Context */
/** @typedef {import('./shapes.d.ts').Lane} Lane */

/**
 * Shows all of one lane, and what can be done with it.
 * @param {Context} context
 */
export function laneDetails(context) {
  const { model } = context;
  const chart = rateChart(360, 90);
  const figure = el(
    'figure',
    {},
    chart.element,
    el(
      'figcaption',
      {},
      'The last five minutes, as far as this page has seen them. ',
      chartLegend(),
    ),
  );
  const link = el('a', {}, 'Exchanges of this lane');
  return (/** @type {Lane} */ lane) => {
    const rates = model.ratesOf(lane.id);
    const now = proxyNow();
    const recent = rates?.recent(now) ?? { success: undefined, retry: undefined };
    chart.draw(rates?.points(now) ?? [], recent);
    link.href = `${hashOf('exchanges')}?state=all&lane=${pathPart(lane.id)}`;
    return {
      key: lane.id,
      title: visible(lane.id),
      facts: [...laneFacts(lane), ...spendFacts(model, lane), ...tlsFacts(model, lane)],
      actions: [laneAction(context, lane)],
      more: [figure, link],
    };
  };
}

/**
 * @param {Lane} lane
 * @returns {import('./panel.js').Fact[]}
 */
function laneFacts(lane) {
  const ends = endsAt(lane);
  const until = ends ? `, ends in ${left(ends)} (${when(ends)})` : '';
  const breaker = lane.breaker_until ? `, until ${when(lane.breaker_until)}` : '';
  return [
    ['State', stateWord(lane.state) + until],
    ['Breaker', `${lane.breaker.replace('_', ' ')}${breaker}`],
    ['Pause', lane.paused_until ? `until ${when(lane.paused_until)}` : 'none'],
    ['Failures in a row', String(lane.failures_in_row)],
    ['Rate', rateOf(lane)],
    [
      'Retry budget',
      `${counted(Math.floor(lane.budget), 'retry', 'retries')} may be scheduled now`,
    ],
    ['In flight', `${lane.in_flight} of ${lane.concurrency}`],
    ['Waiting', String(lane.waiting)],
  ];
}

/**
 * @param {import('./model.js').Model} model
 * @param {Lane} lane
 * @returns {import('./panel.js').Fact[]}
 */
function spendFacts(model, lane) {
  const row = model.spend?.lanes.find(({ name }) => name === lane.id);
  if (!row) return [];
  return [
    ['Spend', money(row.price)],
    ['Spend per good reply', money(row.price_per_good_reply)],
  ];
}

/**
 * @param {import('./model.js').Model} model
 * @param {Lane} lane
 * @returns {import('./panel.js').Fact[]}
 */
function tlsFacts(model, lane) {
  const found = model.interception.get(lane.id);
  if (!found) return [];
  return [
    ['Opened TLS', blocks(found.intercepted)],
    ['Sealed tunnels', blocks(found.tunnelled)],
    ...(found.sentence
      ? [/** @type {import('./panel.js').Fact} */ (['Advice', found.sentence])]
      : []),
  ];
}

/** @param {{ attempts: number, blocked: number }} tried */
function blocks({ attempts, blocked }) {
  return attempts < 0.5
    ? 'none of late'
    : `${percent(blocked / attempts)} of ${Math.round(attempts)} blocked`;
}

/**
 * @param {Context} context
 * @param {Lane} lane
 * @returns {import('./panel.js').Action}
 */
function laneAction(context, lane) {
  const { host } = lane;
  if (lane.state !== 'isolated') {
    return { label: 'Isolate', tone: 'danger', act: () => void isolate(context, () => host) };
  }
  const act = async () => {
    const resumed = await command(context, {
      title: 'Resume this host?',
      text: `Requests to ${visible(host)} are sent again.`,
      verb: 'Resume',
      call: () => context.api.act('POST', `/lanes/${pathPart(host)}/resume`),
      done: `${host} is resumed.`,
    });
    if (resumed) context.model.setLane(resumed);
  };
  return { label: 'Resume', act: () => void act() };
}

/**
 * Isolates a host by its name, whether or not it was ever asked.
 * @param {Context} context
 */
export function isolateAny(context) {
  const input = el('input', {
    type: 'text',
    spellcheck: 'false',
    autocomplete: 'off',
    required: true,
  });
  const field = el('label', { class: 'field' }, el('span', {}, 'Host'), input);
  return isolate(context, () => input.value.trim(), field);
}

/**
 * @param {Context} context
 * @param {() => string} host
 * @param {HTMLElement} [field]
 */
async function isolate(context, host, field) {
  const name = field ? 'the host' : visible(host());
  const lane = await command(context, {
    title: 'Isolate this host?',
    text: `Nothing is sent to ${name} any more until you resume it. Requests are refused at once and kept as dead letters.`,
    verb: 'Isolate',
    ...(field && { fields: [field] }),
    isReady: () => host() !== '',
    call: () => context.api.act('POST', `/lanes/${pathPart(host())}/isolate`),
    done: (answer) => `${answer.host} is isolated.`,
  });
  if (lane) context.model.setLane(lane);
}
