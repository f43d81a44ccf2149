/**
 * The laws of counts, sums and means on exact rows beside shuffled values: a middle, and the distances
 * to the ends of a 95 % range.
 *
 * Of a group's n rows h are selected: the sum of their numbers has a known mean and variance (sampling
 * without replacement). Covariates move the middle, and effects that they do not show widen the range.
 * SQL passes over nulls: a mean is then the quotient of two sums, to first order.
 *
 * Source: Särndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, 5.6 (linearization).
 */

import { isThere, rowsWhere, splitCondition } from "./conditions.js";
import { likelyCounts, Z95 } from "./counts.js";
import { binned, Covariates } from "./covariates.js";
import { cellsOf, GROUP, textOf } from "./engine.js";
import { columnOf, numbersOf, unitsOf } from "./tables.js";

/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./covariates.js").Deviations} Deviations */
/** @typedef {import("./covariates.js").GroupedNumbers} GroupedNumbers */
/** @typedef {import("./covariates.js").Selected} Selected */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./rows.js").RowsEngine} RowsEngine */
/** @typedef {import("./tables.js").Described} Described */

const LEAN = 0.05; // standard deviations by which selected rows may differ from others of the group
const LEAN_OF_SHARES = 0.1; // the same for numbers that are 1 for some values and 0 for the others
const DOUBT = 0.25; // error of the covariates' move, as a share of the move

/**
 * The law of an answer, and the size of what it is about: rows (the lower end of their range where the
 * number is not known) and groups.
 * @typedef {{middle: number, below: number, above: number, rows: number, groups: number}} Law
 */

/**
 * One number of each row, known only by its group.
 * @typedef {{grouped: GroupedNumbers, deviations: Deviations, lean: number}} RowNumbers
 */

/** @typedef {{middle: number, moved: number, unknown: number, deviation: number}} LikelySum */

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
  const bins = binned(engine.rows, columns.filter(({ role }) => role === "quasi-identifier"));
  return bins && new RowsLaws(engine, bins);
}

/** The laws of a release, by cells of questions. */
class RowsLaws {
  /** @param {RowsEngine} engine @param {import("./covariates.js").Binned} bins of quasi-identifiers */
  constructor(engine, bins) {
    this.engine = engine;
    this.group = numbersOf(columnOf(engine.rows, GROUP));
    this.covariates = new Covariates(bins, this.group, engine.groups);
    this.sizes = Float64Array.from(engine.sizes);
    /** @type {Map<string, RowNumbers | WithMissing>} */
    this.totals = new Map();
  }

  /**
   * @param {Part} part a count, a sum or a mean
   * @returns {Map<string, Law>} by the texts of keys; without laws for what has none
   */
  of(part) {
    const { engine } = this;
    const { onRows, matching } = splitCondition(part.condition, (column) => engine.bundleOf(column));
    const laws = new Map();
    if (matching.size > 1) {
      return laws;
    }
    const [matched] = [...matching].map(([bundle, condition]) => this.matching(Number(bundle), condition));
    const { cell, keys } = cellsOf(engine.rows, part.by, rowsWhere(onRows, engine.rows, engine.described));
    this.selected(cell, keys.length).forEach((selected, place) => {
      const law = selected.rows.length ? this.law(part, selected, matched) : null;
      if (law !== null) {
        laws.set(textOf(keys[place]), law);
      }
    });
    return laws;
  }

  /** @param {Int32Array} cell of each row @param {number} cells @returns {Selected[]} */
  selected(cell, cells) {
    /** @type {Selected[]} */
    const selected = Array.from({ length: cells }, () => ({ groups: [], hits: [], rows: [] }));
    for (const row of this.covariates.order) {
      if (cell[row] >= 0) {
        const { groups, hits, rows } = selected[cell[row]];
        if (groups[groups.length - 1] !== this.group[row]) {
          groups.push(this.group[row]);
          hits.push(0);
        }
        hits[hits.length - 1] += 1;
        rows.push(row);
      }
    }
    return selected;
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
    const shuffled = groups.map((own, place) => ({ size: this.sizes[own], matching: number[own], selected: hits[place] }));
    const { middle, moved, unknown } = this.sumOver(numbers, selected);
    const [below, above] = likelyCounts(shuffled).map((end) => Math.hypot(end - (middle - moved), Z95 * unknown));
    return { middle, below, above, rows: selected.rows.length, groups: groups.length };
  }

