/** Values of columns and constants of conditions: how they compare, by the type of the column. */

import { compare, floor, fraction, parseNumber } from "./fractions.js";

/** @typedef {import("./fractions.js").Fraction} Fraction */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Type} Type */

/**
 * A constant in a condition, as it is written.
 * @typedef {{kind: "number" | "text" | "truth" | "date" | "timestamp", text: string}} Literal
 */

/** Characters that hide or reorder others, or that a terminal obeys. */
export const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** Something that this page does not answer; its message says why and what to do. */
export class Refusal extends Error {}

/** Something that nothing would answer, since it is misspelt or unfinished. */
export class Mistake extends Refusal {}

/**
 * A place of a constant or a value: a fraction, a float, or a text. Those of one column compare.
 * @typedef {Fraction | number | string} Place
 */

export const DAY = 86_400_000_000n;
const DATE_LENGTH = 10;
const PLAIN = /^[+-]?(?=\D*\d)\d{0,30}(?:\.\d{0,30})?$/; // what databases compare exactly
/** @type {readonly Type[]} */
const NUMBERS = ["integer", "decimal", "float"];
/** The types of values that have an order. @type {readonly Type[]} */
export const ORDERED = [...NUMBERS, "date", "timestamp"];

/** @param {Type} type */
export const isNumber = (type) => NUMBERS.includes(type);

/**
 * Order texts by their code points, as databases do; JavaScript would order by halves of pairs.
 * @param {string} a
 * @param {string} b
 * @returns {number}
 */
export function compareTexts(a, b) {
  const length = Math.min(a.length, b.length);
  for (let place = 0; place < length; ) {
    const first = /** @type {number} */ (a.codePointAt(place));
    const second = /** @type {number} */ (b.codePointAt(place));
    if (first !== second) {
      return first - second;
    }
    place += first > 0xffff ? 2 : 1;
  }
  return a.length - b.length;
}

/**
 * @param {Place} a
 * @param {Place} b
 * @returns {number}
 */
export function comparePlaces(a, b) {
  if (typeof a === "string") {
    return compareTexts(a, /** @type {string} */ (b));
  }
  if (typeof a === "number") {
    return a - /** @type {number} */ (b);
  }
  return compare(a, /** @type {Fraction} */ (b));
}

/**
 * Microseconds since 1970 of a date or a time: 2024-05-31, 2024-05-31 12:30:00.25.
 * @param {string} text
 * @returns {bigint | null} null for another text
 */
