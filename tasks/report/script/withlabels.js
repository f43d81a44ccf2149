/**
 * The laws of counts, sums and means on labels, for releases that show all other values as they are.
 *
 * A row matches with the share of its label's values that a condition selects. The shares are fitted
 * from all labels of a column by expectation and maximisation, in few rounds so that the result stays
 * smooth. Columns behind labels are assumed to be independent.
 */

import { columnsIn, flatten, outcomesOnPlaces, TRUE } from "./conditions.js";
import { combinations, textOf } from "./engine.js";
import { Z95 } from "./likely.js";
import { comparePlaces, placeOfValue } from "./scales.js";
import { columnOf, combined, ofRows, unitsOf } from "./tables.js";

/** @typedef {import("./behind.js").LabelledColumn} LabelledColumn */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./labels.js").LabelsEngine} LabelsEngine */
/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./scales.js").Place} Place */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Label} Label */
/** @typedef {string | number | boolean} Value */

const MOST_BEHIND = 5_000; // values behind all labels of a column
const MOST_PAIRS = 5_000_000; // labels times values
const MOST_KEYS = 2_000; // combinations of values of group columns, for which laws are computed
const ROUNDS_OF_FIT = 50;
const LEAN_OF_ODDS = 0.75; // error of the log odds that a row matches, the same for all rows

/**
 * The values behind a column's labels, ascending, their places, and the share of each behind each label.
 * @typedef {{values: Value[], places: Place[], shares: Map<number, number>[]}} Behind
 */

/**
 * The chance that each kind of rows is selected, and 1 where their sensitive value matches (null: no
 * condition).
 * @typedef {{chance: Float64Array, matching: Float64Array | null}} Chances
 */

/** The laws of a release, by cells of questions. */
export class LabelsLaws {
  /** @param {LabelsEngine} engine */
  constructor(engine) {
    this.engine = engine;
    /** @type {Map<LabelledColumn, Behind | null>} */
    this.behind = new Map();
    this.kinds = engine.kinds();
    const labels = [...engine.labelled.keys()].map((name) => columnOf(this.kinds, name));
    /** The rows of one class have the same labels. */
    this.classes = combined(labels, new Uint8Array(this.kinds.rows).fill(1)).place;
  }

  /** @param {Part} part a count, a sum or a mean @returns {Map<string, Law>} by the texts of keys */
  of(part) {
    const laws = new Map();
    const whole = this.selected(part.condition);
    const values = part.by.map((name) => this.valuesOf(name));
    const number = values.reduce((product, some) => product * (some?.length ?? 0), 1);
    if (whole === null || !number || number > MOST_KEYS) {
      return laws;
    }
    for (const key of combinations(/** @type {Value[][]} */ (values))) {
      const cell = key.reduce(
        (/** @type {Chances} */ so_far, value, place) => this.narrowed(so_far, part.by[place], (_, own) => own === value),
        whole,
      );
      const law = this.law(part, cell);
      if (law !== null) {
        laws.set(textOf(key), law);
      }
    }
    return laws;
  }

  /** @param {Condition | null} condition @returns {Chances | null} null if the chances are unknown */
  selected(condition) {
    /** @type {Chances} */
    let chances = { chance: new Float64Array(this.classes.length).fill(1), matching: null };
    for (const part of condition === null ? [] : flatten(condition, "and")) {
      const [name, ...others] = columnsIn(part);
      const described = this.engine.column(name);
      if (others.length || this.valuesOf(name) === null) {
        return null;
      }
      chances = this.narrowed(chances, name, (place) => outcomesOnPlaces(part, described, [place])[0] === TRUE);
    }
    return chances;
  }

  /** @param {string} name @returns {readonly Value[] | null} the values that rows may have; null if unknown */
  valuesOf(name) {
    const column = this.engine.labelled.get(name);
    return column ? this.valuesBehind(column)?.values ?? null : columnOf(this.kinds, name).values;
  }

  /**
   * @param {Chances} chances
   * @param {string} name
   * @param {(place: Place, value: Value) => boolean} holds on a value of this column
   * @returns {Chances} of the rows on which it holds as well
   */
  narrowed({ chance, matching }, name, holds) {
    const { codes, values } = columnOf(this.kinds, name);
    const described = this.engine.column(name);
    const column = this.engine.labelled.get(name);
    const behind = column && this.valuesBehind(column);
    if (behind) {
      const chosen = behind.values.map((value, place) => holds(behind.places[place], value));
      const ofLabels = behind.shares.map((shares) => {
        let sum = 0;
        shares.forEach((share, place) => {
          sum += chosen[place] ? share : 0;
        });
        return Math.min(sum, 1);
      });
      return { chance: product(ofRows(codes, Float64Array.from(ofLabels)), chance), matching };
    }
    const ofValues = Float64Array.from([...values.map((value) => Number(holds(placeOfValue(described, value), value))), 0]);
    const ofRow = ofRows(codes, ofValues);
    return described.role === "sensitive"
      ? { chance, matching: matching ? product(ofRow, matching) : ofRow }
      : { chance: product(ofRow, chance), matching };
  }

