import { el } from './dom.js';
import { counted, left, size, when } from './format.js';
import { dropLetters, redriveLetters, saveBytes } from './letter-acts.js';
import { brief, visible } from './plain-text.js';
import { stateWord } from './states.js';
import { timeline } from './timeline.js';

/** @typedef {import('./shapes.d.ts').Letter} Letter */
/** @typedef {import('./frame.js').Context} Context */

/**
 * Shows all of one letter, and what can be done with it.
 * @param {Context} context
 * @param {() => Promise<void>} load loads the list anew after an act
 */
export function letterDetails(context, load) {
  const line = timeline();
  const fields = headerTable();
  const again = async (/** @type {Promise<unknown>} */ act) => {
    await act;
    await load();
  };
  return (/** @type {Letter} */ letter) => {
    line.show(letter.attempts, {
      attempted: letter.attempts.length,
      startedAt: letter.attempts[0]?.at ?? letter.parked_at,
    });
    fields.show(letter);
    /** @type {import('./panel.js').Action[]} */
    const actions = [
      { label: 'Redrive', act: () => void again(redriveLetters(context, [letter.id])) },
      { label: 'Drop', tone: 'danger', act: () => void again(dropLetters(context, [letter.id])) },
    ];
    if (letter.body.kept && letter.body.bytes > 0) {
      actions.push({
        label: 'Save the body',
        act: () => void saveBytes(context, letter.id, 'body'),
      });
    }
    if (letter.response) {
      actions.push({
        label: 'Save the reply',
        act: () => void saveBytes(context, letter.id, 'response'),
      });
    }
    return {
      key: letter.id,
      title: `${letter.method} ${brief(letter.url, 160)}`,
      facts: letterFacts(letter),
      actions,
      lead: [line.element],
      more: [fields.element],
    };
  };
}

/** The fields of the request, as the client sent them. */
function headerTable() {
  const body = el('tbody');
  const caption = 'Header fields; credentials are blanked';
  const table = el('table', { class: 'plain' }, el('caption', {}, caption), body);
  let shown = '';
  return {
    element: table,
    /** @param {Letter} letter */
    show({ id, headers }) {
      table.hidden = headers.length === 0;
      if (shown === id) return;
      shown = id;
      const rows = headers.map(([name, value]) =>
        el('tr', {}, el('th', { scope: 'row' }, brief(name)), el('td', {}, brief(value))),
      );
      body.replaceChildren(...rows);
    },
  };
}

/**
 * @param {Letter} letter
 * @returns {import('./panel.js').Fact[]}
 */
function letterFacts(letter) {
  const { response, body } = letter;
  /** @type {import('./panel.js').Fact[]} */
  const facts = [
    ['State', stateWord(letter.state) + (letter.needs ? `: ${letter.needs}` : '')],
    [
      'Why',
      [letter.fault && `${letter.fault}/${letter.reason}`, letter.stop]
        .filter(Boolean)
        .join(', ') || letter.reason,
    ],
    ['Letter', visible(letter.id)],
    ['Lane', visible(letter.lane)],
    ['Client', visible(letter.client)],
    ['Session', letter.session === null ? 'none' : visible(letter.session)],
    ['Stands for', counted(letter.count, 'request')],
    ['Parked', when(letter.parked_at)],
    [
      'Due',
      `${when(letter.due_at)}${letter.state === 'parked' ? `, in ${left(letter.due_at)}` : ''}`,
    ],
    ['Kept until', when(letter.keep_until)],
    ['Redrives', String(letter.redrives)],
    ['Body', body.kept ? size(body.bytes) : `not kept (${size(body.bytes)})`],
  ];
  if (response)
    facts.push(['Reply', `${response.status}, ${size(response.bytes)}, ${when(response.at)}`]);
  return facts;
}
