/** What engines share: the question that each answers, and the cells of its answer. */

import { bounds, boundsOver, NOTHING, noneCounted, withEstimate } from "./bounds.js";
import { rowsWhere } from "./conditions.js";
import { fraction } from "./fractions.js";
import { comparePlaces, isNumber, placeOfValue, Refusal } from "./scales.js";
import { columnOf, combined, ofRows, unitsOf } from "./tables.js";

/** @typedef {import("./bounds.js").Aggregate} Aggregate */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./bounds.js").Counted} Counted */
/** @typedef {import("./bounds.js").Domain} Domain */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./scales.js").Literal} Literal */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").Table} Table */

/** The rest of a column's values: all that no published label names. */
export const REST = Symbol("any other value");

/**
 * A value of a group column; null for a missing one.
 * @typedef {string | number | boolean | null | typeof REST} KeyValue
 */

/**
 * Rows, and an aggregate that is asked of them.
 * @typedef {object} Part
 * @property {Aggregate} aggregate
 * @property {string | null} column the aggregated column; null for COUNT(*)
 * @property {string[]} by columns whose values make the rows of the answer
 * @property {Condition | null} condition
 * @property {boolean} [people] whether people with such related rows are counted, not the rows
 */

/** @typedef {{key: KeyValue[], bounds: Bounds}} Cell */

/**
 * @typedef {object} Engine
 * @property {(column: string) => string | undefined} bundleOf
 * @property {(part: Part) => Map<string, Cell>} ask
 * @property {(part: Part) => Engine | null} [sooner] an engine that gives bounds sooner, where intervals take time
 */

export const MOST_CELLS = 2_000;
export const GROUP = "group_id";
const MOST_BINS = 4_000_000;
const MOST_DIGITS = 38; // that sums are computed with
const LONG = 10n ** BigInt(MOST_DIGITS);

/**
 * Returns the engine of a release. A page has the engine of its own form alone.
 * @typedef {(packed: Packed) => Engine} Opening
 */

/** @type {Map<Packed["shows"], Opening>} */
const ENGINES = new Map();

/** @param {Packed["shows"]} shows @param {Opening} opening */
export function register(shows, opening) {
  ENGINES.set(shows, opening);
}

/** @param {Packed} packed @returns {Engine} */
export const engineOf = (packed) => /** @type {Opening} */ (ENGINES.get(packed.shows))(packed);

/** @param {KeyValue[]} key a text that only this key has */
export const textOf = (key) =>
  JSON.stringify(key.map((value) => (value === REST ? { rest: true } : value)));

/**
 * The values of a column as a domain of bounds.
 * @param {Described} described
 * @param {readonly (string | number | boolean)[]} values
 * @returns {Domain}
 */
export function domainOf(described, values) {
  const { units, digits } = isNumber(described.type) ? unitsOf(values) : { units: [], digits: 0 };
  if (digits > MOST_DIGITS || units.some((unit) => unit >= LONG || unit <= -LONG)) {
    throw new Refusal(`A value of ${described.name} has more than ${MOST_DIGITS} digits`);
  }
  return { type: described.type, values, units, digits };
}

/** @param {Aggregate} aggregate @param {Described} described */
export function requireType(aggregate, described) {
  if (["sum", "avg", "median"].includes(aggregate) && !isNumber(described.type)) {
    throw new Refusal(
      `${aggregate.toUpperCase()} needs numbers, but ${described.name} holds values of type ${described.type}`,
    );
  }
}

/**
 * Rows that a cell selects: their groups, ascending, how many rows of each, and their places among
 * the rows by group.
 * @typedef {{groups: Int32Array, hits: Int32Array, places: Int32Array}} Selected
 */

/**
 * The cells of selected rows: the cell of each row (-1 if it is not selected), the key of each cell,
 * and what it selects, once this is needed.
 * @typedef {{text: string, cell: Int32Array, keys: KeyValue[][], selected?: Selected[]}} Cells
 */

/** The latest cells, which the parts of a question share. @type {WeakMap<Table, Cells>} */
const CELLS_OF = new WeakMap();

/**
 * The cells of the rows on which a condition holds: one for each combination of values in the group
 * columns.
 * @param {Table} table
 * @param {string[]} by
 * @param {Condition | null} condition
 * @param {import("./conditions.js").Columns} described
 * @returns {Cells}
 */
export function cellsOf(table, by, condition, described) {
  const text = JSON.stringify([by, condition]);
  const latest = CELLS_OF.get(table);
  if (latest?.text === text) {
    return latest;
  }
  const columns = by.map((name) => columnOf(table, name));
  const { place, first } = combined(columns, rowsWhere(condition, table, described));
  if (first.length > MOST_CELLS) {
    throw new Refusal(`The answer has more than ${MOST_CELLS} lines. Group by fewer columns`);
  }
  const keys = first.map((row) => columns.map(({ codes, values }) => values[codes[row]] ?? null));
  const cells = { text, cell: place, keys: by.length ? keys : [[]] };
  CELLS_OF.set(table, cells);
  return cells;
}

/**
 * @param {Cells} cells
 * @param {Ordered} ordered rows by group
 * @returns {Selected[]} what each cell selects
 */
export function selectedBy(cells, ordered) {
  cells.selected ??= select(cells, ordered);
  return cells.selected;
}

