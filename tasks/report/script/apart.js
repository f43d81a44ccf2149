/**
 * Bounds on releases of two related tables: people, and rows that belong to people of their group.
 *
 * A condition on a person's rows (EXISTS) is a column of truth values in a question's condition, a
 * *mark*, as it is for `sfumato query`.
 */

import { Asking, registerRelease, Release } from "./asking.js";
import { asNumber, bounds, clamp, isFraction, NOTHING, withEstimate } from "./bounds.js";
import { chanceOf } from "./chances.js";
import { disjointConditions, rowsWhere, splitCondition } from "./conditions.js";
import { registerControls } from "./controls.js";
import { answered, byGroup, cellsOf, countsOfCells, domainOf, GROUP, register, requireType, selectedBy } from "./engine.js";
import { fraction, greater, lesser, over, ZERO } from "./fractions.js";
import { registerLanguage } from "./language.js";
import { choicesOf, HitValues, meanOfHits, peopleWith, sharedRows, sumOfHits, totalOf } from "./related.js";
import { Mistake } from "./scales.js";
import { columnOf, decodeTable, numbersOf } from "./tables.js";
import { TablesControls } from "./twocontrols.js";
import { isMark, markNumber, markOf, TWO_TABLES } from "./twotables.js";

/** @typedef {import("./asking.js").AnswerRow} AnswerRow */
/** @typedef {import("./asking.js").Formula} Formula */
/** @typedef {import("./asking.js").Mark} Mark */
/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./asking.js").Scope} Scope */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./bounds.js").Value} Value */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").Engine} Engine */
/** @typedef {import("./engine.js").Part} Part */
/** @typedef {import("./engine.js").Selected} Selected */
/** @typedef {import("./fractions.js").Fraction} Fraction */
/** @typedef {import("./related.js").Ends} Ends */
/** @typedef {import("./related.js").Hits} Hits */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").PackedTable} PackedTable */

export const RELATED = "related";

export const withOtherRows = "Only COUNT has bounds where people are chosen by their related rows. Ask for COUNT(*)";

/**
 * A condition on people's rows that hit people must meet, or must not.
 * @typedef {{mark: Mark, negated: boolean}} Required
 */

/** @typedef {{values: HitValues, digits: number}} Units values of related rows, in units with so many digits */

/** @implements {Engine} */
export class TablesEngine {
  /** @param {Packed} packed */
  constructor(packed) {
    const { columns } = /** @type {import("./tables.js").TwoTables} */ (packed.tables);
    this.related = new Set(columns);
    this.described = new Map(packed.columns.map((column) => [column.name, column]));
    this.people = decodeTable(/** @type {PackedTable} */ (packed.rows));
    this.rows = decodeTable(/** @type {PackedTable[]} */ (packed.values)[0]);
    const groups = decodeTable(/** @type {PackedTable} */ (packed.groups));
    const ids = numbersOf(columnOf(groups, GROUP));
    const [people, rows, most] = ["people", "related_rows", "most_rows"].map((name) => {
      const numbers = new Int32Array(ids.length);
      numbersOf(columnOf(groups, name)).forEach((number, place) => {
        numbers[ids[place]] = number;
      });
      return numbers;
    });
    this.numbers = { people, rows, most };
    this.byGroup = byGroup(numbersOf(columnOf(this.people, GROUP)), ids.length);
    this.groupOfRow = numbersOf(columnOf(this.rows, GROUP));
    this.times = numbersOf(columnOf(this.rows, "count"));
    /** @type {Scope} */
    this.scope = { counted: "people", from: ["people"], marks: [], distinct: false, each: false };
    /** @type {Map<string, Int32Array>} */
    this.counted = new Map();
  }

  /** @param {Scope} scope @returns {TablesEngine} that counts what a question counts */
  counting(scope) {
    return Object.assign(Object.create(this), { scope });
  }

  /** @param {string} column @returns {string | undefined} */
  bundleOf(column) {
    return this.related.has(column) ? RELATED : isMark(column) ? column : undefined;
  }

  /** @param {Part} part @returns {Map<string, Cell>} */
  ask(part) {
    const { onRows, matching } = splitCondition(part.condition, (column) => this.bundleOf(column));
    const cells = cellsOf(this.people, part.by, onRows, this.described);
    const selected = selectedBy(cells, this.byGroup);
    const bound =
      this.scope.counted === "rows"
        ? this.boundRows(part, matching.get(RELATED) ?? null)
        : part.column === null
          ? this.boundPeople(requiredBy(matching, this.scope))
          : this.boundValues(part, matching);
    return answered(cells.keys, (number) => bound(selected[number]));
  }

