import { localNow } from './clock.js';
import { button, el, setAttribute, setText } from './dom.js';
import { span, when } from './format.js';

/**
 * Tells whether what is shown is of now.
 * @param {HTMLElement} place in the head of the page, read out when it changes
 * @param {import('./feed.js').Feed} feed
 */
export function connectionView(place, feed) {
  const text = el('span');
  const banner = el('div', { class: 'stale', hidden: true }, text);
  banner.append(button('Try now', () => feed.retry()));
  const show = () => {
    const { state } = feed;
    setAttribute(place, 'data-kind', state.kind);
    setAttribute(document.body, 'data-connection', state.kind);
    banner.hidden = state.kind !== 'lost';
    if (state.kind === 'live') setText(place, '● live');
    else if (state.kind === 'connecting') setText(place, '△ connecting…');
    else if (state.kind === 'locked') setText(place, '⊘ locked');
    else if (state.kind === 'resting') setText(place, '○ resting');
    else {
      setText(place, `▲ disconnected since ${when(state.since)}`);
      const wait = Math.max(0, Math.ceil((state.retryAt - localNow()) / 1000) * 1000);
      const next = wait === 0 ? 'Trying again now.' : `Trying again in ${span(wait)}.`;
      const why = state.why && `${state.why} `;
      setText(
        text,
        `Disconnected since ${when(state.since)}: what you see is of then. ${why}${next} `,
      );
    }
  };
  return { banner, show };
}