/** @param {Cells} cells @param {Ordered} ordered @returns {Selected[]} */
function select({ cell, keys }, { order, group }) {
  const own = ofRows(order, cell);
  const [rows, groups] = [new Int32Array(keys.length), new Int32Array(keys.length).fill(-1)];
  for (const number of own) {
    if (number >= 0) {
      rows[number] += 1;
    }
  }
  const selected = Array.from(rows, (number) => {
    const [some, hits, places] = [0, 0, 0].map(() => new Int32Array(number));
    return { groups: some, hits, places };
  });
  rows.fill(0);
  for (let place = 0; place < own.length; place += 1) {
    const number = own[place];
    if (number >= 0) {
      const some = selected[number];
      if (groups[number] < 0 || some.groups[groups[number]] !== group[place]) {
        groups[number] += 1;
        some.groups[groups[number]] = group[place];
      }
      some.hits[groups[number]] += 1;
      some.places[rows[number]++] = place;
    }
  }
  return selected.map((some, number) => ({
    groups: some.groups.subarray(0, groups[number] + 1),
    hits: some.hits.subarray(0, groups[number] + 1),
    places: some.places,
  }));
}

/** The numbers of rows that count in one cell, and the copies of each value of a column. */
export class CellCounts {
  /** @param {number} values the number of the column's values; 0 if only rows are counted */
  constructor(values) {
    this.least = 0;
    this.most = 0;
    this.expected = 0;
    this.counted = noneCounted(values);
  }

  /**
   * Bound an aggregate over the rows that count.
   * @param {Part} part
   * @param {Domain | null} domain
   * @param {Described} [described]
   * @returns {Bounds}
   */
  bound(part, domain, described) {
    const { aggregate, column } = part;
    if (column === null || domain === null) {
      return withEstimate(bounds(fraction(this.least), fraction(this.most), this.expected));
    }
    if (this.most < 1 || !this.counted.highAll.some((count) => count > 0)) {
      return NOTHING;
    }
    const result = boundsOver(aggregate, domain, this.counted);
    return withEstimate({ ...result, mayBeEmpty: this.least < 1 }, described?.type);
  }
}

/**
 * @param {number} cells
 * @param {number} values
 * @returns {CellCounts[]}
 */
export function countsOfCells(cells, values) {
  if (cells * values > MOST_BINS) {
    throw new Refusal("The answer has too many lines for so many values. Group by fewer columns");
  }
  return Array.from({ length: cells }, () => new CellCounts(values));
}

/** @param {number} number @param {number} low @param {number} high */
export const within = (number, low, high) => (number < low ? low : number > high ? high : number);

/**
 * @param {KeyValue[][]} keys
 * @param {(cell: number) => Bounds | null} boundsOf null for a cell that is not in the answer
 * @returns {Map<string, Cell>}
 */
export function answered(keys, boundsOf) {
  const cells = new Map();
  keys.forEach((key, place) => {
    const result = boundsOf(place);
    if (result !== null) {
      cells.set(textOf(key), { key, bounds: result });
    }
  });
  return cells;
}

/**
 * Rows by group: group g has those from order[start[g]] to before order[start[g + 1]]. The groups are
 * those of ordered rows.
 * @typedef {{start: Int32Array, order: Int32Array, group: Int32Array}} Ordered
 */

/**
 * The rows of each group, one after the other.
 * @param {Int32Array} group of each row
 * @param {number} groups
 * @returns {Ordered}
 */
export function byGroup(group, groups) {
  const start = new Int32Array(groups + 1);
  for (const number of group) {
    start[number + 1] += 1;
  }
  for (let number = 0; number < groups; number += 1) {
    start[number + 1] += start[number];
  }
  const next = start.slice();
  const order = new Int32Array(group.length);
  for (let row = 0; row < group.length; row += 1) {
    order[next[group[row]]++] = row;
  }
  return { start, order, group: ofRows(order, group) };
}

/**
 * @template T
 * @param {T[][]} lists
 * @returns {T[][]} every choice of one element of each list
 */
export function combinations(lists) {
  return lists.reduce(
    (chosen, list) => chosen.flatMap((some) => list.map((element) => [...some, element])),
    /** @type {T[][]} */ ([[]]),
  );
}

/** @param {Table} table @returns {number} one more than its last group */
export function groupsIn(table) {
  const { values } = columnOf(table, GROUP);
  return values.length ? Number(values[values.length - 1]) + 1 : 0;
}

/**
 * @param {Described} described
 * @param {KeyValue} value a published value
 * @returns {Literal}
 */
export function literalOf(described, value) {
  switch (described.type) {
    case "boolean":
      return { kind: "truth", text: value ? "true" : "false" };
    case "date":
    case "timestamp":
      return { kind: described.type, text: String(value) };
    default:
      return { kind: described.type === "string" ? "text" : "number", text: String(value) };
  }
}

/**
 * Order the values of a group column: ascending, then the rest, then nulls.
 * @param {Described} described
 * @param {KeyValue} a
 * @param {KeyValue} b
 */
export function compareKeys(described, a, b) {
  const [first, second] = [a, b].map((value) => (value === null ? 2 : value === REST ? 1 : 0));
  if (first || second) {
    return first - second;
  }
  return comparePlaces(
    placeOfValue(described, /** @type {string} */ (a)),
    placeOfValue(described, /** @type {string} */ (b)),
  );
}
