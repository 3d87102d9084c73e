import { el } from './dom.js';
import { hashOf } from './frame.js';
import { brief } from './plain-text.js';

const MOST = 4;

/**
 * Early warnings, above every view.
 * @param {import('./model.js').Model} model
 */
export function warningList(model) {
  const element = el('ul', { class: 'warnings', 'aria-label': 'Early warnings', hidden: true });
  let shown = '';
  return {
    element,
    show() {
      const { warnings } = model;
      const now = JSON.stringify(warnings);
      if (now === shown) return;
      shown = now;
      element.hidden = warnings.length === 0;
      const lines = warnings.slice(0, MOST).map(({ lane, sentence }) => {
        const link = el('a', { href: hashOf('lanes', lane) }, brief(lane, 80));
        return el('li', {}, '▲ ', link, ` ${brief(sentence)}`);
      });
      const rest = warnings.length - lines.length;
      if (rest > 0) lines.push(el('li', {}, `and ${rest} more`));
      element.replaceChildren(...lines);
    },
  };
}
