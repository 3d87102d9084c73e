import { visible } from './plain-text.js';

/** @typedef {Node | string} Child */

/**
 * Builds an element. Children that are strings become text, made visible: nothing here parses markup.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {Readonly<Record<string, string | number | boolean>>} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  setAttributes(element, attributes);
  element.append(...children.map((one) => (typeof one === 'string' ? visible(one) : one)));
  return element;
}

/**
 * The same for SVG.
 * @param {string} name
 * @param {Readonly<Record<string, string | number | boolean>>} [attributes]
 * @param {...Child} children
 */
export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  setAttributes(element, attributes);
  element.append(...children);
  return element;
}

/**
 * @param {Element} element
 * @param {Readonly<Record<string, string | number | boolean>>} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
}

/**
 * Writes a text, made visible, where it differs, so that nothing is laid out, or read out, in vain.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  const shown = visible(text);
  if (node.textContent !== shown) node.textContent = shown;
}

/**
 * Sets an attribute where it differs.
 * @param {Element} element
 * @param {string} name
 * @param {string} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * A button that does one thing.
 * @param {string} label
 * @param {() => void} act
 * @param {Readonly<Record<string, string>>} [attributes]
 */
export function button(label, act, attributes = {}) {
  const made = el('button', { type: 'button', ...attributes }, label);
  made.addEventListener('click', act);
  return made;
}

/**
 * A choice of several, with its label before it.
 * @param {{ label: string, options: readonly (readonly [value: string, text: string])[], value: string }} o
 * @param {(value: string) => void} [onChange]
 */
export function picker({ label, options, value }, onChange) {
  const select = el('select');
  for (const [key, text] of options) select.append(el('option', { value: key }, text));
  select.value = value;
  if (onChange) select.addEventListener('change', () => onChange(select.value));
  return { element: el('label', { class: 'field' }, el('span', {}, label), select), select };
}

/**
 * A choice of one state, or all.
 * @param {readonly (readonly [value: string, text: string])[]} states
 * @param {(state: string) => void} onChange
 */
export const statePicker = (states, onChange) =>
  picker({ label: 'State', options: [['', 'all'], ...states], value: '' }, onChange).element;

/**
 * A field to look for something, with its label.
 * @param {string} label
 * @param {(text: string) => void} onInput
 */
export function finder(label, onInput) {
  const input = el('input', { type: 'search', spellcheck: 'false', autocomplete: 'off' });
  input.addEventListener('input', () => onInput(input.value.trim().toLowerCase()));
  return { element: el('label', { class: 'field' }, el('span', {}, label), input), input };
}
