/**
 * Likely intervals beside bounds, for questions of the families that the publisher calibrated.
 *
 * A family is questions of one aggregate and one shape: conjunctions whose parts are about one column
 * each, and select a range of a column with an order, or some values of another one. Its factor widens
 * the 95 % range of an answer's law. The intervals never leave the bounds.
 */

import { asNumber, compareValues, isFraction } from "./bounds.js";
import { columnsIn, flatten, isThere } from "./conditions.js";
import { ceiling, floor, fraction, parseNumber } from "./fractions.js";
import { ORDERED } from "./scales.js";

/** @typedef {import("./bounds.js").Aggregate} Aggregate */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./bounds.js").Value} Value */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./laws.js").Law} Law */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */

/** Standard deviations around the middle with 95 % of a normal distribution. */
export const Z95 = 1.9599639845400536;
const MOST_COLUMNS = 3;
const LARGE = 10_000; // rows, of which bounds are shown before likely intervals
const LEAST_ROWS = 20;
const LEAST_GROUPS = 2;
/** @type {readonly Aggregate[]} */
const SUPPORTED = ["count", "sum", "avg"];
const EXACT = "the answer is exact: both bounds are it";
const NO_ROW = "no row is selected";
const SMALL = `fewer than ${LEAST_ROWS} rows or ${LEAST_GROUPS} groups are selected, or may be`;
const OUTSIDE = "the query is of none of the families that the publisher calibrated";

const TOO_MANY = "this page computes none with so many quasi-identifiers, but sfumato query does";

/**
 * The laws of a part's cells, by the texts of their keys; and whether columns have to be prepared first.
 * @typedef {{of: (part: Part) => Map<string, Law>, isNew?: (names: string[]) => boolean}} Laws
 */

/**
 * Add likely intervals where the publisher calibrated some; laws are opened for the first question.
 * @template {Engine} T
 * @param {Packed} packed
 * @param {T} engine
 * @param {(engine: T, columns: Described[]) => Laws | null} open null if a page computes none
 * @returns {Engine}
 */
export function withIntervals(packed, engine, open) {
  if (!packed.likely?.length) {
    return engine;
  }
  return new EngineWithIntervals(engine, packed, () => open(engine, packed.columns));
}

/**
 * An engine that adds estimates and likely intervals to the bounds of counts, sums and means.
 * @implements {Engine}
 */
class EngineWithIntervals {
  /** @param {Engine} engine @param {Packed} packed @param {() => Laws | null} open */
  constructor(engine, packed, open) {
    this.engine = engine;
    this.open = open;
    /** @type {Laws | null | undefined} */
    this.laws = undefined;
    this.isLarge = /** @type {any} */ (packed.rows ?? packed.values?.[0]).rows > LARGE;
    this.columns = new Map(packed.columns.map((column) => [column.name, column]));
    this.families = packed.likely ?? [];
    /** @type {{text: string, cells: Map<string, Cell>} | null} */
    this.latest = null;
  }

  /** @param {string} column */
  bundleOf(column) {
    return this.engine.bundleOf(column);
  }

  /** @param {Part} part @returns {Engine | null} what gives bounds sooner, if intervals take their time */
  sooner(part) {
    const { by, condition } = part;
    const isNew = () => this.laws === undefined || this.laws?.isNew?.([...by, ...(condition ? columnsIn(condition) : [])]);
    const hasInterval = SUPPORTED.includes(part.aggregate) && this.factorOf(part) !== undefined;
    return this.isLarge && hasInterval && isNew() ? this.engine : null;
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    if (!SUPPORTED.includes(part.aggregate)) {
      return this.engine.ask(part);
    }
    const counted = this.counts(part);
    const cells = part.column === null ? counted : this.engine.ask(part);
    this.laws = this.laws === undefined ? this.open() : this.laws;
    const laws = this.laws && this.laws.of(part);
    const factor = this.factorOf(part);
    const whole = part.aggregate === "count" || (part.aggregate === "sum" && this.columns.get(part.column ?? "")?.type === "integer");
    return new Map(
      [...cells].map(([text, { key, bounds }]) => {
        const rows = asNumber(counted.get(text)?.bounds.upper ?? null);
        const few = rows !== null && rows < LEAST_ROWS;
        const law = laws === null ? null : laws.get(text);
        return [text, { key, bounds: withLikely(bounds, law, factor, few, whole) }];
      }),
    );
  }

  /** @param {Part} part @returns {Map<string, Cell>} the numbers of its rows; the latest are kept */
  counts({ by, condition }) {
    const text = JSON.stringify([by, condition]);
    if (this.latest?.text !== text) {
      this.latest = { text, cells: this.engine.ask({ aggregate: "count", column: null, by, condition }) };
    }
    return this.latest.cells;
  }

