/**
 * The laws of sums of numbers over rows of which only the group is known: a middle, and the distances
 * to the ends of a 95 % range.
 *
 * Of a group's n rows h are selected: the sum of their numbers has a known mean and variance (sampling
 * without replacement). Covariates move the middle, and effects that they do not show widen the range.
 */

import { binned, Covariates } from "./covariates.js";
import { cellsOf, selectedBy, textOf } from "./engine.js";
import { Z95 } from "./likely.js";

/** @typedef {import("./conditions.js").Columns} Columns */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./covariates.js").Binned} Binned */
/** @typedef {import("./covariates.js").Deviations} Deviations */
/** @typedef {import("./covariates.js").GroupedNumbers} GroupedNumbers */
/** @typedef {import("./engine.js").Selected} Selected */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Table} Table */

const LEAN = 0.05; // standard deviations by which selected rows may differ from others of the group
const DOUBT = 0.25; // error of the covariates' move, as a share of the move
const FILL = 0.3; // standard deviations by which values may differ from their subdomain's target

/**
 * The law of an answer, and the size of what it is about: rows (the lower end of their range where the
 * number is not known) and groups.
 * @typedef {{middle: number, below: number, above: number, rows: number, groups: number}} Law
 */

/**
 * One number of each row, known only by its group.
 * @typedef {{grouped: GroupedNumbers, deviations: Deviations, lean: number}} RowNumbers
 */

/**
 * Exact rows, and the rows by group.
 * @typedef {{rows: Table, described: Columns, byGroup: import("./engine.js").Ordered}} RowsInGroups
 */

/** @typedef {{middle: number, moved: number, unknown: number, deviation: number}} LikelySum */

/**
 * @param {Described[]} columns of a release
 * @param {Table} rows
 * @returns {Binned | null} its quasi-identifiers in bins; null if there are too many for a page
 */
export const binsOf = (columns, rows) =>
  binned(rows, columns.filter(({ role }) => role === "quasi-identifier"));

/** Exact rows in groups, and the laws of sums over some of them. */
export class GroupedRows {
  /**
   * @param {RowsInGroups} engine
   * @param {Binned} bins of quasi-identifiers
   */
  constructor({ rows, described, byGroup }, bins) {
    this.rows = rows;
    this.described = described;
    this.byGroup = byGroup;
    this.covariates = new Covariates(bins, byGroup);
  }

  /**
   * @param {Part} part
   * @param {Condition | null} onRows its condition on exact columns
   * @param {(selected: Selected) => Law | null} lawOver
   * @returns {Map<string, Law>} by the texts of keys; without laws for what has none
   */
  lawsOfCells(part, onRows, lawOver) {
    const cells = cellsOf(this.rows, part.by, onRows, this.described);
    const laws = new Map();
    selectedBy(cells, this.byGroup).forEach((selected, place) => {
      const law = selected.places.length ? lawOver(selected) : null;
      if (law !== null) {
        laws.set(textOf(cells.keys[place]), law);
      }
    });
    return laws;
  }

  /** @param {GroupedNumbers} grouped @param {number} [lean] @returns {RowNumbers} */
  numbersOf(grouped, lean = LEAN) {
    return { grouped, deviations: this.covariates.fit(grouped), lean };
  }

  /** @param {RowNumbers} numbers @param {Selected} selected @param {boolean} perRow @returns {Law} */
  sumLaw(numbers, selected, perRow) {
    const rows = selected.places.length;
    const { middle, deviation } = this.sumOver(numbers, selected);
    return lawOf(middle, deviation, perRow ? rows : 1, { rows, groups: selected.groups.length });
  }

  /** @param {RowNumbers} numbers @param {Selected} selected @returns {LikelySum} */
  sumOver({ grouped, deviations, lean }, selected) {
    const { moved, error } = this.covariates.movedOver(deviations, selected);
    return likelySum(grouped, selected, moved, error, lean);
  }
}

/**
 * @param {number} middle
 * @param {number} deviation
 * @param {number} per rows
 * @param {{rows: number, groups: number}} size
 * @returns {Law}
 */
export function lawOf(middle, deviation, per, size) {
  const width = (Z95 * deviation) / per;
  return { middle: middle / per, below: width, above: width, ...size };
}

/**
 * The law of the sum of numbers over selected rows.
 * @param {GroupedNumbers} numbers
 * @param {Selected} selected
 * @param {number} moved what covariates add to the expected sum
 * @param {number} error the standard error of that
 * @param {number} lean
 * @returns {LikelySum}
 */
export function likelySum({ size, mean, variance, inner }, { groups, hits }, moved, error, lean) {
  let [expected, spread, effects, filled] = [0, 0, 0, 0];
  for (let place = 0; place < groups.length; place += 1) {
    const own = groups[place];
    const [n, h] = [size[own], hits[place]];
    expected += h * mean[own];
    spread += ((h * (n - h)) / Math.max(n - 1, 1)) * variance[own] + h * inner[own];
    effects += ((h * (n - h)) / n) * Math.sqrt(variance[own] + inner[own]);
    filled += h * Math.sqrt(inner[own]);
  }
  const unknown = Math.hypot(lean * effects, FILL * filled, error, DOUBT * moved);
  return { middle: expected + moved, moved, unknown, deviation: Math.hypot(Math.sqrt(spread), unknown) };
}
