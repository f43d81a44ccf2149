/** Elements of a page: texts become text, never markup. */

import { visible } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an element; texts become text, never markup.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export const make = (name, attributes, ...children) => filled(document.createElement(name), attributes, ...children);

/** @param {string} called @param {...(Node | string)} children @returns {HTMLElement} a folded part */
export const folded = (called, ...children) => make("details", {}, make("summary", {}, called), ...children);

/** @param {...(Node | string)} children */
export const note = (...children) => make("p", { class: "note" }, ...children);

/** @param {string} text @param {Record<string, string>} [attributes] @returns {HTMLElement} the head of a column */
export const headOf = (text, attributes = {}) => make("th", { scope: "col", ...attributes }, text);

/** @param {string} name @param {Record<string, string | number>} attributes @param {...(Node | string)} children */
export const draw = (name, attributes, ...children) => filled(document.createElementNS(SVG, name), attributes, ...children);

/**
 * @template {Element} T
 * @param {T} element
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 * @returns {T}
 */
export function filled(element, attributes, ...children) {
  for (const [attribute, value] of Object.entries(attributes)) {
    element.setAttribute(attribute, String(value));
  }
  element.append(...children);
  return element;
}

/** @param {Record<string, string>} options the text of each value @returns {HTMLElement[]} */
export const optionsOf = (options) =>
  Object.entries(options).map(([value, text]) => make("option", { value }, visible(text)));

/**
 * @param {string} called
 * @param {Record<string, string>} options the text of each value
 * @returns {{label: HTMLElement, select: HTMLSelectElement}}
 */
export function choice(called, options) {
  const select = /** @type {HTMLSelectElement} */ (make("select", {}, ...optionsOf(options)));
  return { label: make("label", {}, make("span", {}, called), select), select };
}

/**
 * @param {string} called
 * @param {string} example
 * @returns {{label: HTMLElement, field: HTMLInputElement}} a field for a condition in SQL
 */
export function conditionField(called, example) {
  const attributes = { type: "text", spellcheck: "false", autocomplete: "off", placeholder: example };
  const field = /** @type {HTMLInputElement} */ (make("input", attributes));
  return { label: make("label", { class: "wide" }, make("span", {}, called), field), field };
}

/** @param {string[]} names @returns {Record<string, string>} */
export const named = (names) => Object.fromEntries(names.map((name) => [name, name]));
