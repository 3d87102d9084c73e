import { picker } from './dom.js';

const KEY = 'forbear-theme';
const THEMES = ['system', 'light', 'dark'];

const saved = localStorage.getItem(KEY) ?? '';
const current = THEMES.includes(saved) ? saved : 'system';
document.documentElement.dataset.theme = current;

/** A choice of light, dark, or as the system has it; remembered by the browser. */
export function themePicker() {
  const options = THEMES.map((theme) => /** @type {const} */ ([theme, theme]));
  return picker({ label: 'Theme', options, value: current }, (theme) => {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset.theme = theme;
  }).element;
}
