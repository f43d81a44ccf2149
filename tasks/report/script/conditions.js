/** Conditions on columns, in three-valued logic: on rows, and split where columns are apart. */

import { comparePlaces, placeOfLiteral, placeOfValue, Refusal } from "./scales.js";
import { ofRows } from "./tables.js";

/** @typedef {import("./scales.js").Literal} Literal */
/** @typedef {import("./scales.js").Place} Place */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Column} Column */
/** @typedef {import("./tables.js").Table} Table */

/** @typedef {"=" | "<>" | "<" | "<=" | ">" | ">="} Comparison */

/**
 * A comparison with a constant, or IS NULL without one.
 * @typedef {{op: "test", column: string, test: Comparison | "null", literal?: Literal}} Test
 */

/**
 * A condition; `sure` is true where its part is true, and false where that is null. The parts of IN and
 * of BETWEEN are `one` condition.
 * @typedef {Test | {op: "and" | "or", parts: Condition[], one?: boolean} | {op: "not" | "sure", part: Condition}} Condition
 */

/** @typedef {ReadonlyMap<string, Described>} Columns */

/**
 * The columns that are published together with a column, apart from rows; undefined for others.
 * @typedef {(column: string) => string | undefined} BundleOf
 */

export const FALSE = 0;
export const TRUE = 1;
export const NULL = 2;
const MOST_PARTS = 16;

/**
 * @param {Condition[]} parts at least one
 * @returns {Condition}
 */
export const allOf = (parts) => (parts.length === 1 ? parts[0] : { op: "and", parts });

/**
 * @param {Condition[]} parts at least one
 * @returns {Condition}
 */
export const anyOf = (parts) => (parts.length === 1 ? parts[0] : { op: "or", parts });

/**
 * @param {(Condition | null)[]} parts
 * @returns {Condition | null} null without any
 */
export function both(...parts) {
  const some = parts.filter((part) => part !== null);
  return some.length ? allOf(/** @type {Condition[]} */ (some)) : null;
}

/**
 * @param {Condition} part
 * @returns {Condition}
 */
export const not = (part) => ({ op: "not", part });

/**
 * @param {string} column
 * @param {Comparison} test
 * @param {Literal} literal
 * @returns {Condition}
 */
export const test = (column, test, literal) => ({ op: "test", column, test, literal });

/**
 * @param {string} column
 * @returns {Condition}
 */
export const isNull = (column) => ({ op: "test", column, test: "null" });

/**
 * @param {Condition} condition
 * @returns {string | null} the column if it is a condition that the column is not null; null otherwise
 */
export const isThere = (condition) =>
  condition.op === "not" && condition.part.op === "test" && condition.part.test === "null" ? condition.part.column : null;

/**
 * @param {Condition} condition
 * @returns {Set<string>}
 */
export function columnsIn(condition) {
  if (condition.op === "test") {
    return new Set([condition.column]);
  }
  return new Set(partsOf(condition).flatMap((part) => [...columnsIn(part)]));
}

/** @param {Condition} condition @returns {Test[]} the comparisons in it */
export const testsIn = (condition) =>
  condition.op === "test" ? [condition] : partsOf(condition).flatMap(testsIn);

/** @param {Exclude<Condition, Test>} condition */
const partsOf = (condition) => ("parts" in condition ? condition.parts : [condition.part]);

/**
 * @param {Condition} condition
 * @param {"and" | "or"} op
 * @returns {Condition[]} the parts that the connective joins, in order
 */
export function flatten(condition, op) {
  return condition.op === op && !condition.one ? condition.parts.flatMap((part) => flatten(part, op)) : [condition];
}

/**
 * Prepare a test for the values of a column.
 * @param {Test} test
 * @param {Described} column
 * @returns {(place: Place | null) => number} the outcome on the place of a value, null for null
 */
export function outcomeOfTest(test, column) {
  if (test.test === "null") {
    return (place) => (place === null ? TRUE : FALSE);
  }
  const literal = placeOfLiteral(column, /** @type {Literal} */ (test.literal));
  const holds = HOLDS[test.test];
  return (place) => (place === null ? NULL : Number(holds(comparePlaces(place, literal))));
}

/** @type {Record<Comparison, (order: number) => boolean>} */
const HOLDS = {
  "=": (order) => order === 0,
  "<>": (order) => order !== 0,
  "<": (order) => order < 0,
  "<=": (order) => order <= 0,
  ">": (order) => order > 0,
  ">=": (order) => order >= 0,
};

/** The outcomes of NOT, and of AND, by those of its parts. */
const NEGATED = [TRUE, FALSE, NULL];

