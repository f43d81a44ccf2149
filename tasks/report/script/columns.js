/**
 * Bounds of counts on releases that show each quasi-identifier by itself.
 *
 * A group of g rows admits m values of a quasi-identifier, l of which satisfy a condition. Every value
 * occurs: at least l rows have a matching one, or all if l = m, and at most g - (m - l) rows. Of T
 * conditions together, at least the sum of the least numbers - (T - 1) g rows satisfy all. If v values
 * of the group belong to people who left, v fewer, and at most g - v. If a marginal counts the rows of
 * all groups with a matching value, no answer is more, and a conjunction is at least the sum of these
 * numbers, and of the least numbers of the other conditions, - (T - 1) times all rows.
 *
 * Source: Wang, Ambiguity: hide the presence of individuals and their privacy with low information
 * loss; the bounds and the expected numbers are this project's own.
 */

import { bounds, withEstimate } from "./bounds.js";
import { rowsWhere, splitCondition } from "./conditions.js";
import { answered, combinations, groupsIn, MOST_CELLS, register } from "./engine.js";
import { fraction } from "./fractions.js";
import { withIntervals } from "./likely.js";
import { Refusal } from "./scales.js";
import { columnOf, decodeTable, numbersOf } from "./tables.js";
import { WorldsLaws } from "./worlds.js";

/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").KeyValue} KeyValue */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedTable} PackedTable */
/** @typedef {import("./tables.js").Table} Table */

const ROUNDS = 100;

/**
 * The least, greatest and expected number of each group's rows that match; and the number of all rows
 * that do, if a marginal counts it.
 * @typedef {{low: Float64Array, high: Float64Array, expected: Float64Array, total?: number}} Matches
 */

