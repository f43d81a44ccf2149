/**
 * The laws of counts from sampled worlds, for releases that show each quasi-identifier separately.
 *
 * In a world every admitted value of a group occurs at least once, and the group's other rows have values
 * as often as these are expected. Values of different columns are independent. Seeds are fixed, and
 * numbers are drawn as NumPy draws them, so that worlds are those of the command.
 */

import { rowsWhere, splitCondition } from "./conditions.js";
import { byGroup, combinations, textOf } from "./engine.js";
import { Z95 } from "./likely.js";
import { randomNumbers } from "./random.js";
import { columnOf, numbersOf, ofRows } from "./tables.js";

/** @typedef {import("./columns.js").Admitted} Admitted */
/** @typedef {import("./columns.js").ColumnsEngine} ColumnsEngine */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./tables.js").Column} Column */
/** @typedef {import("./tables.js").Described} Described */

const [FEWEST_WORLDS, MOST_WORLDS] = [8, 40];
const MOST_ROWS = 2_000_000; // of all worlds together
const MOST_KEYS_OF_WORLDS = 500; // combinations of values of group columns, for which laws are computed
const LEAN_OF_LOG_ODDS = 0.2; // error of the log odds that a row counts, the same for all rows
const LEAST_WEIGHT = 1e-9; // of an admitted value

/** The laws of a release, by cells of questions. */
export class WorldsLaws {
  /** @param {ColumnsEngine} engine @param {Described[]} columns of the release */
  constructor(engine, columns) {
    this.engine = engine;
    this.names = columns.filter(({ role }) => role === "quasi-identifier").map(({ name }) => name);
    /** The group of each row; rows are by group. */
    this.group = repeated(Int32Array.from(engine.sizes.keys()), engine.sizes);
    const fitting = Math.floor(MOST_ROWS / Math.max(this.group.length, 1));
    this.worlds = Math.min(Math.max(fitting, FEWEST_WORLDS), MOST_WORLDS);
    /** @type {Map<string, Int32Array>} the code of each row in each world, by column */
    this.sampled = new Map();
  }

  /** @param {string[]} names of columns */
  isNew(names) {
    return names.some((name) => this.names.includes(name) && !this.sampled.has(name));
  }

  /** @param {Part} part a count @returns {Map<string, Law>} by the texts of keys */
  of({ by, condition }) {
    const laws = new Map();
    const values = by.map((name) => this.columnOf(name).values);
    const selected = new Uint8Array(this.worlds * this.group.length).fill(1);
    /** @type {Uint8Array | null} */
    let matches = null;
    const { matching } = splitCondition(condition, (column) => this.engine.bundleOf(column));
    if (values.reduce((product, some) => product * some.length, 1) > MOST_KEYS_OF_WORLDS) {
      return laws;
    }
    for (const [bundle, own] of matching) {
      const name = bundle.startsWith("column ") ? bundle.slice("column ".length) : null;
      if (name !== null) {
        this.keep(selected, name, this.holding(name, own));
      } else if (matches === null) {
        matches = this.matchingRows(Number(bundle), own);
      } else {
        return laws;
      }
    }
    const cells = this.cells(by, values);
    const keys = combinations(values.map((some) => [...some.keys()]));
    const sizes = this.counted(selected, cells, keys.length, null);
    const counts = matches === null ? sizes : this.counted(selected, cells, keys.length, matches);
    keys.forEach((codes, cell) => {
      const size = sizes[cell];
      laws.set(textOf(codes.map((code, place) => values[place][code])), {
        ...counts[cell],
        rows: size.middle - size.below,
        groups: size.groups,
      });
    });
    return laws;
  }