export function momentOf(text) {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?:[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?$/.exec(
    text,
  );
  if (!match) {
    return null;
  }
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const same =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  return same && year > 0
    ? BigInt(date.getTime()) * 1000n + BigInt((match[7] ?? "").padEnd(6, "0"))
    : null;
}

/**
 * @param {Described} column
 * @param {string | number | boolean} value of the column
 * @returns {Place}
 */
export function placeOfValue(column, value) {
  if (column.type === "float") {
    return Number(value);
  }
  if (isNumber(column.type)) {
    return parseNumber(String(value)) ?? fraction(0);
  }
  if (column.type === "string") {
    return String(value);
  }
  if (column.type === "boolean") {
    return value ? 1 : 0;
  }
  return fraction(momentOf(String(value)) ?? 0n);
}

/**
 * @param {Described} column
 * @param {Literal} literal
 * @returns {Place}
 */
export function placeOfLiteral(column, literal) {
  const { kind, text } = literal;
  if (isNumber(column.type) && kind === "number" && (column.type === "float" || PLAIN.test(text))) {
    return column.type === "float" ? Number(text) : /** @type {Fraction} */ (parseNumber(text));
  }
  if (column.type === "boolean" && kind === "truth") {
    return text === "true" ? 1 : 0;
  }
  if (column.type === "string" && kind === "text") {
    return text;
  }
  const moment = kind === column.type && (kind !== "date" || text.length === DATE_LENGTH) ? momentOf(text) : null;
  if (moment !== null) {
    return fraction(moment);
  }
  throw new Mistake(`${column.name} cannot be compared with ${text}. ${EXPECTED[column.type]}`);
}

/** @type {Record<Type, string>} */
const EXPECTED = {
  integer: "Write a number, such as 30",
  decimal: "Write a number, such as 12.5",
  float: "Write a number, such as 12.5",
  date: "Write a date, such as DATE '2024-05-31'",
  timestamp: "Write a time, such as TIMESTAMP '2024-05-31 12:00:00'",
  string: "Write a text in quotes, such as 'Paris'",
  boolean: "Write TRUE or FALSE",
};

/**
 * Values of an ordered type as whole numbers in their order, ascending without a gap.
 * @typedef {object} Scale
 * @property {(value: string | number | boolean) => bigint} whole
 * @property {(number: bigint) => string | number} value
 * @property {(number: bigint) => Place} place
 * @property {(place: Place) => bigint[]} near the numbers at a constant and next to it
 * @property {(low: bigint, high: bigint) => number} length of an interval, both ends included
 * @property {bigint} lowest
 * @property {bigint} highest
 */

/**
 * @param {Described} column
 * @returns {Scale | null} null for a type without an order
 */
export function scaleOf(column) {
  switch (column.type) {
    case "integer":
      return { ...decimals(0, -(2n ** 63n), 2n ** 63n - 1n), value: integerValue };
    case "decimal":
      return decimals(column.scale, 1n - 10n ** 38n, 10n ** 38n - 1n);
    case "date":
      return moments(DAY, (text) => text.slice(0, 10));
    case "timestamp":
      return moments(1n, (text) => text);
    case "float":
      return FLOATS;
    default:
      return null;
  }
}

/**
 * @param {number} digits
 * @param {bigint} lowest
 * @param {bigint} highest
 * @returns {Scale}
 */
function decimals(digits, lowest, highest) {
  const scale = 10n ** BigInt(digits);
  return {
    whole: (value) => scaled(parseNumber(String(value)) ?? fraction(0), scale),
    value: (number) => decimalText(number, digits),
    place: (number) => fraction(number, scale),
    near: (place) => around(/** @type {Fraction} */ (place), scale, 1n),
    length: (low, high) => Number(high - low + 1n),
    lowest,
    highest,
  };
}

/** @param {bigint} number @returns {string | number} as JSON has it: a text if a float would round it */
const integerValue = (number) =>
  number < 2n ** 53n && number > -(2n ** 53n) ? Number(number) : number.toString();

/** @param {Fraction} value @param {bigint} scale */
const scaled = (value, scale) => (value.n * scale) / value.d;

/**
 * @param {Fraction} place
 * @param {bigint} scale
 * @param {bigint} step
 * @returns {bigint[]} whole numbers from one below place * scale / step to one above it
 */
function around(place, scale, step) {
  const number = fraction(place.n * scale, place.d * step);
  const below = floor(number);
  const numbers = [below - 1n, below, below + 1n];
  return number.d === 1n ? numbers : [...numbers, below + 2n];
}

/**
 * @param {bigint} units
 * @param {number} digits
 * @returns {string}
 */
export function decimalText(units, digits) {
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, "0");
  const point = digits ? `.${text.slice(-digits)}` : "";
  return `${units < 0n ? "-" : ""}${digits ? text.slice(0, -digits) : text}${point}`;
}

/**
 * @param {bigint} step in microseconds
 * @param {(text: string) => string} short
 * @returns {Scale}
 */
function moments(step, short) {
  const lowest = /** @type {bigint} */ (momentOf("0001-01-01")) / step;
  const highest = /** @type {bigint} */ (momentOf("9999-12-31 23:59:59.999999"));
  return {
    whole: (value) => (momentOf(String(value)) ?? 0n) / step,
    value: (number) => short(momentText(number * step)),
    place: (number) => fraction(number * step),
    near: (place) => around(/** @type {Fraction} */ (place), 1n, step),
    length: (low, high) => Number(high - low + 1n),
    lowest,
    highest: highest / step,
  };
}

/**
 * @param {bigint} moment microseconds since 1970
 * @returns {string} 2024-05-31 12:30:00.250000
 */
export function momentText(moment) {
  const below = moment % 1000n < 0n ? 1n : 0n;
  const milliseconds = moment / 1000n - below;
  const micros = moment - milliseconds * 1000n;
  const text = new Date(Number(milliseconds)).toISOString().slice(-24, -1).replace("T", " ");
  const full = `${text}${micros.toString().padStart(3, "0")}`;
  return full.endsWith(".000000") ? full.slice(0, -7) : full;
}

const LARGEST = ordinal(Number.MAX_VALUE);

/** @type {Scale} */
const FLOATS = {
  whole: (value) => ordinal(Number(value)),
  value: floatOf,
  place: floatOf,
  near: (place) => [-2n, -1n, 0n, 1n, 2n].map((step) => ordinal(/** @type {number} */ (place)) + step),
  length: (low, high) => floatOf(high) - floatOf(low) || Number.MIN_VALUE,
  lowest: -LARGEST,
  highest: LARGEST,
};

/**
 * @param {number} value
 * @returns {bigint} its place among all floats; 0 has the place 0
 */
function ordinal(value) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, Math.abs(value));
  const size = view.getBigInt64(0);
  return value < 0 ? -size : size;
}

/**
 * @param {bigint} number
 * @returns {number}
 */
function floatOf(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigInt64(0, number < 0n ? -number : number);
  const size = view.getFloat64(0);
  return number < 0n ? -size : size;
}