/** @implements {Engine} */
export class ColumnsEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    this.described = new Map(packed.columns.map((column) => [column.name, column]));
    this.values = (packed.values ?? []).map(decodeTable);
    this.groups = groupsIn(this.values[0]);
    this.sizes = this.sums(this.values[0], null);
    this.vacant = new Float64Array(this.groups);
    this.isComposed = packed.lineage !== undefined;
    if (packed.lineage) {
      const lineage = decodeTable(packed.lineage);
      this.vacant = Float64Array.from(numbersOf(columnOf(lineage, "vacant")));
    }
    /** @type {Map<string, Admitted>} */
    this.admitted = new Map();
    for (const table of packed.admitted ?? []) {
      const [name] = Object.keys(table.columns).filter((column) => column !== "group_id");
      const rounds = packed.rounds?.[name] ?? ROUNDS;
      this.admitted.set(name, new Admitted(name, decodeTable(table), this.sizes, rounds));
    }
    for (const table of (packed.marginals ?? []).map(decodeTable)) {
      const [name] = [...table.columns.keys()].filter((column) => column !== "count");
      /** @type {Admitted} */ (this.admitted.get(name)).countBy(table);
    }
    this.rows = this.sizes.reduce((sum, size) => sum + size, 0);
  }

  /** @param {string} column @returns {string | undefined} */
  bundleOf(column) {
    const place = this.values.findIndex((table) => table.columns.has(column));
    return this.admitted.has(column) ? `column ${column}` : String(place);
  }

  /**
   * @param {Table} table with counts
   * @param {Uint8Array | null} chosen
   * @returns {Float64Array} the number of each group's values that are chosen
   */
  sums(table, chosen) {
    const sums = new Float64Array(this.groups);
    const times = numbersOf(columnOf(table, "count"));
    numbersOf(columnOf(table, "group_id")).forEach((group, entry) => {
      sums[group] += chosen === null || chosen[entry] ? times[entry] : 0;
    });
    return sums;
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    if (part.aggregate !== "count") {
      throw new Refusal(
        `This release answers COUNT, but not ${part.aggregate.toUpperCase()}: it does not show who has which value`,
      );
    }
    const { matching } = splitCondition(part.condition, (column) => this.bundleOf(column));
    const keyed = part.by.map((name) => {
      const condition = matching.get(`column ${name}`) ?? null;
      matching.delete(`column ${name}`);
      return /** @type {Admitted} */ (this.admitted.get(name)).byValue(condition, this.described);
    });
    const others = [...matching].map(([bundle, condition]) => this.matches(bundle, condition));
    const cells = combinations(keyed.map((values) => [...values.keys()]));
    if (cells.length > MOST_CELLS) {
      throw new Refusal(`The answer has more than ${MOST_CELLS} lines. Group by fewer columns`);
    }
    return answered(cells, (number) => {
      const own = cells[number].map((value, place) => /** @type {Matches} */ (keyed[place].get(value)));
      return this.bound([...own, ...others], part.by.length > 0);
    });
  }

  /**
   * @param {string} bundle
   * @param {Condition} condition
   * @returns {Matches}
   */
  matches(bundle, condition) {
    if (bundle.startsWith("column ")) {
      const admitted = /** @type {Admitted} */ (this.admitted.get(bundle.slice("column ".length)));
      return admitted.matches(rowsWhere(condition, admitted.table, this.described));
    }
    const table = this.values[Number(bundle)];
    const sums = this.sums(table, rowsWhere(condition, table, this.described));
    return { low: sums, high: sums, expected: sums };
  }

  /**
   * @param {Matches[]} terms of one cell
   * @param {boolean} grouped whether a cell that no group admits is left out
   */
  bound(terms, grouped) {
    let [least, most, expected] = [0, 0, 0];
    let admitsSome = false;
    const lows = terms.map(() => 0);
    for (let group = 0; group < this.groups; group += 1) {
      const size = this.sizes[group];
      const live = size - this.vacant[group];
      let [low, high, near] = [0, live, live];
      for (const term of terms) {
        low += term.low[group];
        high = Math.min(high, term.high[group]);
        near = (near * term.expected[group]) / size;
      }
      if (terms.some((term) => !term.high[group])) {
        continue;
      }
      admitsSome = true;
      terms.forEach((term, place) => {
        lows[place] += term.low[group];
      });
      low = terms.length ? low - (terms.length - 1) * size : size;
      least += Math.max(low - this.vacant[group], 0);
      most += high;
      expected += near;
    }
    if (grouped && !admitsSome) {
      return null;
    }
    const totals = terms.flatMap(({ total }) => (total === undefined ? [] : [total]));
    if (totals.length) {
      const sum = terms.reduce((so, { total }, place) => so + (total ?? lows[place]), 0);
      least = Math.max(least, sum - (terms.length - 1) * this.rows);
      most = Math.min(most, ...totals);
    }
    const near = Math.min(Math.max(expected, least), most);
    return withEstimate(bounds(fraction(least), fraction(most), near));
  }
}

/** A quasi-identifier: the values that each group admits. */
export class Admitted {
  /** @param {string} name @param {Table} table @param {Float64Array} sizes @param {number} rounds */
  constructor(name, table, sizes, rounds) {
    this.name = name;
    this.table = table;
    this.sizes = sizes;
    this.rounds = rounds;
    this.group = numbersOf(columnOf(table, "group_id"));
    this.numbers = new Float64Array(sizes.length);
    this.group.forEach((group) => {
      this.numbers[group] += 1;
    });
    /** @type {Float64Array | null} */
    this.fitted = null;
    /** @type {number[] | null} */
    this.totals = null;
  }

  /** @param {Table} marginal the number of all rows with each value */
  countBy(marginal) {
    const counted = columnOf(marginal, this.name);
    const numbers = numbersOf(columnOf(marginal, "count"));
    const totals = new Map(
      [...counted.codes].map((code, row) => [counted.values[code] ?? null, numbers[row]]),
    );
    const { values } = columnOf(this.table, this.name);
    const last = Math.max(values.length, ...columnOf(this.table, this.name).codes) + 1;
    this.totals = Array.from({ length: last }, (_, code) => totals.get(values[code] ?? null) ?? 0);
  }

