/**
 * The laws of counts, sums and means on exact rows beside subdomains: a group's subdomains are shuffled
 * among its rows, and a value is drawn from its subdomain as the published target says.
 */

import { outcomesOnPlaces, splitCondition, TRUE } from "./conditions.js";
import { binsOf, GroupedRows } from "./laws.js";
import { placeOfValue } from "./scales.js";

/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./laws.js").RowNumbers} RowNumbers */
/** @typedef {import("./subdomains.js").SubdomainsEngine} SubdomainsEngine */
/** @typedef {import("./tables.js").Described} Described */

/**
 * @param {SubdomainsEngine} engine
 * @param {Described[]} columns
 * @returns {RangesLaws | null} null if a page takes too long to compute them
 */
export function rangesLaws(engine, columns) {
  const bins = binsOf(columns, engine.rows);
  return bins && new RangesLaws(engine, bins);
}

/** The laws of a release, by cells of questions. */
class RangesLaws extends GroupedRows {
  /** @param {SubdomainsEngine} engine @param {import("./covariates.js").Binned} bins of quasi-identifiers */
  constructor(engine, bins) {
    super(engine, bins);
    this.engine = engine;
    /** @type {RowNumbers | undefined} */
    this.totals = undefined;
  }

  /** @param {Part} part a count, a sum or a mean @returns {Map<string, Law>} by the texts of keys */
  of(part) {
    const { engine } = this;
    const { onRows, matching } = splitCondition(part.condition, (column) => engine.bundleOf(column));
    const condition = matching.get("0");
    const isCount = part.aggregate === "count";
    if (isCount !== (condition !== undefined)) {
      return new Map();
    }
    const numbers = condition === undefined ? this.values() : this.matches(condition);
    return this.lawsOfCells(part, onRows, (selected) => this.sumLaw(numbers, selected, part.aggregate === "avg"));
  }

  /** @returns {RowNumbers} the sensitive values */
  values() {
    const { units, domain } = this.engine;
    this.totals ??= this.numbersOfValues((rank) => units[rank] / 10 ** domain.digits);
    return this.totals;
  }

  /** @param {Condition} condition @returns {RowNumbers} 1 for each value that matches, 0 for others */
  matches(condition) {
    const { nodes, sensitive } = this.engine;
    const places = nodes.values.map((value) => placeOfValue(sensitive, value));
    const outcomes = outcomesOnPlaces(condition, sensitive, places);
    return this.numbersOfValues((rank) => Number(outcomes[rank] === TRUE));
  }

  /** @param {(rank: number) => number} numberOf a value @returns {RowNumbers} */
  numbersOfValues(numberOf) {
    const { engine } = this;
    const mean = engine.expectedOf(numberOf);
    const square = engine.expectedOf((rank) => numberOf(rank) ** 2);
    const middle = this.meansOf((node) => mean[node]);
    const squares = this.meansOf((node) => mean[node] ** 2);
    return this.numbersOf({
      size: engine.sizes,
      mean: middle,
      variance: squares.map((own, group) => Math.max(own - middle[group] ** 2, 0)),
      inner: this.meansOf((node) => Math.max(square[node] - mean[node] ** 2, 0)),
    });
  }

  /** @param {(node: number) => number} numberOf a subdomain @returns {Float64Array} its mean in each group */
  meansOf(numberOf) {
    const { shown, node, times, sizes } = this.engine;
    return sizes.map((size, group) => {
      let sum = 0;
      for (let place = shown.start[group]; place < shown.start[group + 1]; place += 1) {
        const entry = shown.order[place];
        sum += numberOf(node[entry]) * times[entry];
      }
      return sum / size;
    });
  }
}