  /**
   * @param {string[]} by
   * @param {ArrayLike<unknown>[]} values of these columns
   * @returns {Int32Array | null} the cell of each row of worlds, -1 for none; null if there is only one
   */
  cells(by, values) {
    /** @type {Int32Array | null} */
    let cells = null;
    for (const [place, name] of by.entries()) {
      const [codes, number] = [this.codes(name), values[place].length];
      if (cells === null) {
        cells = codes.map((code) => (code < number ? code : -1));
        continue;
      }
      for (let row = 0; row < cells.length; row += 1) {
        cells[row] = cells[row] < 0 || codes[row] >= number ? -1 : cells[row] * number + codes[row];
      }
    }
    return cells;
  }

  /** @param {string} name @returns {Column} of the admitted values */
  columnOf(name) {
    return columnOf(/** @type {Admitted} */ (this.engine.admitted.get(name)).table, name);
  }

  /** @param {string} name @param {Condition} condition @returns {Uint8Array} whether it holds, by code */
  holding(name, condition) {
    const { values } = this.columnOf(name);
    const column = { values, codes: Int32Array.from({ length: values.length + 1 }, (_, code) => code) };
    const table = { rows: values.length + 1, columns: new Map([[name, column]]) };
    return rowsWhere(condition, table, this.engine.described);
  }

  /** @param {number} bundle @param {Condition} condition @returns {Uint8Array} whether rows match, in all worlds */
  matchingRows(bundle, condition) {
    const table = this.engine.values[bundle];
    const { order } = byGroup(numbersOf(columnOf(table, "group_id")), this.engine.groups);
    const holds = rowsWhere(condition, table, this.engine.described);
    // rows of a group are in random order in worlds: it does not matter which have these values
    return repeated(ofRows(order, holds), ofRows(order, numbersOf(columnOf(table, "count"))));
  }

  /** @param {Uint8Array} selected changed @param {string} name @param {Uint8Array} chosen by code */
  keep(selected, name, chosen) {
    const codes = this.codes(name);
    for (let row = 0; row < selected.length; row += 1) {
      selected[row] &= chosen[codes[row]];
    }
  }

  /**
   * @param {Uint8Array} selected rows of worlds
   * @param {Int32Array | null} cells of these rows; null if all are in one
   * @param {number} number of cells
   * @param {Uint8Array | null} matches rows
   * @returns {Law[]} of the number of selected rows of each cell that match
   */
  counted(selected, cells, number, matches) {
    const { group, worlds } = this;
    const rows = group.length;
    const [ofWorlds, ofGroup] = [new Float64Array(number * worlds), new Float64Array(number)];
    const [leans, groups] = [new Float64Array(number), new Float64Array(number)];
    for (let own = 0, first = 0; own < this.engine.groups; own += 1) {
      const size = this.engine.sizes[own];
      const met = [];
      for (let world = 0; world < worlds; world += 1) {
        for (let row = first; row < first + size; row += 1) {
          const place = world * rows + row;
          const cell = cells === null ? 0 : cells[place];
          if (selected[place] && cell >= 0 && (matches === null || matches[row])) {
            ofWorlds[cell * worlds + world] += 1;
            if (ofGroup[cell] === 0) {
              met.push(cell);
            }
            ofGroup[cell] += 1;
          }
        }
      }
      for (const cell of met) {
        const each = ofGroup[cell] / worlds;
        groups[cell] += 1;
        leans[cell] += each * (1 - each / size);
        ofGroup[cell] = 0;
      }
      first += size;
    }
    return Array.from(leans, (lean, cell) => {
      const counts = ofWorlds.subarray(cell * worlds, (cell + 1) * worlds);
      const middle = counts.reduce((sum, own) => sum + own, 0) / worlds;
      const squares = counts.reduce((sum, own) => sum + (own - middle) ** 2, 0);
      // if the log odds of all rows are off by a number, the count is off by as many variances
      const width = Z95 * Math.hypot(Math.sqrt(squares / (worlds - 1)), LEAN_OF_LOG_ODDS * lean);
      return { middle, below: width, above: width, rows: 0, groups: groups[cell] };
    });
  }

  /** @param {string} name @returns {Int32Array} the code of each row in each world */
  codes(name) {
    const codes = this.sampled.get(name) ?? this.sample(name);
    this.sampled.set(name, codes);
    return codes;
  }