  /** @param {Condition | null} condition @returns {Int32Array} the related rows of each group on which it holds */
  rowsInGroups(condition) {
    const text = JSON.stringify(condition);
    let counted = this.counted.get(text);
    if (!counted) {
      const chosen = rowsWhere(condition, this.rows, this.described);
      counted = new Int32Array(this.numbers.rows.length);
      for (let entry = 0; entry < chosen.length; entry += 1) {
        counted[this.groupOfRow[entry]] += chosen[entry] ? this.times[entry] : 0;
      }
      this.counted.set(text, counted);
    }
    return counted;
  }

  /** @param {Selected} selected people @param {Int32Array} rows hit ones of all groups @returns {Hits} */
  hitsOf({ groups, hits }, rows) {
    /** @param {Int32Array} numbers */
    const own = (numbers) => Int32Array.from(groups, (group) => numbers[group]);
    const { people, rows: all, most } = this.numbers;
    return { people: own(people), rows: own(all), most: own(most), hitPeople: hits, hitRows: own(rows) };
  }

  /**
   * @param {Part} part
   * @param {Condition | null} condition on related rows
   * @returns {(selected: Selected) => Bounds} bounds of their number, or of an aggregate of their values
   */
  boundRows(part, condition) {
    const rows = this.rowsInGroups(condition);
    if (part.people) {
      return (selected) => withEstimate(peopleWho(this.hitsOf(selected, rows), 1, false).bounds);
    }
    if (part.column !== null) {
      return this.boundSum(part, condition, rows);
    }
    return (selected) => {
      const hits = this.hitsOf(selected, rows);
      const { least, greatest } = sharedRows(hits);
      const { people, hitPeople } = hits;
      const expected = hits.hitRows.reduce((sum, number, place) => sum + (number * hitPeople[place]) / Math.max(people[place], 1), 0);
      return withEstimate(bounds(fraction(totalOf(least)), fraction(totalOf(greatest)), expected));
    };
  }

  /**
   * @param {Part} part
   * @param {Condition | null} condition
   * @param {Int32Array} rows of each group on which it holds
   * @returns {(selected: Selected) => Bounds} bounds of a sum or a mean of the values of related rows
   */
  boundSum(part, condition, rows) {
    const units = this.units(part, condition);
    return (selected) => {
      const hits = this.hitsOf(selected, rows);
      return boundRelatedOf(part.aggregate, units, selected.groups, choicesOf(hits), hits, hits.hitPeople);
    };
  }

  /**
   * @param {Part} part an aggregate of a column of related rows
   * @param {Condition | null} condition
   * @returns {Units} those on which it holds
   */
  units({ aggregate, column }, condition) {
    const name = String(column);
    const described = /** @type {Described} */ (this.described.get(name));
    if (!this.related.has(name)) {
      throw new Mistake(
        `${aggregate.toUpperCase()} of ${name} would count people once for each of their rows, which has no bounds. Ask for people alone, or for COUNT, SUM or AVG of related rows`,
      );
    }
    if (aggregate !== "sum" && aggregate !== "avg") {
      throw new Mistake(`${aggregate.toUpperCase()} of related rows has no bounds yet. Ask for COUNT, SUM or AVG`);
    }
    requireType(aggregate, described);
    const { units, digits } = domainOf(described, columnOf(this.rows, name).values);
    return { values: this.valuesIn(name, condition, units), digits };
  }

  /** @param {string} name @param {Condition | null} condition @param {bigint[]} units @returns {HitValues} */
  valuesIn(name, condition, units) {
    const { codes } = columnOf(this.rows, name);
    const chosen = rowsWhere(condition, this.rows, this.described);
    const groups = this.numbers.rows.length;
    const entries = [...codes.keys()].filter((entry) => chosen[entry] && codes[entry] < units.length);
    entries.sort((a, b) => this.groupOfRow[a] - this.groupOfRow[b] || codes[a] - codes[b]);
    const order = Int32Array.from(entries);
    const { start } = byGroup(order.map((entry) => this.groupOfRow[entry]), groups);
    return new HitValues(units, start, order.map((entry) => codes[entry]), order.map((entry) => this.times[entry]));
  }

  /**
   * @param {Required[] | null} required null if nobody can meet all
   * @returns {(selected: Selected) => Bounds} bounds of the number of people who meet all
   */
  boundPeople(required) {
    if (required === null) {
      return () => exactCount(0);
    }
    const rows = required.map(({ mark }) => this.rowsInGroups(mark.condition));
    return (selected) => {
      const each = required.map(({ mark, negated }, place) =>
        peopleWho(this.hitsOf(selected, rows[place]), mark.times, negated),
      );
      if (each.length < 2) {
        return each.length ? withEstimate(each[0].bounds) : exactCount(totalOf(selected.hits));
      }
      return withEstimate(boundAll(selected.hits, each));
    };
  }

