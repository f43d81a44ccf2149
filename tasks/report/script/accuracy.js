/** How accurate answers are: the widths of bounds over fixed ranges of a column, short and long. */

import { apart, isFraction } from "./bounds.js";
import { both, test } from "./conditions.js";
import { literalOf } from "./engine.js";
import { scaleOf } from "./scales.js";

/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./asking.js").Release} Release */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./tables.js").Described} Described */

/**
 * The accuracy of answers about ranges of one length.
 * @typedef {object} Span
 * @property {number} share of all values of the column that a range has
 * @property {number[]} accuracies half the width of bounds as a share of their middle, at most 1
 * @property {number} median
 */

const SHARES = [0.05, 0.1, 0.2, 0.4, 0.8];
const MOST_RANGES = 8; // of each length

/**
 * @param {Bounds} bounds
 * @returns {number | null} half the width as a share of the middle, at most 1; null without an answer
 */
export function accuracyOf({ lower, upper }) {
  if (!isFraction(lower) || !isFraction(upper)) {
    return null;
  }
  const { share } = apart(lower, upper);
  return share === null ? (lower.n === upper.n ? 0 : 1) : Math.min(share, 1);
}

/** @param {number[]} numbers not empty @returns {number} */
export function medianOf(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * The ends of ranges of one length, spread evenly over all values of a column.
 * @param {bigint} least
 * @param {bigint} greatest
 * @param {number} share
 * @returns {[bigint, bigint][]}
 */
export function rangesOf(least, greatest, share) {
  const all = greatest - least + 1n;
  const length = BigInt(Math.max(1, Math.ceil(Number(all) * share)));
  const room = all - length;
  const number = Number(room) < MOST_RANGES ? Number(room) + 1 : MOST_RANGES;
  return Array.from({ length: number }, (_, place) => {
    const start = number > 1 ? least + (room * BigInt(place)) / BigInt(number - 1) : least;
    return [start, start + length - 1n];
  });
}

/**
 * The columns over whose ranges accuracy can be measured: ordered ones that have many values.
 * @param {Release} release
 * @returns {Described[]}
 */
export function rangedColumns(release) {
  return [...release.columns.values()].filter((column) => {
    const ends = column.role === "sensitive" || column.type === "float" ? null : release.endsOf(column.name);
    return ends !== null && ends[1] - ends[0] >= 3n;
  });
}

/**
 * Measure the accuracy of a question over ranges of a column.
 * @param {Release} release
 * @param {Question} question whose groups do not count
 * @param {string} name the column
 * @returns {Span[]} by length, without lengths that have no answers
 */
export function spansOf(release, question, name) {
  const described = release.column(name);
  const scale = scaleOf(described);
  const ends = release.endsOf(name);
  if (scale === null || ends === null) {
    return [];
  }
  return SHARES.map((share) => {
    const accuracies = rangesOf(ends[0], ends[1], share).flatMap(([first, last]) => {
      const where = both(
        test(name, ">=", literalOf(described, scale.value(first))),
        test(name, "<=", literalOf(described, scale.value(last))),
        question.where,
      );
      const [row] = release.answer({ ...question, by: [], where });
      return accuracyOf(row.bounds) ?? [];
    });
    return { share, accuracies, median: accuracies.length ? medianOf(accuracies) : 1 };
  }).filter(({ accuracies }) => accuracies.length);
}
