import { button, el } from './dom.js';

/**
 * Asks before something is done; resolves with whether it shall be. Escape and Cancel mean no.
 * @param {{ title: string, text: string, verb: string, fields?: readonly HTMLElement[], isReady?: () => boolean }} o
 * @returns {Promise<boolean>}
 */
export function confirm({ title, text, verb, fields = [], isReady = () => true }) {
  const dialog = el('dialog', { 'aria-labelledby': 'ask-title', 'aria-describedby': 'ask-text' });
  const cancel = button('Cancel', () => dialog.close());
  const go = el('button', { type: 'submit', class: 'strong' }, verb);
  const form = el(
    'form',
    {},
    el('h2', { id: 'ask-title' }, title),
    el('p', { id: 'ask-text' }, text),
    ...fields,
    el('div', { class: 'buttons' }, cancel, go),
  );
  dialog.append(form);
  document.body.append(dialog);
  let isYes = false;
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    isYes = isReady();
    if (isYes) dialog.close();
  });
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(isYes);
    });
    dialog.showModal();
    const field = fields[0]?.querySelector('input, select');
    if (field instanceof HTMLElement) field.focus();
    else cancel.focus();
  });
}