  /**
   * @param {Part} part
   * @param {Map<string, Condition>} matching
   * @returns {(selected: Selected) => Bounds} the exact aggregate of a column of people
   */
  boundValues(part, matching) {
    const name = String(part.column);
    const described = /** @type {Described} */ (this.described.get(name));
    if (matching.size) {
      throw new Mistake(withOtherRows);
    }
    requireType(part.aggregate, described);
    const { codes, values } = columnOf(this.people, name);
    const domain = domainOf(described, values);
    return ({ hits, places }) => {
      const [counts] = countsOfCells(1, values.length);
      const number = totalOf(hits);
      Object.assign(counts, { least: number, most: number, expected: number });
      for (const place of places) {
        const code = codes[this.byGroup.order[place]];
        for (const copies of Object.values(counts.counted)) {
          /** @type {Float64Array} */ (copies)[code] += 1;
        }
      }
      return counts.bound(part, domain, described);
    };
  }
}

/**
 * Bound a sum or a mean of the values of related rows.
 * @param {string} aggregate
 * @param {Units} units
 * @param {Int32Array} groups
 * @param {import("./related.js").RowChoices} choices how many of them hit people of each group can have
 * @param {Hits} hits of which the numbers of people are read
 * @param {ArrayLike<number>} expected hit people of each group
 * @returns {Bounds}
 */
export function boundRelatedOf(aggregate, { values, digits }, groups, choices, { people }, expected) {
  const ends = (aggregate === "sum" ? sumOfHits : meanOfHits)(values, groups, choices);
  if (ends === null) {
    return NOTHING;
  }
  const [low, high] = ends.map((end) => over(end, fraction(10n ** BigInt(digits))));
  let [sum, number] = [0, 0];
  groups.forEach((group, place) => {
    const share = expected[place] / Math.max(people[place], 1);
    sum += share * Number(values.sumOf(group));
    number += share * values.countOf(group);
  });
  const total = sum / 10 ** digits;
  const estimate = aggregate === "sum" ? total : number ? total / number : null;
  const near = estimate === null ? null : clamp(estimate, low, high);
  return withEstimate(bounds(low, high, near, !surelySome(choices)));
}

/** @param {number} number @returns {Bounds} */
export const exactCount = (number) => bounds(fraction(number), fraction(number), fraction(number));

/** @param {import("./related.js").RowChoices} choices @returns {boolean} whether hit people have a hit row in all worlds */
const surelySome = ({ first, second }) =>
  first.least.some((_, place) => {
    const ranges = [first, second].filter((range) => range.least[place] <= range.greatest[place]);
    return Math.min(...ranges.map((range) => range.least[place])) > 0;
  });

/**
 * @param {Hits} hits
 * @param {number} times
 * @param {boolean} negated whether people with fewer such rows are counted
 * @returns {{ends: Ends, bounds: Bounds}} how many of each group, and of all
 */
function peopleWho(hits, times, negated) {
  const with_ = peopleWith(hits, times);
  const { hitPeople, hitRows, people, rows, most } = hits;
  const chances = hitPeople.reduce(
    (sum, number, place) => sum + number * chanceOf(times, hitRows[place], people[place], rows[place], most[place]),
    0,
  );
  const [least, greatest] = [totalOf(with_.least), totalOf(with_.greatest)];
  const expected = Math.min(Math.max(chances, least), greatest);
  if (!negated) {
    return { ends: with_, bounds: bounds(fraction(least), fraction(greatest), expected) };
  }
  const total = totalOf(hitPeople);
  const ends = {
    least: hitPeople.map((number, place) => number - with_.greatest[place]),
    greatest: hitPeople.map((number, place) => number - with_.least[place]),
  };
  return { ends, bounds: bounds(fraction(total - greatest), fraction(total - least), total - expected) };
}

/**
 * The number of people who meet several conditions at once, of which only the numbers are known.
 * @param {Int32Array} people hit ones of each group
 * @param {{ends: Ends, bounds: Bounds}[]} each
 * @returns {Bounds}
 */
function boundAll(people, each) {
  let [low, high] = [0, 0];
  people.forEach((hit, place) => {
    const least = each.reduce((sum, { ends }) => sum + ends.least[place], 0);
    low += Math.max(least - (each.length - 1) * hit, 0);
    high += Math.min(...each.map(({ ends }) => ends.greatest[place]));
  });
  const total = totalOf(people);
  const expected = each.reduce((product, own) => product * (total ? Number(own.bounds.estimate) / total : 0), total);
  return bounds(fraction(low), fraction(high), Math.min(Math.max(expected, low), high));
}

