/**
 * Bounds on releases that show labels in place of quasi-identifiers.
 *
 * A condition surely holds on a row if it holds on all values behind its labels, and possibly if on
 * some. The rows that surely count and the best of the others bound an aggregate; an aggregated value
 * behind a label lies between the least and the greatest that the condition leaves.
 */

import {
  ALWAYS, ascending, certain, compareListed, LabelledColumn, must, negated, surely, together,
} from "./behind.js";
import { bounds, boundsOver, NOTHING, noneCounted, withEstimate } from "./bounds.js";
import {
  allOf, anyOf, both, columnsIn, flatten, isNull, not, outcomesOnPlaces, placesOf, test,
} from "./conditions.js";
import {
  answered, combinations, domainOf, literalOf, MOST_CELLS, register, requireType, REST, textOf,
} from "./engine.js";
import { fraction } from "./fractions.js";
import { withIntervals } from "./likely.js";
import { Refusal } from "./scales.js";
import { columnOf, combined, decodeTable, ofRows } from "./tables.js";
import { LabelsLaws } from "./withlabels.js";

/** @typedef {import("./behind.js").Outcomes} Outcomes */
/** @typedef {import("./bounds.js").Domain} Domain */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").KeyValue} KeyValue */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./tables.js").Column} Column */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedTable} PackedTable */


/**
 * Rows that differ in some columns: how many rows each stands for, and the outcomes of conditions.
 * @typedef {import("./tables.js").Table & {times: Int32Array, known: Map<string, RowOutcomes>}} Distinct
 */

/**
 * Outcomes that rows have, and the place of each row's outcomes among them.
 * @typedef {{outcomes: Outcomes[], place: Int32Array}} RowOutcomes
 */

/**
 * The values of an aggregated column: the place of each code's least and greatest.
 * @typedef {{domain: Domain, low: Int32Array, high: Int32Array, listed: Int32Array[]}} Values
 */

