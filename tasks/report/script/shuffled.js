/**
 * The laws of counts, sums and means on exact rows beside shuffled values.
 *
 * SQL passes over nulls: a mean is then the quotient of two sums, to first order.
 *
 * Source: Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, 5.6 (linearization).
 */

import { isThere, rowsWhere, splitCondition } from "./conditions.js";
import { likelyCounts } from "./counts.js";
import { binsOf, GroupedRows, lawOf, likelySum } from "./laws.js";
import { Z95 } from "./likely.js";
import { columnOf, ofRows, unitsOf } from "./tables.js";

/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Selected} Selected */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./laws.js").RowNumbers} RowNumbers */
/** @typedef {import("./exactrows.js").RowsEngine} RowsEngine */
/** @typedef {import("./tables.js").Described} Described */

const LEAN_OF_SHARES = 0.1; // as for other numbers, if they are 1 for some values and 0 for the others

/**
 * Numbers of rows of which some are missing: the numbers above their centre and 0 for missing ones, 1
 * for a number and 0 for a missing one, and the numbers and 0 for missing ones.
 * @typedef {{centre: number, above: RowNumbers, there: RowNumbers, sums: RowNumbers}} WithMissing
 */

/**
 * Values that match a condition: how many each group has, 1 for each and 0 for others as numbers, and
 * their column if the condition excludes only its nulls.
 * @typedef {{number: Int32Array, numbers: RowNumbers, there: string | null}} Matching
 */

/**
 * @param {RowsEngine} engine
 * @param {Described[]} columns
 * @returns {RowsLaws | null} null if a page takes too long to compute them
 */
export function rowsLaws(engine, columns) {
  const bins = binsOf(columns, engine.rows);
  return bins && new RowsLaws(engine, bins);
}

/** The laws of a release, by cells of questions. */
class RowsLaws extends GroupedRows {
  /** @param {RowsEngine} engine @param {import("./covariates.js").Binned} bins of quasi-identifiers */
  constructor(engine, bins) {
    super(engine, bins);
    this.engine = engine;
    this.sizes = Float64Array.from(engine.sizes);
    this.inner = this.sizes.map(() => 0);
    /** @type {Map<string, RowNumbers | WithMissing>} */
    this.totals = new Map();
  }

  /** @param {Part} part a count, a sum or a mean @returns {Map<string, Law>} by the texts of keys */
  of(part) {
    const { onRows, matching } = splitCondition(part.condition, (column) => this.engine.bundleOf(column));
    if (matching.size > 1) {
      return new Map();
    }
    const [matched] = [...matching].map(([bundle, condition]) => this.matching(Number(bundle), condition));
    return this.lawsOfCells(part, onRows, (selected) => this.law(part, selected, matched));
  }

  /** @param {Part} part @param {Selected} selected @param {Matching | undefined} matched @returns {Law | null} */
  law({ aggregate, column }, selected, matched) {
    if (aggregate === "count") {
      return matched === undefined ? null : this.countLaw(selected, matched);
    }
    if (column === null || this.engine.bundleOf(column) === undefined) {
      return null;
    }
    if (matched !== undefined && matched.there !== column) {
      return null;
    }
    const numbers = this.totalsOf(column);
    const perRow = aggregate === "avg";
    return "above" in numbers ? this.lawWithMissing(numbers, selected, perRow) : this.sumLaw(numbers, selected, perRow);
  }

  /**
   * The law of the number of selected rows that match: its range joins that of shuffling, computed
   * exactly, with that of unknown effects.
   * @param {Selected} selected
   * @param {Matching} matched
   * @returns {Law}
   */
  countLaw(selected, { number, numbers }) {
    const { groups, hits } = selected;
    const shuffled = { size: ofRows(groups, this.sizes), matching: ofRows(groups, number), selected: hits };
    const { middle, moved, unknown } = this.sumOver(numbers, selected);
    const [below, above] = likelyCounts(shuffled).map((end) => Math.hypot(end - (middle - moved), Z95 * unknown));
    return { middle, below, above, rows: selected.places.length, groups: groups.length };
  }

