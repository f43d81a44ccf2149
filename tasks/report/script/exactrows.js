/**
 * Bounds on releases that show exact rows beside the values of their group.
 *
 * Of a group with n values, m of which match a condition, and h rows that are selected, at least
 * h + m - n and at most min(h, m) rows count. For lower bounds they have the group's least matching
 * values, for upper bounds the greatest.
 *
 * Source: Zhang, Koudas, Srivastava, Yu, Aggregate query answering on anonymized tables (ICDE 2007).
 */

import { rowsWhere, splitCondition } from "./conditions.js";
import {
  answered, byGroup, cellsOf, countsOfCells, domainOf, GROUP, groupsIn, requireType, selectedBy, within,
} from "./engine.js";
import { columnOf, decodeTable, numbersOf, ofRows } from "./tables.js";

/** @typedef {import("./bounds.js").Domain} Domain */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").CellCounts} CellCounts */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./engine.js").Selected} Selected */
/** @typedef {import("./tables.js").Column} Column */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").Table} Table */

const COUNT = "count";

/** The values of groups in sensitive columns that are published together. */
export class Bundle {
  /** @param {Table} table @param {number} groups */
  constructor(table, groups) {
    this.table = table;
    this.times = numbersOf(columnOf(table, COUNT));
    this.group = numbersOf(columnOf(table, GROUP));
    this.groups = groups;
    /** @type {Map<string, {start: Int32Array, order: Int32Array}>} */
    this.ordered = new Map();
  }

  /** @returns {Int32Array} the number of values of each group */
  sizes() {
    return this.counts(null);
  }

  /**
   * @param {Uint8Array | null} chosen one per entry; null for all
   * @returns {Int32Array} the number of chosen values of each group
   */
  counts(chosen) {
    const counts = new Int32Array(this.groups);
    for (let entry = 0; entry < this.group.length; entry += 1) {
      if (chosen === null || chosen[entry]) {
        counts[this.group[entry]] += this.times[entry];
      }
    }
    return counts;
  }

  /**
   * @param {string} name
   * @returns {{start: Int32Array, order: Int32Array}} the entries of each group, by ascending value
   */
  inOrderOf(name) {
    let entries = this.ordered.get(name);
    if (!entries) {
      const { codes, values } = columnOf(this.table, name);
      const byValue = byGroup(codes, values.length + 1).order;
      const groups = byGroup(ofRows(byValue, this.group), this.groups);
      entries = { start: groups.start, order: ofRows(groups.order, byValue) };
      this.ordered.set(name, entries);
    }
    return entries;
  }
}