/** @param {number} first @param {number} second */
export const conjunction = (first, second) =>
  first === FALSE || second === FALSE ? FALSE : first === TRUE && second === TRUE ? TRUE : NULL;

/**
 * Decide a condition on one column for each of its values, and for null.
 * @param {Condition} condition
 * @param {Described} column
 * @param {readonly (Place | null)[]} places
 * @returns {Uint8Array} an outcome for each place
 */
export function outcomesOnPlaces(condition, column, places) {
  return decide(condition, (leaf) => Uint8Array.from(places, outcomeOfTest(leaf, column)));
}

/**
 * Decide a condition, given the outcomes of its tests.
 * @param {Condition} condition
 * @param {(test: Test) => Uint8Array} outcomesOf
 * @returns {Uint8Array}
 */
function decide(condition, outcomesOf) {
  if (condition.op === "test") {
    return outcomesOf(condition);
  }
  const [first, ...others] = partsOf(condition).map((part) => decide(part, outcomesOf));
  if (condition.op === "not") {
    return first.map((outcome) => NEGATED[outcome]);
  }
  if (condition.op === "sure") {
    return first.map((outcome) => Number(outcome === TRUE));
  }
  const joined = first.slice();
  for (const other of others) {
    for (let place = 0; place < joined.length; place += 1) {
      joined[place] =
        condition.op === "and"
          ? conjunction(joined[place], other[place])
          : NEGATED[conjunction(NEGATED[joined[place]], NEGATED[other[place]])];
    }
  }
  return joined;
}

/**
 * Decide a condition on each row of a table.
 * @param {Condition | null} condition null holds on every row
 * @param {Table} table
 * @param {Columns} columns
 * @returns {Uint8Array} 1 where it is true, one per row
 */
export function rowsWhere(condition, table, columns) {
  const { rows } = table;
  const selected = new Uint8Array(rows).fill(1);
  for (const part of condition === null ? [] : flatten(condition, "and")) {
    const [name, ...others] = columnsIn(part);
    const outcomes = decide(part, (leaf) => {
      const column = /** @type {Column} */ (table.columns.get(leaf.column));
      const ofValues = outcomesOfValues(leaf, /** @type {Described} */ (columns.get(leaf.column)), column);
      return others.length ? /** @type {Uint8Array} */ (ofRows(column.codes, ofValues)) : ofValues;
    });
    // a part about one column is decided on its values
    const codes = others.length ? null : /** @type {Column} */ (table.columns.get(name)).codes;
    for (let row = 0; row < rows; row += 1) {
      if (outcomes[codes ? codes[row] : row] !== TRUE) {
        selected[row] = 0;
      }
    }
  }
  return selected;
}

/**
 * Decide a test on each different value of a column, and on null behind them.
 * @param {Test} test
 * @param {Described} described
 * @param {Column} column
 * @returns {Uint8Array}
 */
export function outcomesOfValues(test, described, column) {
  return Uint8Array.from(placesOf(described, column), outcomeOfTest(test, described));
}

/** @type {WeakMap<Column, (Place | null)[]>} */
const PLACES = new WeakMap();

/**
 * @param {Described} described
 * @param {Column} column
 * @returns {(Place | null)[]} the places of its values, and null behind them; computed once
 */
export function placesOf(described, column) {
  const places = PLACES.get(column) ?? [...column.values.map((value) => placeOfValue(described, value)), null];
  PLACES.set(column, places);
  return places;
}

/**
 * @param {Condition} condition
 * @returns {Condition} the condition that it is false or null
 */
export function untrue(condition) {
  if (condition.op === "and" || condition.op === "or") {
    const parts = condition.parts.map(untrue);
    return condition.op === "and" ? anyOf(parts) : allOf(parts);
  }
  if (condition.op === "not" && "parts" in condition.part) {
    const { op, parts } = condition.part;
    const each = parts.map((part) => untrue(not(part)));
    return op === "and" ? allOf(each) : anyOf(each);
  }
  return not({ op: "sure", part: condition });
}

/**
 * @param {Condition} condition
 * @param {Columns} columns
 * @returns {boolean} whether it is true or false on every row
 */
export function isNeverNull(condition, columns) {
  if (condition.op === "test") {
    return condition.test === "null" || !columns.get(condition.column)?.nulls;
  }
  return condition.op === "sure" || partsOf(condition).every((part) => isNeverNull(part, columns));
}

/**
 * @param {Condition} condition
 * @param {BundleOf} bundleOf
 * @returns {Set<string | undefined>} where the condition's columns are published
 */
const bundlesIn = (condition, bundleOf) => new Set([...columnsIn(condition)].map(bundleOf));