  /** @param {WithMissing} numbers @param {Selected} selected @param {boolean} perRow @returns {Law | null} */
  lawWithMissing({ centre, above, there, sums }, selected, perRow) {
    const counted = this.sumOver(there, selected);
    const size = { rows: counted.middle - Z95 * counted.deviation, groups: selected.groups.length };
    if (!perRow) {
      const { middle, deviation } = this.sumOver(sums, selected);
      return lawOf(middle, deviation, 1, size);
    }
    if (counted.middle <= 0) {
      return null;
    }
    const apart = this.sumOver(above, selected).middle / counted.middle;
    const { deviation } = this.sumBeyond(above, there, selected, apart);
    return { ...lawOf(0, deviation, counted.middle, size), middle: centre + apart };
  }

  /**
   * The law of the sum of what numbers are above `apart`, their expected mean, and 0 for missing ones.
   * @param {RowNumbers} above
   * @param {RowNumbers} there
   * @param {Selected} selected
   * @param {number} apart
   */
  sumBeyond(above, there, selected, apart) {
    const { size, mean, variance, inner } = above.grouped;
    const share = there.grouped.mean;
    const grouped = {
      size,
      mean: mean.map((own, group) => own - apart * share[group]),
      // of above - apart * there; its middle term is the covariance of both within groups
      variance: variance.map((own, group) =>
        Math.max(own - 2 * apart * mean[group] * (1 - share[group]) + apart ** 2 * share[group] * (1 - share[group]), 0),
      ),
      inner,
    };
    const [first, other] = [above, there].map(({ deviations }) => this.covariates.movedOver(deviations, selected));
    const error = Math.hypot(first.error, apart * other.error);
    return likelySum(grouped, selected, first.moved - apart * other.moved, error, above.lean);
  }

  /** @param {string} name of a sensitive column @returns {RowNumbers | WithMissing} */
  totalsOf(name) {
    const ready = this.totals.get(name) ?? this.readTotals(name);
    this.totals.set(name, ready);
    return ready;
  }

  /** @param {string} name @returns {RowNumbers | WithMissing} */
  readTotals(name) {
    const place = Number(this.engine.bundleOf(name));
    const { table, times } = this.engine.bundles[place];
    const { values, codes } = columnOf(table, name);
    const { units, digits } = unitsOf(values);
    const byCode = Float64Array.from([...units, 0n], (unit) => Number(unit) / 10 ** digits);
    const numbers = Float64Array.from(codes, (code) => byCode[code]);
    if (!this.engine.described.get(name)?.nulls) {
      return this.numbersOfRows(place, numbers);
    }
    const there = Float64Array.from(codes, (code) => Number(code < values.length));
    let [rows, total] = [0, 0];
    numbers.forEach((number, entry) => {
      rows += times[entry] * there[entry];
      total += times[entry] * number;
    });
    const centre = rows ? total / rows : 0;
    return {
      centre,
      above: this.numbersOfRows(place, numbers.map((number, entry) => (there[entry] ? number - centre : 0))),
      there: this.numbersOfRows(place, there, LEAN_OF_SHARES),
      sums: this.numbersOfRows(place, numbers),
    };
  }

  /**
   * @param {number} place of the values' bundle
   * @param {Float64Array} numbers one per entry
   * @param {number} [lean]
   * @returns {RowNumbers}
   */
  numbersOfRows(place, numbers, lean) {
    const { group, times } = this.engine.bundles[place];
    const [mean, variance] = [this.sizes.slice().fill(0), this.sizes.slice().fill(0)];
    numbers.forEach((number, entry) => {
      mean[group[entry]] += number * times[entry];
    });
    mean.forEach((total, own) => {
      mean[own] = total / Math.max(this.sizes[own], 1);
    });
    numbers.forEach((number, entry) => {
      variance[group[entry]] += (number - mean[group[entry]]) ** 2 * times[entry];
    });
    variance.forEach((total, own) => {
      variance[own] = total / Math.max(this.sizes[own], 1);
    });
    return this.numbersOf({ size: this.sizes, mean, variance, inner: this.inner }, lean);
  }

  /** @param {number} place of the values' bundle @param {Condition} condition @returns {Matching} */
  matching(place, condition) {
    const bundle = this.engine.bundles[place];
    const chosen = rowsWhere(condition, bundle.table, this.engine.described);
    const number = bundle.counts(chosen);
    const mean = this.sizes.map((size, own) => number[own] / Math.max(size, 1));
    const variance = mean.map((share) => share * (1 - share));
    const numbers = this.numbersOf({ size: this.sizes, mean, variance, inner: this.inner }, LEAN_OF_SHARES);
    return { number, numbers, there: isThere(condition) };
  }
}
