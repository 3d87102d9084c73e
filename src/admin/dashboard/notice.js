import { localNow } from './clock.js';
import { button, el, setText } from './dom.js';
import { when } from './format.js';
import { brief } from './plain-text.js';

/** The line that tells how the last command went. It stays until it is closed or the next one comes. */
export function createNotice() {
  const said = el('p', { role: 'status', 'aria-live': 'polite' });
  const failed = el('p', { role: 'alert' });
  const element = el('div', { class: 'notice', hidden: true }, said, failed);
  element.append(button('Close', () => close(), { class: 'quiet' }));
  const close = () => {
    element.hidden = true;
    setText(said, '');
    setText(failed, '');
  };
  const show = (/** @type {HTMLElement} */ line, /** @type {string} */ text) => {
    // A region that is shown and filled at once is not read out by every screen reader.
    element.hidden = false;
    setText(line === said ? failed : said, '');
    setText(line, `${when(localNow())} ${brief(text)}`);
  };
  return {
    element,
    /** @param {string} text */
    say: (text) => show(said, text),
    /** @param {unknown} error */
    fail: (error) => show(failed, error instanceof Error ? error.message : String(error)),
  };
}