/** @param {Condition} condition @param {BundleOf} bundleOf */
const isPure = (condition, bundleOf) => bundlesIn(condition, bundleOf).size <= 1;

/** @param {Condition} part @param {BundleOf} bundleOf */
const isMixed = (part, bundleOf) => part.op === "or" && !isPure(part, bundleOf);

/**
 * Split a condition into disjoint ones, each a conjunction of conditions on columns that are
 * published together: A OR B is A, and B where A is not true.
 * @param {Condition} condition
 * @param {BundleOf} bundleOf
 * @returns {Condition[]}
 */
export function disjointConditions(condition, bundleOf) {
  if (flatten(condition, "and").every((part) => isPure(part, bundleOf))) {
    return [condition];
  }
  const disjoint = [];
  const waiting = [pushedDown(condition, bundleOf, false)];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const parts = flatten(node, "and");
    const mixed = parts.find((part) => isMixed(part, bundleOf));
    if (mixed === undefined) {
      disjoint.push(node);
      continue;
    }
    if (disjoint.length + waiting.length >= MOST_PARTS) {
      throw new Refusal("The condition joins too much by OR. Ask several questions");
    }
    const rest = parts.filter((part) => part !== mixed);
    const [first, second] = splitByColumns(mixed, bundleOf);
    waiting.push(allOf([...rest, untrue(first), second]), allOf([...rest, first]));
  }
  return disjoint;
}

/**
 * The condition without its mixed disjunctions, and its complement in that, where these are one
 * conjunction each: they narrow counts and sums.
 * @param {Condition} condition
 * @param {BundleOf} bundleOf
 * @returns {{whole: Condition | null, rest: Condition | null} | null} null without such disjunctions
 */
export function surroundings(condition, bundleOf) {
  const parts = flatten(pushedDown(condition, bundleOf, false), "and");
  const mixed = parts.filter((part) => isMixed(part, bundleOf));
  if (!mixed.length) {
    return null;
  }
  const pure = parts.filter((part) => !isMixed(part, bundleOf));
  const outside = allOf([...pure, ...mixed.map(untrue)]);
  const alone = mixed.length === 1 && disjointConditions(outside, bundleOf).length === 1;
  return { whole: both(...pure), rest: alone ? outside : null };
}

/**
 * @param {Condition} node a disjunction
 * @param {BundleOf} bundleOf
 * @returns {[Condition, Condition]} its operands about the same columns, and all others
 */
function splitByColumns(node, bundleOf) {
  const operands = flatten(node, "or");
  const touched = operands.map((operand) => bundlesIn(operand, bundleOf));
  const rank = touched.map((bundles) => bundles.size * 2 + Number(!bundles.has(undefined)));
  const chosen = touched[rank.indexOf(Math.min(...rank))];
  const isChosen = touched.map(
    (bundles) => bundles.size === chosen.size && [...bundles].every((bundle) => chosen.has(bundle)),
  );
  const together = operands.filter((_, place) => isChosen[place]);
  const others = operands.filter((_, place) => !isChosen[place]);
  return others.length
    ? [anyOf(together), anyOf(others)]
    : [operands[0], anyOf(operands.slice(1))];
}

/**
 * @param {Condition} node
 * @param {BundleOf} bundleOf
 * @param {boolean} negated
 * @returns {Condition} the same condition, in which NOT is before conditions on one kind of columns
 */
function pushedDown(node, bundleOf, negated) {
  if (isPure(node, bundleOf)) {
    return negated ? not(node) : node;
  }
  if (node.op === "not") {
    return pushedDown(node.part, bundleOf, !negated);
  }
  if (node.op === "and" || node.op === "or") {
    const parts = node.parts.map((part) => pushedDown(part, bundleOf, negated));
    return (node.op === "and") !== negated ? allOf(parts) : anyOf(parts);
  }
  return negated ? not(node) : node;
}

/**
 * Split a conjunction into the condition on rows, and those on values apart from rows.
 * @param {Condition | null} condition
 * @param {BundleOf} bundleOf
 * @returns {{onRows: Condition | null, matching: Map<string, Condition>}}
 */
export function splitCondition(condition, bundleOf) {
  /** @type {Map<string | undefined, Condition[]>} */
  const parts = new Map();
  for (const part of condition === null ? [] : flatten(condition, "and")) {
    const bundle = bundleOf([...columnsIn(part)][0]);
    parts.set(bundle, [...(parts.get(bundle) ?? []), part]);
  }
  const matching = new Map();
  for (const [bundle, conditions] of parts) {
    if (bundle !== undefined) {
      matching.set(bundle, allOf(conditions));
    }
  }
  return { onRows: both(...(parts.get(undefined) ?? [])), matching };
}