  /** @param {Part} part @param {Chances} chances @returns {Law | null} */
  law({ aggregate, column }, { chance, matching }) {
    if (column !== null && (aggregate === "count" || this.engine.labelled.has(column) || matching)) {
      return null;
    }
    const { codes, values } = column === null ? { codes: null, values: [] } : columnOf(this.kinds, column);
    /** The chances of rows that count: 0 for those without a value. */
    const counting = chance.map((own, kind) => (codes && codes[kind] === values.length ? 0 : own));
    if (!counting.some((own) => own)) {
      return null;
    }
    const { units, digits } = unitsOf(values);
    const byCode = Float64Array.from([...units.map((unit) => Number(unit) / 10 ** digits), 0]);
    const { times } = this.kinds;
    const law = totalLaw(codes ? ofRows(codes, byCode) : matching, counting, times, aggregate === "avg");
    const size = totalLaw(null, counting, times, false);
    const groups = new Set(this.classes.filter((_, kind) => chance[kind])).size;
    return { ...law, rows: size.middle - size.below, groups };
  }

  /** @param {LabelledColumn} column @returns {Behind | null} null if the values behind labels are too many */
  valuesBehind(column) {
    let behind = this.behind.get(column);
    if (behind === undefined) {
      const values = listBehind(column);
      behind = values && fitted(column, values, columnOf(this.engine.rows, column.described.name).codes);
      this.behind.set(column, behind);
    }
    return behind;
  }
}

/** @param {Float64Array} numbers changed to their products with others @param {Float64Array} others */
function product(numbers, others) {
  for (let row = 0; row < numbers.length; row += 1) {
    numbers[row] *= others[row];
  }
  return numbers;
}

/**
 * The law of the sum of rows' numbers, or of their mean, as if all errors moved the mean up. If the log
 * odds of all rows are off by a number, their sum is off by as many variances.
 * @param {Float64Array | null} numbers of kinds of rows; null if all are 1
 * @param {Float64Array} chances
 * @param {Int32Array} times the rows of each kind
 * @param {boolean} perRow
 * @returns {{middle: number, below: number, above: number}}
 */
function totalLaw(numbers, chances, times, perRow) {
  let [rows, sum, squares, moved] = [0, 0, 0, 0];
  chances.forEach((chance, kind) => {
    rows += chance * times[kind];
    sum += chance * times[kind] * (numbers ? numbers[kind] : 1);
  });
  const middle = perRow ? sum / rows : sum;
  chances.forEach((chance, kind) => {
    const apart = chance * (1 - chance) * times[kind];
    const number = numbers ? numbers[kind] : 1;
    const beside = perRow ? Math.abs(number - middle) : number;
    squares += apart * beside ** 2;
    moved += apart * beside;
  });
  const width = (Z95 * Math.hypot(Math.sqrt(squares), LEAN_OF_ODDS * moved)) / (perRow ? rows : 1);
  return { middle, below: width, above: width };
}

/** @param {LabelledColumn} column @returns {Value[] | null} null if too many */
function listBehind(column) {
  const { labels, described } = column;
  const isStepped = described.type === "integer" || described.type === "date";
  /** @type {Set<Value>} */
  const values = new Set();
  for (const label of labels) {
    if (label.listed || (label.between && isStepped)) {
      if (!label.listed && column.number(label) > MOST_BEHIND + 1) {
        return null;
      }
      column.valuesOf(label).forEach((value) => values.add(value));
    }
    if (values.size > MOST_BEHIND) {
      return null;
    }
  }
  return values.size && labels.length * values.size <= MOST_PAIRS ? [...values] : null;
}

/**
 * The share of each value behind each label, under one distribution for all labels.
 * @param {LabelledColumn} column
 * @param {Value[]} unsorted the values behind its labels
 * @param {Int32Array} codes the label of each row
 * @returns {Behind}
 */
function fitted({ labels, described }, unsorted, codes) {
  const pairs = unsorted.map((value) => ({ value, place: placeOfValue(described, value) }));
  pairs.sort((a, b) => comparePlaces(a.place, b.place));
  const inside = labels.map((label) => {
    const admits = admitting(label, described);
    return [...pairs.keys()].filter((place) => admits(pairs[place].value, pairs[place].place));
  });
  const times = new Float64Array(labels.length);
  for (const code of codes) {
    times[code] += 1;
  }
  /** @param {number[]} places @param {Float64Array} weights */
  const sumOf = (places, weights) => places.reduce((sum, place) => sum + weights[place], 0);
  let weights = new Float64Array(pairs.length).fill(1);
  for (let round = 0; round < ROUNDS_OF_FIT; round += 1) {
    const next = new Float64Array(pairs.length);
    inside.forEach((places, label) => {
      const each = times[label] / Math.max(sumOf(places, weights), 1e-300);
      places.forEach((place) => {
        next[place] += each;
      });
    });
    weights = next.map((own, place) => own * weights[place]);
  }
  const shares = inside.map((places) => {
    const whole = sumOf(places, weights);
    return new Map(whole > 0 ? places.map((place) => [place, weights[place] / whole]) : []);
  });
  return { values: pairs.map(({ value }) => value), places: pairs.map(({ place }) => place), shares };
}

/** @param {Label} label @param {Described} described @returns {(value: Value, place: Place) => boolean} */
function admitting({ listed, between, prefix }, described) {
  if (listed) {
    const some = new Set(listed);
    return (value) => some.has(value);
  }
  if (between && between[0] !== null) {
    const [low, high] = between.map((end) => placeOfValue(described, /** @type {Value} */ (end)));
    return (_, place) => comparePlaces(place, low) >= 0 && comparePlaces(place, high) <= 0;
  }
  if (prefix) {
    const [kept, length] = prefix;
    return (value) => String(value).startsWith(kept) && [...String(value)].length === length;
  }
  return () => true;
}