/** @implements {Engine} */
export class LabelsEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    this.described = new Map(packed.columns.map((column) => [column.name, column]));
    this.rows = decodeTable(/** @type {PackedTable} */ (packed.rows));
    /** @type {Map<string, LabelledColumn>} */
    this.labelled = new Map();
    for (const [name, labels] of Object.entries(packed.labels ?? {})) {
      this.labelled.set(name, new LabelledColumn(this.column(name), labels));
    }
    /** @type {{text: string, distinct: Distinct} | null} */
    this.latest = null;
    /** @type {Distinct | null} */
    this.all = null;
  }

  /** @returns {undefined} no columns are apart from rows */
  bundleOf() {
    return undefined;
  }

  /** @param {string} name @returns {Described} */
  column(name) {
    return /** @type {Described} */ (this.described.get(name));
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    const recoded = part.by.filter((name) => this.labelled.has(name));
    const plain = part.by.filter((name) => !this.labelled.has(name));
    const used = [...part.by, ...(part.column === null ? [] : [part.column])];
    const distinct = this.distinctRows([...used, ...(part.condition === null ? [] : columnsIn(part.condition))]);
    const values = recoded.map((name) => this.groupValues(name));
    const cells = combinations(values);
    if (cells.length > MOST_CELLS) {
      throw new Refusal(`The answer has more than ${MOST_CELLS} lines. Group by fewer columns, or ask about ranges`);
    }
    /** @type {Map<string, Cell>} */
    const answer = new Map();
    for (const cell of cells) {
      const own = cell.map((value, place) => this.hasValue(recoded[place], value, values[place]));
      const condition = both(part.condition, ...own);
      for (const [text, line] of this.cells(part, condition, distinct, plain, recoded, cell)) {
        answer.set(text, line);
      }
    }
    return answer;
  }

  /**
   * @param {Part} part
   * @param {Condition | null} condition with the values of the labelled group columns
   * @param {Distinct} distinct
   * @param {string[]} plain the other group columns
   * @param {string[]} recoded
   * @param {KeyValue[]} cell
   * @returns {Map<string, Cell>}
   */
  cells(part, condition, distinct, plain, recoded, cell) {
    const outcomes = condition === null ? null : this.outcomes(condition, distinct);
    /** @type {Map<string, {key: KeyValue[], rows: number[]}>} */
    const split = new Map(plain.length ? [] : [["", { key: cell, rows: [] }]]);
    for (let row = 0; row < distinct.times.length; row += 1) {
      if (outcomes !== null && !outcomes.outcomes[outcomes.place[row]].possible[1]) {
        continue;
      }
      const others = plain.map((name) => {
        const { codes, values } = columnOf(distinct, name);
        return values[codes[row]] ?? null;
      });
      const text = plain.length ? textOf(others) : "";
      const line = split.get(text) ?? { key: part.by.map((name) => [...cell, ...others][[...recoded, ...plain].indexOf(name)]), rows: [] };
      line.rows.push(row);
      split.set(text, line);
    }
    const some = [...split.values()].filter(({ rows }) => rows.length || !part.by.length);
    const values = part.column === null ? null : this.values(part, condition);
    return answered(
      some.map(({ key }) => key),
      (place) => this.bound(part, some[place].rows, outcomes, distinct, values),
    );
  }

  /**
   * Bound an aggregate over the rows on which a condition may hold.
   * @param {Part} part
   * @param {number[]} rows
   * @param {RowOutcomes | null} outcomes of all rows; null if all count
   * @param {Distinct} distinct
   * @param {Values | null} values
   */
  bound(part, rows, outcomes, distinct, values) {
    const counted = noneCounted(values?.domain.values.length ?? 0);
    const chances = /** @type {Float64Array} */ (counted.expected);
    const codes = part.column === null ? null : columnOf(distinct, part.column).codes;
    let [least, most, expected, hidden] = [0, 0, 0, 0];
    for (const row of rows) {
      const outcome = outcomes === null ? ALWAYS : outcomes.outcomes[outcomes.place[row]];
      const times = distinct.times[row];
      const code = codes === null ? 0 : codes[row];
      if (values !== null && values.low[code] < 0) {
        hidden += values.low[code] === NO_ENDS ? times : 0;
        continue;
      }
      const sure = must(outcome);
      least += sure ? times : 0;
      most += times;
      expected += outcome.chance * times;
      if (values !== null) {
        counted.lowAll[values.low[code]] += times;
        counted.highAll[values.high[code]] += times;
        counted.lowSure[values.low[code]] += sure ? times : 0;
        counted.highSure[values.high[code]] += sure ? times : 0;
        const each = (outcome.chance * times) / values.listed[code].length;
        values.listed[code].forEach((place) => {
          chances[place] += each;
        });
      }
    }
    if (hidden) {
      throw new Refusal(
        `${hidden.toLocaleString("en")} rows hide ${part.column} behind *. Add a condition such as ${part.column} BETWEEN … AND …, or ask about another column`,
      );
    }
    if (values === null) {
      const near = Number.isFinite(expected) ? Math.min(Math.max(expected, least), most) : null;
      return withEstimate(bounds(fraction(least), fraction(most), near));
    }
    if (!most) {
      return part.aggregate === "count" ? bounds(fraction(0), fraction(0), fraction(0)) : NOTHING;
    }
    const result = boundsOver(part.aggregate, values.domain, counted);
    const type = part.aggregate === "count" ? undefined : values.domain.type;
    return withEstimate({ ...result, mayBeEmpty: part.aggregate !== "count" && least < 1 }, type);
  }

  /**
   * @param {string} name of a labelled column
   * @returns {KeyValue[]}
   */
  groupValues(name) {
    const named = /** @type {LabelledColumn} */ (this.labelled.get(name)).groupValues();
    if (named === null) {
      throw new Refusal(
        `${name} is published as ranges of too many values to list. Ask about your own ranges with a condition`,
      );
    }
    return named.rest ? [...named.values, REST] : named.values;
  }

  /**
   * @param {string} name
   * @param {KeyValue} value
   * @param {KeyValue[]} all
   * @returns {Condition} that a row has a value, or another than all named ones
   */
  hasValue(name, value, all) {
    if (value === null) {
      return isNull(name);
    }
    if (value !== REST) {
      return test(name, "=", literalOf(this.column(name), value));
    }
    const named = all.filter((other) => other !== null && other !== REST);
    return named.length
      ? not(anyOf(named.map((other) => test(name, "=", literalOf(this.column(name), other)))))
      : not(isNull(name));
  }

  /**
   * @param {string[]} names
   * @returns {Distinct} rows that differ in these columns; the latest are kept
   */
  distinctRows(names) {
    const used = [...new Set(names)].sort();
    const text = used.join("\0");
    if (this.latest?.text !== text) {
      this.latest = { text, distinct: merged(this.kinds(), used) };
    }
    return this.latest.distinct;
  }

  /** @returns {Distinct} rows that differ in any column */
  kinds() {
    this.all ??= merged(this.rows, [...this.rows.columns.keys()]);
    return this.all;
  }

  /**
   * The possible outcomes of a condition on each row: a part about one column is decided as a whole.
   * @param {Condition} condition
   * @param {Distinct} distinct
   * @returns {RowOutcomes}
   */
  outcomes(condition, distinct) {
    const text = JSON.stringify(condition);
    const decided = distinct.known.get(text) ?? this.decide(condition, distinct);
    if (distinct.known.size < MOST_KNOWN) {
      distinct.known.set(text, decided);
    }
    return decided;
  }

  /** @param {Condition} condition @param {Distinct} distinct @returns {RowOutcomes} */
  decide(condition, distinct) {
    const names = columnsIn(condition);
    if (names.size === 1) {
      const [name] = names;
      return eachOnce(this.outcomesOfColumn(name, condition), columnOf(distinct, name).codes);
    }
    if (condition.op === "not" || condition.op === "sure") {
      const { outcomes, place } = this.outcomes(condition.part, distinct);
      return { outcomes: outcomes.map(condition.op === "not" ? negated : surely), place };
    }
    const joined = /** @type {{op: "and" | "or", parts: Condition[]}} */ (condition);
    const [last, ...others] = partsByColumn(joined).reverse();
    const first = others.reverse();
    const before = this.outcomes(first.length > 1 ? { op: joined.op, parts: first } : first[0], distinct);
    return joinOutcomes(before, this.outcomes(last, distinct), joined.op);
  }

  /** @param {string} name @param {Condition} condition @returns {Outcomes[]} by code, that of null last */
  outcomesOfColumn(name, condition) {
    const labelled = this.labelled.get(name);
    if (labelled) {
      return labelled.outcomes(condition);
    }
    const places = placesOf(this.column(name), columnOf(this.rows, name));
    return Array.from(outcomesOnPlaces(condition, this.column(name), places), certain);
  }

  /**
   * @param {Part} part
   * @param {Condition | null} condition
   * @returns {Values}
   */
  values(part, condition) {
    const name = /** @type {string} */ (part.column);
    const described = this.column(name);
    requireType(part.aggregate, described);
    const labelled = this.labelled.get(name);
    if (!labelled) {
      const domain = domainOf(described, columnOf(this.rows, name).values);
      const places = Int32Array.from({ length: domain.values.length + 1 }, (_, place) => place);
      places[domain.values.length] = NO_VALUE;
      return { domain, low: places, high: places, listed: Array.from(places, (place) => Int32Array.of(place)) };
    }
    return valuesBehind(labelled, part, ownPart(condition, name));
  }
}

