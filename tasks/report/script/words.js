/** Answers in words: bounds with commas, how accurate they are, and the texts to copy. */

import { apart, asNumber, isFraction } from "./bounds.js";
import { approximate, compare, fraction, times, written } from "./fractions.js";
import { HIDDEN } from "./scales.js";

/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./bounds.js").Value} Value */
/** @typedef {import("./fractions.js").Fraction} Fraction */

const EACH_HIDDEN = new RegExp(HIDDEN, "g");
const HUNDRED = fraction(100);
const ELSEWHERE = "this page computes one for a count, a sum or an average whose conditions AND joins; sfumato query may have one";
const BY_COMMAND = "this page computes none of the kinds that this release states, but sfumato query does";
const WIDE = 3; // bounds as far apart are told by their ratio

/** @param {string} text @returns {string} it without characters that hide or reorder others */
export const visible = (text) => text.replace(EACH_HIDDEN, "\ufffd");

/** @param {Value} value @param {number} decimals @param {"down" | "up" | "nearest"} direction */
function valueText(value, decimals, direction) {
  return isFraction(value) ? written(value, decimals, direction) : visible(String(value));
}

/**
 * Bounds in words, rounded outward; an exact answer is one number.
 * @param {Bounds} bounds
 * @param {number} decimals
 * @returns {string}
 */
export function boundsText({ lower, upper, mayBeEmpty }, decimals) {
  if (lower === null || upper === null) {
    return "no rows";
  }
  const empty = mayBeEmpty ? ", or no rows" : "";
  if (isFraction(lower) && isFraction(upper) ? compare(lower, upper) === 0 : lower === upper) {
    return `${valueText(lower, decimals, "nearest")}${empty}`;
  }
  return `${valueText(lower, decimals, "down")} to ${valueText(upper, decimals, "up")}${empty}`;
}

/**
 * @param {Bounds} bounds
 * @returns {string} how accurate they are; empty for other values than numbers
 */
export function accuracyText({ lower, upper }) {
  if (!isFraction(lower) || !isFraction(upper)) {
    return "";
  }
  if (compare(lower, upper) === 0) {
    return "exact";
  }
  const { factor, share } = apart(lower, upper);
  if (factor !== null && factor >= WIDE) {
    return `known within a factor of ${Math.ceil(factor).toLocaleString("en")}`;
  }
  return shareText(share ?? 1);
}

/** @param {number} share half the width of bounds, relative to their middle @returns {string} */
export function shareText(share) {
  if (share >= 1) {
    return "too wide to use";
  }
  return share ? `±${percentText(share)}` : "exact";
}

/** @param {number} share @returns {string} in percent, three digits at most */
function percentText(share) {
  const percent = 100 * share;
  return `${percent < 10 ? Number(percent.toPrecision(2)) : Number(percent.toPrecision(3))} %`;
}

/**
 * @param {Bounds} bounds
 * @param {number} decimals
 * @returns {string}
 */
export function estimateText({ lower, upper, estimate }, decimals) {
  if (estimate === null || (isFraction(lower) && isFraction(upper) && compare(lower, upper) === 0)) {
    return "";
  }
  const number = asNumber(estimate);
  if (number === null || !Number.isFinite(number)) {
    return number === null ? visible(String(estimate)) : "";
  }
  const scale = 10 ** decimals;
  return written(fraction(BigInt(Math.round(number * scale)), BigInt(scale)), decimals, "nearest");
}

/**
 * @param {Bounds} bounds
 * @param {number} decimals
 * @returns {string} the likely interval, rounded outward; empty without one
 */
export function likelyText({ likely }, decimals) {
  if (!likely?.interval) {
    return "";
  }
  const [low, high] = likely.interval;
  return `${valueText(low, decimals, "down")} to ${valueText(high, decimals, "up")}`;
}

/**
 * @param {Bounds[]} answers
 * @param {boolean} some whether the page computes likely intervals for its form of release
 * @returns {string[]} why some of the answers have none
 */
export function reasonsOf(answers, some) {
  const open = answers.filter(({ lower, upper }) => isFraction(lower) && isFraction(upper) && compare(lower, upper) !== 0);
  const reasons = open.map(({ likely }) => likely?.reason ?? (some ? ELSEWHERE : BY_COMMAND));
  return [...new Set(reasons)].filter(Boolean);
}

/**
 * @param {Bounds} bounds of a share
 * @returns {Bounds} the same in percent
 */
export function inPercent(bounds) {
  const [lower, upper] = [bounds.lower, bounds.upper].map((end) => (isFraction(end) ? times(end, HUNDRED) : end));
  const guess = asNumber(bounds.estimate);
  return { ...bounds, lower, upper, estimate: guess === null ? null : guess * 100 };
}

/**
 * The question in words, as the caption of its answer.
 * @param {Question} question
 * @param {string} share the condition of a share as it is written; empty for other aggregates
 * @param {string} where the condition as it is written; empty without one
 * @param {string} units people, or rows
 */
export function questionText({ aggregate, column, by }, share, where, units) {
  const counts = { count: `Number of ${units}`, share: `Share of ${units} with ${visible(share)}` };
  const counted = column === null && (aggregate === "count" || aggregate === "share");
  const what = counted ? counts[aggregate] : `${NAMES[aggregate]} of ${visible(column ?? "")}`;
  const keys = by.length ? ` by ${by.map(visible).join(" and ")}` : "";
  return `${what}${keys}${where ? `, where ${visible(where)}` : ""}`;
}

/** The aggregates, in the words of the page. */
export const NAMES = {
  count: "Number of values",
  sum: "Sum",
  avg: "Average",
  min: "Least value",
  max: "Greatest value",
  median: "Median",
  share: "Share",
};

/** @param {string} text @returns {string} as one word of a shell */
const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** @param {string} sql @returns {string} the command that asks it in the release's directory */
export const commandOf = (sql) => `sfumato query . ${shellWord(sql)}`;

/** @param {string} sql @returns {string} the program that asks it */
export const programOf = (sql) =>
  `import sfumato\n\nrelease = sfumato.open(".")\nprint(release.query(${JSON.stringify(sql)}))`;

/** @param {string} address @param {string} sql @returns {string} the page's address with the question in it */
export const linkOf = (address, sql) => `${address.split("#")[0]}#ask=${encodeURIComponent(sql.replace(/\p{Cs}/gu, "\ufffd"))}`;

/**
 * @param {string} fragment of the page's address
 * @returns {string | null} the query in it; null for another fragment, such as that of a heading
 */
export function queryIn(fragment) {
  if (!fragment.startsWith("#ask=")) {
    return null;
  }
  try {
    return decodeURIComponent(fragment.slice("#ask=".length));
  } catch {
    return null;
  }
}

/** @param {Fraction} low @param {Fraction} high @param {Value | null} value @returns {number} its place from 0 to 1000 */
export function placeOn(low, high, value) {
  const [least, most] = [approximate(low), approximate(high)];
  const number = isFraction(value) ? approximate(value) : least;
  return most > least ? Math.round(((number - least) / (most - least)) * 1000) : 0;
}
