import { ApiError } from './api.js';
import { el, setText } from './dom.js';

/**
 * Asks for the token of the admin API, which is kept until the tab is closed.
 * @param {import('./api.js').Api} api
 * @param {() => void} onOpen called when the token was right
 */
export function loginView(api, onOpen) {
  const input = el('input', { type: 'password', autocomplete: 'current-password', required: true });
  const trouble = el('p', { class: 'trouble', role: 'alert' });
  const form = el(
    'form',
    { class: 'login' },
    el('h1', { id: 'view-title', tabindex: '-1' }, 'This server asks for a token'),
    el(
      'p',
      {},
      'It is admin.token of the configuration. The browser keeps it until this tab is closed.',
    ),
    el('label', { class: 'field' }, el('span', {}, 'Token'), input),
    trouble,
    el('div', { class: 'buttons' }, el('button', { type: 'submit', class: 'strong' }, 'Open')),
  );
  const attempt = async () => {
    api.token = input.value.trim();
    try {
      await api.ask('/status');
      input.value = '';
      setText(trouble, '');
      onOpen();
    } catch (error) {
      api.token = '';
      const isWrong = error instanceof ApiError && error.status === 401;
      const why = error instanceof Error ? error.message : String(error);
      setText(trouble, isWrong ? 'That is not the token.' : why);
      input.focus();
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void attempt();
  });
  return { element: form, focus: () => input.focus() };
}