  /**
   * Each admitted value takes one row of its group. The spare rows draw from the group's values, and then
   * the rows of each group are put into random order.
   * @param {string} name
   * @returns {Int32Array}
   */
  sample(name) {
    const { engine, group, worlds } = this;
    const admitted = /** @type {Admitted} */ (engine.admitted.get(name));
    const { start, order } = byGroup(admitted.group, engine.groups);
    const code = ofRows(order, this.columnOf(name).codes);
    // the values of a group follow each other; their weights are added up to draw by a random point
    const weight = ofRows(order, admitted.expected());
    for (let entry = 0, sum = 0; entry < weight.length; entry += 1) {
      sum += Math.max(weight[entry] - 1, LEAST_WEIGHT);
      weight[entry] = sum;
    }
    const rows = group.length;
    const codes = new Int32Array(worlds * rows);
    const [points, keys] = [new Float64Array(rows), new Float64Array(rows)];
    const random = randomNumbers(this.names.indexOf(name));
    for (let first = 0; first < codes.length; first += rows) {
      const world = codes.subarray(first, first + rows);
      let spare = 0;
      for (let own = 0; own < engine.groups; own += 1) {
        spare += engine.sizes[own] - (start[own + 1] - start[own]);
      }
      for (let draw = 0; draw < spare; draw += 1) {
        points[draw] = random();
      }
      for (let own = 0, row = 0, draw = 0; own < engine.groups; own += 1) {
        const [low, high] = [start[own] ? weight[start[own] - 1] : 0, weight[start[own + 1] - 1]];
        for (let entry = start[own]; entry < start[own + 1]; entry += 1, row += 1) {
          world[row] = code[entry];
        }
        for (; row < rows && group[row] === own; row += 1, draw += 1) {
          world[row] = code[drawn(weight, start[own], start[own + 1] - 1, low + points[draw] * (high - low))];
        }
      }
      for (let row = 0; row < rows; row += 1) {
        keys[row] = group[row] + random();
      }
      for (let from = 0, to = 0; from < rows; from = to) {
        while (to < rows && group[to] === group[from]) {
          to += 1;
        }
        sortTogether(keys, world, from, to);
      }
    }
    return codes;
  }
}

/**
 * @template {Uint8Array | Int32Array} T
 * @param {T} numbers
 * @param {ArrayLike<number>} times
 * @returns {T} each so many times
 */
function repeated(numbers, times) {
  const length = Array.from(times).reduce((sum, own) => sum + own, 0);
  const all = new /** @type {any} */ (numbers.constructor)(length);
  for (let place = 0, next = 0; place < numbers.length; place += 1) {
    all.fill(numbers[place], next, next + times[place]);
    next += times[place];
  }
  return all;
}

/**
 * @param {Float64Array} weight ascending
 * @param {number} first
 * @param {number} last
 * @param {number} point
 * @returns {number} the first place whose weight is above the point, or the last one
 */
function drawn(weight, first, last, point) {
  let [low, high] = [first, last];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (weight[middle] > point) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/**
 * Sort numbers by their keys, by Shell's method.
 * @param {Float64Array} keys
 * @param {Int32Array} numbers
 * @param {number} from
 * @param {number} to
 */
function sortTogether(keys, numbers, from, to) {
  let gap = 1;
  while (gap < (to - from) / 3) {
    gap = 3 * gap + 1;
  }
  for (; gap >= 1; gap = Math.floor(gap / 3)) {
    for (let place = from + gap; place < to; place += 1) {
      const [key, number] = [keys[place], numbers[place]];
      let hole = place;
      for (; hole >= from + gap && keys[hole - gap] > key; hole -= gap) {
        keys[hole] = keys[hole - gap];
        numbers[hole] = numbers[hole - gap];
      }
      keys[hole] = key;
      numbers[hole] = number;
    }
  }
}