/** @implements {Engine} */
export class RowsEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    this.described = new Map(packed.columns.map((column) => [column.name, column]));
    this.rows = decodeTable(/** @type {import("./tables.js").PackedTable} */ (packed.rows));
    const group = numbersOf(columnOf(this.rows, GROUP));
    const tables = (packed.values ?? []).map(decodeTable);
    this.groups = tables.reduce((most, table) => Math.max(most, groupsIn(table)), 0);
    this.bundles = tables.map((table) => new Bundle(table, this.groups));
    this.sizes = this.bundles[0].sizes();
    this.byGroup = byGroup(group, this.groups);
    /** @type {Map<string, Domain>} */
    this.domains = new Map();
  }

  /** @param {string} column @returns {string | undefined} */
  bundleOf(column) {
    const place = this.bundles.findIndex((bundle) => bundle.table.columns.has(column) && column !== GROUP);
    return place < 0 || column === COUNT ? undefined : String(place);
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    const { onRows, matching } = splitCondition(part.condition, (column) => this.bundleOf(column));
    const cells = cellsOf(this.rows, part.by, onRows, this.described);
    const { cell, keys } = cells;
    const chosen = this.bundles.map((bundle, place) => {
      const condition = matching.get(String(place));
      return condition === undefined ? null : rowsWhere(condition, bundle.table, this.described);
    });
    const numbers = this.bundles.flatMap((bundle, place) =>
      chosen[place] === null ? [] : [bundle.counts(chosen[place])],
    );
    const domain = this.domain(part);
    const counts = countsOfCells(keys.length, domain?.values.length ?? 0);
    const place = part.column === null ? undefined : this.bundleOf(part.column);
    const add =
      part.column === null
        ? () => {}
        : place === undefined
          ? this.ownValues(part.column, cell)
          : this.groupValues(part.column, this.bundles[Number(place)], chosen[Number(place)]);
    this.countGroups(selectedBy(cells, this.byGroup), numbers, counts, add);
    const described = this.described.get(part.column ?? "");
    const plain = !matching.size && place !== undefined && ["min", "max"].includes(part.aggregate);
    return answered(keys, (number) => {
      if (part.by.length && !counts[number].most) {
        return null;
      }
      return plain ? withoutGuess(counts[number], part, domain, described) : counts[number].bound(part, domain, described);
    });
  }

  /** @param {Part} part @returns {Domain | null} */
  domain(part) {
    if (part.column === null) {
      return null;
    }
    const described = /** @type {Described} */ (this.described.get(part.column));
    requireType(part.aggregate, described);
    let domain = this.domains.get(part.column);
    if (!domain) {
      const place = this.bundleOf(part.column);
      const table = place === undefined ? this.rows : this.bundles[Number(place)].table;
      domain = domainOf(described, columnOf(table, part.column).values);
      this.domains.set(part.column, domain);
    }
    return domain;
  }

  /**
   * Count the rows of each group in each cell, and add the values that count.
   * @param {Selected[]} selected by cells
   * @param {Int32Array[]} numbers for each condition on values, how many of each group match
   * @param {CellCounts[]} counts
   * @param {(group: number, cell: number, range: Range, counts: CellCounts) => void} add
   */
  countGroups(selected, numbers, counts, add) {
    selected.forEach(({ groups, hits }, cell) => {
      const count = counts[cell];
      for (let place = 0; place < groups.length; place += 1) {
        const range = this.rangeOf(groups[place], hits[place], numbers);
        count.least += range.least;
        count.most += range.most;
        count.expected += range.expected;
        if (range.most) {
          add(groups[place], cell, range, count);
        }
      }
    });
  }

  /**
   * @typedef {{hits: number, least: number, most: number, expected: number}} Range
   */

  /**
   * @param {number} group
   * @param {number} hits
   * @param {Int32Array[]} numbers
   * @returns {Range} how many of the selected rows count
   */
  rangeOf(group, hits, numbers) {
    const size = this.sizes[group];
    let [least, most, expected] = [hits, hits, hits];
    for (const number of numbers) {
      least += number[group] - size;
      most = Math.min(most, number[group]);
      expected = (expected * number[group]) / Math.max(size, 1);
    }
    return { hits, least: Math.max(least, 0), most, expected };
  }

  /**
   * The values of groups that count, in a column that is published apart from rows.
   * @param {string} name
   * @param {Bundle} bundle
   * @param {Uint8Array | null} chosen the entries that match
   * @returns {(group: number, cell: number, range: Range, counts: CellCounts) => void}
   */
  groupValues(name, bundle, chosen) {
    const { start, order } = bundle.inOrderOf(name);
    const { codes } = columnOf(bundle.table, name);
    const numbers = bundle.counts(chosen);
    return (group, _, { least, most, expected }, { counted }) => {
      const each = expected / Math.max(numbers[group], 1);
      const chances = /** @type {Float64Array} */ (counted.expected);
      for (let place = start[group], below = 0; place < start[group + 1]; place += 1) {
        const entry = order[place];
        if (chosen !== null && !chosen[entry]) {
          continue;
        }
        const [code, copies] = [codes[entry], bundle.times[entry]];
        const above = numbers[group] - below - copies;
        counted.lowSure[code] += within(least - below, 0, copies);
        counted.lowAll[code] += within(most - below, 0, copies);
        counted.highSure[code] += within(least - above, 0, copies);
        counted.highAll[code] += within(most - above, 0, copies);
        chances[code] += each * copies;
        below += copies;
      }
    };
  }

  /**
   * The values that rows show themselves: of those selected, the least ones count for lower bounds.
   * @param {string} name
   * @param {Int32Array} cell of each row
   * @returns {(group: number, cell: number, range: Range, counts: CellCounts) => void}
   */
  ownValues(name, cell) {
    const { codes } = columnOf(this.rows, name);
    const { start, order } = this.byGroup;
    return (group, number, { least, most }, { counted }) => {
      const own = [];
      for (let place = start[group]; place < start[group + 1]; place += 1) {
        if (cell[order[place]] === number) {
          own.push(codes[order[place]]);
        }
      }
      own.sort((a, b) => a - b);
      if (least < own.length) {
        counted.expected = null;
      }
      own.forEach((code, below) => {
        const above = own.length - 1 - below;
        counted.lowSure[code] += Number(below < least);
        counted.lowAll[code] += Number(below < most);
        counted.highSure[code] += Number(above < least);
        counted.highAll[code] += Number(above < most);
        if (counted.expected) {
          counted.expected[code] += 1;
        }
      });
    };
  }
}

/**
 * Extremes of all values of groups are looked up in help tables, which have no estimates: theirs is
 * the middle of the bounds.
 * @param {CellCounts} counts
 * @param {Part} part
 * @param {Domain | null} domain
 * @param {Described} [described]
 */
function withoutGuess(counts, part, domain, described) {
  const { counted } = counts;
  counts.counted = { ...counted, expected: null };
  return counts.bound(part, domain, described);
}