  /** @param {Part} part @returns {number | undefined} of its family; undefined without one */
  factorOf({ aggregate, column, by, condition }) {
    const shape = shapeOf(by, condition, this.columns);
    if (shape === null) {
      return undefined;
    }
    const implied = aggregate === "count" ? null : column;
    const selecting = shape.sensitive ?? (shape.there === implied ? null : shape.there);
    if (aggregate !== "count" && selecting !== null) {
      return undefined;
    }
    const name = aggregate === "count" && selecting === null ? "rows" : aggregate;
    const family = `${name}-by-${shape.columns > 1 ? "several" : "one"}`;
    const about = column ?? selecting ?? "";
    return this.families.find((own) => own.family === family && own.of === about)?.factor;
  }
}

/**
 * The columns by which a question selects rows.
 * @param {string[]} by
 * @param {Condition | null} condition
 * @param {Map<string, Described>} columns
 * @returns {{columns: number, sensitive: string | null, there: string | null} | null} how many are not
 *   sensitive, the sensitive one, and the one that only has to have a value; null for another shape
 */
export function shapeOf(by, condition, columns) {
  /** @param {string} name */
  const isSensitive = (name) => columns.get(name)?.role === "sensitive";
  const names = new Set(by);
  const there = new Set();
  for (const part of condition === null ? [] : flatten(condition, "and")) {
    const column = isThere(part);
    if (column !== null && isSensitive(column)) {
      there.add(column);
      continue;
    }
    const name = selectedColumn(part, columns);
    if (name === null) {
      return null;
    }
    names.add(name);
  }
  const sensitive = [...names].filter(isSensitive);
  const others = names.size - sensitive.length;
  if (new Set([...sensitive, ...there]).size > 1 || others < 1 || others > MOST_COLUMNS) {
    return null;
  }
  return { columns: others, sensitive: sensitive[0] ?? null, there: sensitive.length ? null : [...there][0] ?? null };
}

/**
 * @param {Condition} part
 * @param {Map<string, Described>} columns
 * @returns {string | null} the column of which it selects a range or some values; null for others
 */
function selectedColumn(part, columns) {
  const negated = part.op === "not";
  const test = negated ? part.part : part;
  const [name] = columnsIn(test);
  const isOrdered = ORDERED.includes(columns.get(name)?.type ?? "");
  if ("parts" in test) {
    const fits = test.op === "and" ? isOrdered && !negated : !isOrdered;
    return test.one && fits ? name : null;
  }
  if (test.op !== "test" || test.test === "null") {
    return null;
  }
  const isSet = test.test === "=" || test.test === "<>";
  return (isOrdered ? !negated && test.test !== "<>" : isSet) ? name : null;
}

/**
 * @param {Bounds} bounds
 * @param {Law | null | undefined} law null if the page computes none
 * @param {number | undefined} factor of the answer's family
 * @param {boolean} few whether surely too few rows match
 * @param {boolean} whole whether answers are whole numbers
 * @returns {Bounds} with an interval, or with the reason why there is none
 */
function withLikely(bounds, law, factor, few, whole) {
  const reason = reasonOf(bounds);
  if (reason !== null) {
    return { ...bounds, likely: { interval: null, reason } };
  }
  if (!law) {
    return { ...bounds, likely: { interval: null, reason: law === null ? TOO_MANY : OUTSIDE } };
  }
  const near = clampTo(exactly(law.middle), bounds);
  const isSmall = few || law.rows < LEAST_ROWS || law.groups < LEAST_GROUPS;
  if (isSmall || factor === undefined) {
    const estimate = bounds.isMiddle ? near : bounds.estimate;
    return { ...bounds, estimate, likely: { interval: null, reason: isSmall ? SMALL : OUTSIDE } };
  }
  const { middle, below, above } = law;
  const [low, high] = [middle - factor * below, middle + factor * above].map(exactly);
  const ends = whole ? [fraction(floor(low)), fraction(ceiling(high))] : [low, high];
  const [start, end] = ends.map((value) => clampTo(value, bounds));
  return { ...bounds, estimate: near, likely: { interval: [start, end], reason: "" } };
}

/** @param {number} number @returns {import("./fractions.js").Fraction} */
const exactly = (number) => parseNumber(String(number)) ?? fraction(0);

/** @param {Value} value @param {Bounds} bounds @returns {Value} the value, or the bound that it is beyond */
function clampTo(value, { lower, upper }) {
  if (lower !== null && compareValues(value, lower) < 0) {
    return lower;
  }
  return upper !== null && compareValues(value, upper) > 0 ? upper : value;
}

/** @param {Bounds} bounds @returns {string | null} why bounds alone leave no interval; null if they do not */
function reasonOf({ lower, upper }) {
  if (lower === null || upper === null) {
    return NO_ROW;
  }
  return isFraction(lower) && compareValues(lower, upper) === 0 ? EXACT : null;
}