const MOST_KNOWN = 64; // conditions whose outcomes are kept
const NO_VALUE = -1; // the place of null
const NO_ENDS = -2; // that of a label without ends

/**
 * @param {LabelledColumn} labelled
 * @param {Part} part
 * @param {Condition | null} condition about this column alone
 * @returns {Values}
 */
function valuesBehind(labelled, part, condition) {
  const { described, scale } = labelled;
  if (scale === null) {
    return listedBehind(labelled, part, condition);
  }
  const left = labelled.numbersLeft(condition);
  const numbers = [...new Set(left.flatMap((some) => some ?? []))].sort(ascending);
  const place = new Map(numbers.map((number, rank) => [number, rank]));
  return placed(
    domainOf(described, numbers.map((number) => scale.value(number))),
    left.map((some) => some && some.map((number) => /** @type {number} */ (place.get(number)))),
  );
}

/**
 * @param {LabelledColumn} labelled a column of texts or truth values
 * @param {Part} part
 * @param {Condition | null} condition
 * @returns {Values}
 */
function listedBehind(labelled, part, condition) {
  const { described, labels } = labelled;
  if (labels.some((label) => !label.listed && described.type !== "boolean")) {
    throw new Refusal(`${part.aggregate.toUpperCase()}(${described.name}) has no bounds: a label hides any text. Ask for COUNT(*)`);
  }
  const left = labels.map((label) =>
    labelled.valuesOf(label).filter((value) => condition === null || labelled.outcomeOf(condition, value) === 1),
  );
  const values = [...new Set(left.flat())].sort(compareListed);
  return placed(domainOf(described, values), left.map((some) => some.map((value) => values.indexOf(value))));
}