  /** @param {Uint8Array} chosen @returns {number | undefined} all rows with a chosen value, if counted */
  total(chosen) {
    const { totals } = this;
    if (totals === null) {
      return undefined;
    }
    const { codes } = columnOf(this.table, this.name);
    const different = new Set([...codes].filter((_, entry) => chosen[entry]));
    return [...different].reduce((sum, code) => sum + totals[code], 0);
  }

  /** @returns {Float64Array} the expected number of rows with each admitted value */
  expected() {
    const { codes } = columnOf(this.table, this.name);
    this.fitted ??= occurrences(this.sizes, this.numbers, this.group, codes, this.rounds);
    return this.fitted;
  }

  /**
   * @param {Uint8Array} chosen the admitted values that match
   * @returns {Matches} a group without a matching value has 0 as greatest number
   */
  matches(chosen) {
    const matching = new Float64Array(this.sizes.length);
    const expected = new Float64Array(this.sizes.length);
    const fitted = this.expected();
    for (let entry = 0; entry < chosen.length; entry += 1) {
      matching[this.group[entry]] += chosen[entry];
      expected[this.group[entry]] += chosen[entry] ? fitted[entry] : 0;
    }
    return {
      low: matching.map((number, group) => (number === this.numbers[group] ? this.sizes[group] : number)),
      high: matching.map((number, group) => (number ? this.sizes[group] - this.numbers[group] + number : 0)),
      expected,
      total: this.total(chosen),
    };
  }

  /**
   * @param {Condition | null} condition
   * @param {import("./conditions.js").Columns} described
   * @returns {Map<KeyValue, Matches>} by each value that satisfies the condition
   */
  byValue(condition, described) {
    const chosen = rowsWhere(condition, this.table, described);
    const { values, codes } = columnOf(this.table, this.name);
    const different = new Set(codes.filter((_, entry) => chosen[entry]));
    return new Map(
      [...different]
        .sort((a, b) => a - b)
        .map((code) => [
          values[code] ?? null,
          this.matches(chosen.map((some, entry) => Number(some && codes[entry] === code))),
        ]),
    );
  }
}

/**
 * The expected number of rows of each group that have each value it admits: one distribution of all
 * values is fitted, in which every admitted value occurs at least once.
 * @param {Float64Array} sizes the rows of each group
 * @param {Float64Array} numbers the values that each group admits
 * @param {Int32Array} group of each admitted value
 * @param {Int32Array} codes of each admitted value
 * @param {number} rounds for which it is fitted, from equal shares on
 * @returns {Float64Array}
 */
function occurrences(sizes, numbers, group, codes, rounds) {
  let most = 0;
  for (const code of codes) {
    most = Math.max(most, code);
  }
  let weights = new Float64Array(most + 1);
  codes.forEach((code) => {
    weights[code] += 1;
  });
  const expected = Float64Array.from(group, (own) => 1 + (sizes[own] - numbers[own]) / numbers[own]);
  const totals = new Float64Array(sizes.length);
  for (let round = 0; round < rounds; round += 1) {
    totals.fill(0);
    for (let entry = 0; entry < codes.length; entry += 1) {
      totals[group[entry]] += weights[codes[entry]];
    }
    const next = new Float64Array(most + 1);
    for (let entry = 0; entry < codes.length; entry += 1) {
      const own = group[entry];
      expected[entry] = 1 + (sizes[own] - numbers[own]) * (weights[codes[entry]] / totals[own]);
      next[codes[entry]] += expected[entry];
    }
    weights = next;
  }
  return expected;
}

/** @param {ColumnsEngine} engine @param {import("./tables.js").Described[]} columns */
const columnsLaws = (engine, columns) =>
  // some rows of combined versions belong to nobody
  engine.isComposed ? { of: () => new Map() } : new WorldsLaws(engine, columns);

register("columns", (packed) => withIntervals(packed, new ColumnsEngine(packed), columnsLaws));