  /** @param {RowNumbers} numbers @param {Selected} selected @param {boolean} perRow @returns {Law} */
  sumLaw(numbers, selected, perRow) {
    const rows = selected.rows.length;
    const { middle, deviation } = this.sumOver(numbers, selected);
    return lawOf(middle, deviation, perRow ? rows : 1, { rows, groups: selected.groups.length });
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
    const { size, mean, variance } = above.grouped;
    const share = there.grouped.mean;
    const grouped = {
      size,
      mean: mean.map((own, group) => own - apart * share[group]),
      // of above - apart * there; its middle term is the covariance of both within groups
      variance: variance.map((own, group) =>
        Math.max(own - 2 * apart * mean[group] * (1 - share[group]) + apart ** 2 * share[group] * (1 - share[group]), 0),
      ),
    };
    const [first, other] = [above, there].map(({ deviations }) => this.covariates.movedOver(deviations, selected));
    const error = Math.hypot(first.error, apart * other.error);
    return likelySum(grouped, selected, first.moved - apart * other.moved, error, above.lean);
  }

  /** @param {RowNumbers} numbers @param {Selected} selected @returns {LikelySum} */
  sumOver({ grouped, deviations, lean }, selected) {
    const { moved, error } = this.covariates.movedOver(deviations, selected);
    return likelySum(grouped, selected, moved, error, lean);
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
      return this.numbersOfRows(place, numbers, LEAN);
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
      above: this.numbersOfRows(place, numbers.map((number, entry) => (there[entry] ? number - centre : 0)), LEAN),
      there: this.numbersOfRows(place, there, LEAN_OF_SHARES),
      sums: this.numbersOfRows(place, numbers, LEAN),
    };
  }

  /**
   * @param {number} place of the values' bundle
   * @param {Float64Array} numbers one per entry
   * @param {number} lean
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
    const grouped = { size: this.sizes, mean, variance: variance.map((total, own) => total / Math.max(this.sizes[own], 1)) };
    return { grouped, deviations: this.covariates.fit(grouped), lean };
  }

  /** @param {number} place of the values' bundle @param {Condition} condition @returns {Matching} */
  matching(place, condition) {
    const bundle = this.engine.bundles[place];
    const chosen = rowsWhere(condition, bundle.table, this.engine.described);
    const number = bundle.counts(chosen);
    const mean = this.sizes.map((size, own) => number[own] / Math.max(size, 1));
    const grouped = { size: this.sizes, mean, variance: mean.map((share) => share * (1 - share)) };
    const deviations = this.covariates.fit(grouped);
    return { number, numbers: { grouped, deviations, lean: LEAN_OF_SHARES }, there: isThere(condition) };
  }
}

/**
 * @param {number} middle
 * @param {number} deviation
 * @param {number} per rows
 * @param {{rows: number, groups: number}} size
 * @returns {Law}
 */
function lawOf(middle, deviation, per, size) {
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
function likelySum({ size, mean, variance }, { groups, hits }, moved, error, lean) {
  let [expected, spread, effects] = [0, 0, 0];
  groups.forEach((own, place) => {
    const [n, h] = [size[own], hits[place]];
    expected += h * mean[own];
    spread += ((h * (n - h)) / Math.max(n - 1, 1)) * variance[own];
    effects += ((h * (n - h)) / n) * Math.sqrt(variance[own]);
  });
  const unknown = Math.hypot(lean * effects, error, DOUBT * moved);
  return { middle: expected + moved, moved, unknown, deviation: Math.hypot(Math.sqrt(spread), unknown) };
}