/** @param {Domain} domain @param {(number[] | null)[]} left by label @returns {Values} */
function placed(domain, left) {
  const ends = left.map((some) =>
    some === null
      ? [NO_ENDS, NO_ENDS]
      : some.length
        ? [some.reduce((a, b) => Math.min(a, b)), some.reduce((a, b) => Math.max(a, b))]
        : [NO_VALUE, NO_VALUE],
  );
  return {
    domain,
    low: Int32Array.from(ends, ([low]) => low),
    high: Int32Array.from(ends, ([, high]) => high),
    listed: left.map((some) => Int32Array.from(some ?? [])),
  };
}

/**
 * @param {import("./tables.js").Table & {times?: Int32Array}} table
 * @param {string[]} names
 * @returns {Distinct} the table's rows that differ in these columns
 */
function merged(table, names) {
  const { place, first } = combined(names.map((name) => columnOf(table, name)), new Uint8Array(table.rows).fill(1));
  const times = new Int32Array(first.length);
  place.forEach((number, row) => {
    times[number] += table.times ? table.times[row] : 1;
  });
  const columns = names.map((name) => {
    const { values, codes } = columnOf(table, name);
    return /** @type {[string, Column]} */ ([name, { values, codes: ofRows(first, codes) }]);
  });
  return { rows: first.length, columns: new Map(columns), times, known: new Map() };
}

/**
 * @param {Outcomes[]} outcomes of each code
 * @param {Int32Array} codes of rows
 * @returns {RowOutcomes} with equal outcomes once
 */
function eachOnce(outcomes, codes) {
  const places = new Map();
  const place = outcomes.map((outcome) => {
    const text = JSON.stringify([outcome.possible, outcome.chance, outcome.against]);
    const number = places.get(text) ?? places.size;
    places.set(text, number);
    return number;
  });
  /** @type {Outcomes[]} */
  const different = [];
  place.forEach((number, code) => {
    different[number] ??= outcomes[code];
  });
  return { outcomes: different, place: ofRows(codes, Int32Array.from(place)) };
}

/**
 * @param {RowOutcomes} first
 * @param {RowOutcomes} second
 * @param {"and" | "or"} op
 * @returns {RowOutcomes} each pair of outcomes is joined once
 */
function joinOutcomes(first, second, op) {
  const width = second.outcomes.length;
  const places = new Int32Array(first.outcomes.length * width).fill(-1);
  /** @type {Outcomes[]} */
  const outcomes = [];
  const place = first.place.map((outcome, row) => {
    const pair = outcome * width + second.place[row];
    if (places[pair] < 0) {
      const [a, b] = [first.outcomes[outcome], second.outcomes[second.place[row]]];
      places[pair] = outcomes.length;
      outcomes.push(op === "and" ? together(a, b) : negated(together(negated(a), negated(b))));
    }
    return places[pair];
  });
  return { outcomes, place };
}

/**
 * The parts that a connective joins, with those about one column as one part each.
 * @param {{op: "and" | "or", parts: Condition[]}} condition
 * @returns {Condition[]}
 */
function partsByColumn(condition) {
  /** @type {Map<string, Condition[]>} */
  const parts = new Map();
  flatten(condition, condition.op).forEach((part, number) => {
    const names = [...columnsIn(part)];
    const place = names.length === 1 ? `column ${names[0]}` : `part ${number}`;
    parts.set(place, [...(parts.get(place) ?? []), part]);
  });
  const join = condition.op === "and" ? allOf : anyOf;
  return [...parts.values()].map(join);
}

/**
 * @param {Condition | null} condition
 * @param {string} name
 * @returns {Condition | null} the part of a conjunction about this column alone
 */
function ownPart(condition, name) {
  const parts = condition === null ? [] : flatten(condition, "and");
  return both(...parts.filter((part) => [...columnsIn(part)].join() === name));
}

register("labels", (packed) => withIntervals(packed, new LabelsEngine(packed), (engine) => new LabelsLaws(engine)));