/**
 * @param {Map<string, Condition>} matching the condition on each mark
 * @param {Scope} scope
 * @returns {Required[] | null} without those that others imply; null if nobody can meet all
 */
export function requiredBy(matching, { marks }) {
  /** @type {Required[]} */
  const required = [];
  for (const [name, condition] of matching) {
    const [met, unmet] = [true, false].map((mark) => holds(condition, mark));
    if (!met && !unmet) {
      return null;
    }
    if (met !== unmet) {
      required.push({ mark: marks[markNumber(name)], negated: unmet });
    }
  }
  return required.filter(
    (some, place) => !required.some((other, there) => implies(other, some) && (!implies(some, other) || there < place)),
  );
}

/** @param {Required} other @param {Required} some @returns {boolean} whether three rows are asked, where two are, too */
function implies(other, some) {
  const same = JSON.stringify(other.mark.condition) === JSON.stringify(some.mark.condition);
  const more = some.negated ? other.mark.times <= some.mark.times : other.mark.times >= some.mark.times;
  return other !== some && same && other.negated === some.negated && more;
}

/** @param {Condition} condition on one mark, which is never null @param {boolean} mark @returns {boolean} */
function holds(condition, mark) {
  switch (condition.op) {
    case "test":
      return mark;
    case "and":
      return condition.parts.every((part) => holds(part, mark));
    case "or":
      return condition.parts.some((part) => holds(part, mark));
    default:
      return holds(condition.part, mark) !== (condition.op === "not");
  }
}

/** A release of people and their related rows. */
export class TablesRelease extends Release {
  /** @param {Question} question @returns {AnswerRow[]} */
  answer(question) {
    const scope = /** @type {Scope} */ (question.scope);
    const marks = scope.marks.map((_, place) => markOf(place));
    const columns = new Map([...this.columns, ...marks.map((mark) => /** @type {const} */ ([mark.name, mark]))]);
    const engine = /** @type {TablesEngine} */ (this.engine).counting(scope);
    return super.answer.call(Object.assign(Object.create(this), { engine, columns }), question);
  }

  requireOneSensitive() {
    // the values of one related row stand together
  }

  /** @param {string[]} by @returns {Asking} */
  asking(by) {
    return new AskingOfTables(this, by);
  }
}

/** The parts of a question about two tables, in which people with related rows can be counted. */
class AskingOfTables extends Asking {
  /** @param {Question} question @returns {Formula} */
  formula(question) {
    const { distinct, each } = /** @type {Scope} */ (question.scope);
    if (distinct) {
      return this.people(question.where);
    }
    const formula = super.formula(question);
    if (!each) {
      return formula;
    }
    const people = this.people(question.where);
    return (key) => quotient(formula(key), people(key));
  }

  /** @param {Condition | null} where @returns {Formula} the number of people with such rows */
  people(where) {
    if (where !== null && disjointConditions(where, this.bundleOf).length > 1) {
      throw new Mistake("People are not counted where OR joins conditions on both tables. Ask for each condition separately");
    }
    return this.ask("count", null, where, true);
  }
}

/**
 * Bound a quotient of numbers that may reach their ends together, or may not.
 * @param {Bounds} dividend
 * @param {Bounds} divisor a whole number, at least 1 unless it is 0
 * @returns {Bounds}
 */
function quotient(dividend, divisor) {
  const { lower, upper } = divisor;
  if (!isFraction(dividend.lower) || !isFraction(dividend.upper) || !isFraction(lower) || !isFraction(upper) || !upper.n) {
    return NOTHING;
  }
  const guess = asNumber(divisor.estimate);
  const [least, number] = lower.n ? [lower, guess] : [fraction(1), guess !== null && guess >= 1 ? guess : null];
  const ends = [dividend.lower, dividend.upper].flatMap((end) => [over(end, least), over(end, upper)]);
  const [low, high] = [ends.reduce(lesser), ends.reduce(greater)];
  const near = asNumber(dividend.estimate);
  const estimate = near === null || !number ? null : clamp(near / number, low, high);
  return bounds(low, high, estimate, dividend.mayBeEmpty || lower.n === ZERO.n);
}

register("apart", (packed) => new TablesEngine(packed));
registerRelease("apart", TablesRelease);
registerLanguage("apart", TWO_TABLES);
registerControls("apart", TablesControls);
