import { el } from './dom.js';
import { counted } from './format.js';
import { command, pathPart } from './frame.js';

/** @typedef {import('./frame.js').Context} Context */

/**
 * Sends letters again after a question.
 * @param {Context} context
 * @param {readonly string[]} ids
 */
export function redriveLetters(context, ids) {
  const force = el('input', { type: 'checkbox' });
  return command(context, {
    title: `Redrive ${counted(ids.length, 'letter')}?`,
    text: 'It goes through the same loop as any request, behind all live traffic.',
    verb: 'Redrive',
    fields: [
      el('label', { class: 'check' }, force, ' also where it may have been acted upon already'),
    ],
    call: () => redrive(context, { ids, force: force.checked }),
    done: told,
  });
}

/**
 * Sends all letters again, or those whose time has come.
 * @param {Context} context
 * @param {'due' | 'all'} which
 */
export function redriveAll(context, which) {
  const isAll = which === 'all';
  return command(context, {
    title: isAll ? 'Redrive all parked letters?' : 'Redrive what is due?',
    text: isAll
      ? 'Every parked letter is sent again now, due or not, behind all live traffic.'
      : 'Every parked letter whose time has come is sent again, behind all live traffic.',
    verb: 'Redrive',
    call: () => redrive(context, { [which]: true }),
    done: told,
  });
}

/**
 * Drops letters for good after a question.
 * @param {Context} context
 * @param {readonly string[]} ids
 */
export function dropLetters(context, ids) {
  return command(context, {
    title: `Drop ${counted(ids.length, 'letter')}?`,
    text: 'Requests, bodies and replies are deleted. This cannot be undone.',
    verb: 'Drop',
    call: () => context.api.act('DELETE', '/dead-letters', { ids }),
    done: ({ dropped }) => `${counted(dropped, 'letter')} dropped.`,
  });
}

/**
 * Saves the request's body, or the reply that a redrive has brought, as a file.
 * @param {Context} context
 * @param {string} id
 * @param {'body' | 'response'} what
 */
export async function saveBytes({ api, fail }, id, what) {
  try {
    const answer = await api.ask(`/dead-letters/${pathPart(id)}/${what}`);
    // A link cannot carry the token.
    const bytes = new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' });
    const href = URL.createObjectURL(bytes);
    el('a', { href, download: `${id}-${what}` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  } catch (error) {
    fail(error);
  }
}

/**
 * Begins a redrive; it goes on whether or not anybody listens, and events tell how it goes.
 * @param {Context} context
 * @param {unknown} body
 */
const redrive = ({ api }, body) => api.act('POST', '/dead-letters/redrive', body);

const told = () => 'The redrive has begun; the list shows how it goes.';
