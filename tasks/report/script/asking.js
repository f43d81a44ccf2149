/** Questions about a release, answered with bounds: a query's parts are asked, and put together. */

import { bounds, compareValues, isFraction, narrowed, NOTHING, POOLED, proportion } from "./bounds.js";
import {
  both, columnsIn, disjointConditions, isNeverNull, isNull, not, surroundings, test, untrue,
} from "./conditions.js";
import { combinations, compareKeys, engineOf, literalOf, REST, textOf } from "./engine.js";
import { approximate, fraction } from "./fractions.js";
import { Mistake, Refusal, scaleOf } from "./scales.js";

/** @typedef {import("./bounds.js").Aggregate} Aggregate */
/** @typedef {import("./bounds.js").Bounds} Bounds */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./engine.js").Cell} Cell */
/** @typedef {import("./engine.js").KeyValue} KeyValue */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */

/**
 * A question: an aggregate of a column, by the values of columns, over rows with a condition. A share
 * is the proportion of these rows on which a further condition holds.
 * @typedef {object} Question
 * @property {Aggregate | "share"} aggregate
 * @property {string | null} column null for COUNT(*) and a share
 * @property {Condition | null} share
 * @property {string[]} by
 * @property {Condition | null} where
 * @property {Scope} [scope] of a question about two tables
 */

/**
 * The condition that a person has at least so many related rows of some kind.
 * @typedef {{times: number, condition: Condition | null}} Mark
 */

/**
 * What a question about two tables counts.
 * @typedef {object} Scope
 * @property {"people" | "rows"} counted
 * @property {("people" | "related")[]} from the tables that it reads
 * @property {Mark[]} marks conditions on people's rows, each of which a column of truth values stands for
 * @property {boolean} distinct whether the people with such rows are counted, not the rows
 * @property {boolean} each whether the result is divided by the number of people with such rows
 */

/** @typedef {{key: KeyValue[], bounds: Bounds}} AnswerRow */

const MOST_VALUES = 500;

/**
 * Reads the tables of a page that only names them.
 * @typedef {(packed: Packed) => Promise<Packed>} Reader
 */

/** @type {Reader | null} */
let reader = null;

/** @param {Reader} readTables */
export function registerReader(readTables) {
  reader = readTables;
}

/** @param {Packed} packed @returns {Promise<Release>} with its tables, which may have to be read */
export async function openRelease(packed) {
  return releaseOf(packed.fetched && reader ? await reader(packed) : packed);
}

/** @param {Packed} packed with all tables @returns {Release} */
export const releaseOf = (packed) => new (RELEASES.get(packed.shows) ?? Release)(packed);

/** @type {Map<Packed["shows"], typeof Release>} */
const RELEASES = new Map();

/** @param {Packed["shows"]} shows @param {typeof Release} kind of releases that are shown in this way */
export function registerRelease(shows, kind) {
  RELEASES.set(shows, kind);
}

/** A release whose tables are in memory. */
export class Release {
  /** @param {Packed} packed */
  constructor(packed) {
    this.packed = packed;
    this.columns = new Map(packed.columns.map((column) => [column.name, column]));
    this.engine = engineOf(packed);
  }

  /** @param {string} name @returns {Described} */
  column(name) {
    const column = this.columns.get(name);
    if (!column) {
      throw new Mistake(`There is no column ${name}. Columns: ${[...this.columns.keys()].join(", ")}`);
    }
    return column;
  }

  /**
   * @param {string} name of an ordered column that is not sensitive
   * @returns {[bigint, bigint] | null} the least and the greatest value that the tables state
   */
  endsOf(name) {
    const { packed } = this;
    const scale = scaleOf(this.column(name));
    const tables = [...(packed.rows ? [packed.rows] : []), ...(packed.admitted ?? [])];
    const labels = packed.labels && Object.hasOwn(packed.labels, name) ? packed.labels[name] : null;
    const values = labels
      ? labels.flatMap(({ listed, between }) => [...(listed ?? []), ...(between ?? [])])
      : tables.find(({ columns }) => Object.hasOwn(columns, name))?.columns[name].values ?? [];
    const numbers = values.flatMap((value) => (scale === null || value === null ? [] : [scale.whole(value)]));
    return numbers.length
      ? [numbers.reduce((a, b) => (a < b ? a : b)), numbers.reduce((a, b) => (a > b ? a : b))]
      : null;
  }

  /**
   * @param {string} name
   * @returns {readonly (string | number | boolean)[] | null} its published values, ascending; null if
   *   labels or ranges show it
   */
  valuesOf(name) {
    const { rows, values, admitted, labels } = this.packed;
    if (labels && Object.hasOwn(labels, name)) {
      return null;
    }
    const tables = [...(rows ? [rows] : []), ...(values ?? []), ...(admitted ?? [])];
    return tables.find(({ columns }) => Object.hasOwn(columns, name))?.columns[name].values ?? null;
  }

  /** @param {string} name whether rows show it, or its values beside labels */
  isBeside(name) {
    return this.packed.shows === "labels" && this.column(name).role !== "quasi-identifier";
  }

  /** @param {Question} question @returns {AnswerRow[] | null} its bounds, if likely intervals take their time */
  sooner(question) {
    const { aggregate, column, by, where } = question;
    const engine = aggregate === "share" ? null : this.engine.sooner?.({ aggregate, column, by, condition: where });
    return engine ? Object.assign(Object.create(this), { engine }).answer(question) : null;
  }

  /**
   * Answer a question.
   * @param {Question} question
   * @returns {AnswerRow[]} in the order of the group columns
   */
  answer(question) {
    const names = [...question.by, ...(question.column === null ? [] : [question.column])];
    const conditions = [question.where, question.share].filter((condition) => condition !== null);
    for (const name of [...names, ...conditions.flatMap((some) => [...columnsIn(/** @type {Condition} */ (some))])]) {
      this.column(name);
    }
    this.requireOneSensitive(names, /** @type {Condition[]} */ (conditions));
    const banded = question.by.filter((name) => this.isBanded(name));
    const values = banded.map((name) => this.publishedValues(name));
    const number = values.reduce((product, some) => product * some.length, 1);
    if (number > MOST_VALUES) {
      throw new Refusal(`The answer has more than ${MOST_VALUES} lines. Group by fewer columns`);
    }
    const rows = combinations(values).flatMap((own) => this.rowsOf(question, banded, own));
    rows.forEach(({ bounds: ends }) => [ends.lower, ends.upper].forEach(requireFloat));
    return rows.sort((a, b) => this.compareRows(question.by, a, b));
  }

  /** @param {string[]} names @param {Condition[]} conditions */
  requireOneSensitive(names, conditions) {
    const used = new Set([...names, ...conditions.flatMap((condition) => [...columnsIn(condition)])]);
    const sensitive = [...used].filter((name) => this.column(name).role === "sensitive");
    if (sensitive.length > 1) {
      throw new Refusal(`A question on this page is about one sensitive column, not ${sensitive.join(" and ")}`);
    }
  }

  /** @param {string} name whether each of its values is asked for, since rows do not show it */
  isBanded(name) {
    return this.packed.shows !== "labels" && this.column(name).role === "sensitive";
  }

  /** @param {string} name @returns {KeyValue[]} */
  publishedValues(name) {
    if (this.packed.shows === "subdomains") {
      throw new Refusal(`The values of ${name} are published as ranges. Ask for each value with a condition`);
    }
    const table = (this.packed.values ?? []).find(({ columns }) => Object.hasOwn(columns, name));
    const values = table?.columns[name].values ?? [];
    const nulls = table && hasNulls(table.columns[name]) ? [null] : [];
    return [...values, ...nulls];
  }

  /**
   * @param {Question} question
   * @param {string[]} banded the sensitive group columns
   * @param {KeyValue[]} values of these columns
   * @returns {AnswerRow[]}
   */
  rowsOf(question, banded, values) {
    const bands = banded.map((name, place) =>
      values[place] === null ? isNull(name) : test(name, "=", literalOf(this.column(name), values[place])),
    );
    const exact = question.by.filter((name) => !banded.includes(name));
    const where = both(question.where, ...bands);
    const asking = this.asking(exact);
    const formula = asking.formula({ ...question, where });
    const present = asking.count(where);
    const cells = asking.keys();
    const keys = exact.length ? [...cells.values()] : [/** @type {KeyValue[]} */ ([])];
    return keys.flatMap((key) => {
      const rows = present(key);
      if (question.by.length && isZero(rows.upper)) {
        return [];
      }
      const all = question.by.map((name) =>
        banded.includes(name) ? values[banded.indexOf(name)] : key[exact.indexOf(name)],
      );
      return [{ key: all, bounds: formula(key) }];
    });
  }

  /** @param {string[]} by the columns whose values make the cells @returns {Asking} */
  asking(by) {
    return new Asking(this, by);
  }

  /** @param {string[]} by @param {AnswerRow} a @param {AnswerRow} b */
  compareRows(by, a, b) {
    for (let place = 0; place < by.length; place += 1) {
      const order = compareKeys(this.column(by[place]), a.key[place], b.key[place]);
      if (order) {
        return order;
      }
    }
    return 0;
  }
}

/** @param {import("./bounds.js").Value | null} end */
function requireFloat(end) {
  if (isFraction(end) && !Number.isFinite(approximate(end))) {
    throw new Refusal("A result is larger than the largest floating-point number, 1.8e308");
  }
}

/** @param {import("./tables.js").PackedColumn} column whether a row has no value in it */
const hasNulls = (column) => Boolean(column.nulls);

/** @param {import("./bounds.js").Value | null} value */
const isZero = (value) => value !== null && compareValues(value, fraction(0)) === 0;

/**
 * Returns the bounds in the cell of a key.
 * @typedef {(key: KeyValue[]) => Bounds} Formula
 */

/** The parts of one question; each set of rows is asked once. */
export class Asking {
  /** @param {Release} release @param {string[]} by the columns whose values make the cells */
  constructor(release, by) {
    this.release = release;
    this.by = by;
    /** @type {Map<string, Map<string, Cell>>} */
    this.answers = new Map();
    this.bundleOf = (/** @type {string} */ column) => release.engine.bundleOf(column);
  }

  /** @returns {Map<string, KeyValue[]>} the keys of all cells that a part has */
  keys() {
    const keys = new Map();
    for (const cells of this.answers.values()) {
      for (const [text, { key }] of cells) {
        keys.set(text, key);
      }
    }
    return keys;
  }

  /**
   * @param {Aggregate} aggregate
   * @param {string | null} column
   * @param {Condition | null} condition
   * @param {boolean} [people] whether those with related rows are counted
   * @returns {Formula}
   */
  ask(aggregate, column, condition, people = false) {
    const text = JSON.stringify([aggregate, column, condition, people]);
    let cells = this.answers.get(text);
    if (!cells) {
      cells = this.release.engine.ask({ aggregate, column, by: this.by, condition, people });
      this.answers.set(text, cells);
    }
    const missing = aggregate === "count" ? bounds(fraction(0), fraction(0), fraction(0)) : NOTHING;
    const ofPart = cells;
    return (key) => ofPart.get(textOf(key))?.bounds ?? missing;
  }

  /** @param {Condition | null} where @returns {Formula} the number of rows */
  count(where) {
    return this.aggregate("count", null, where);
  }

  /** @param {Question} question @returns {Formula} */
  formula({ aggregate, column, share, where }) {
    if (aggregate === "share") {
      return this.share(where, /** @type {Condition} */ (share));
    }
    if (column === null) {
      return this.count(where);
    }
    const beside = this.release.isBeside(column);
    const there = this.release.column(column).nulls && !beside ? not(isNull(column)) : null;
    const counts = aggregate === "count" && !beside;
    return this.aggregate(aggregate, counts ? null : column, both(where, there));
  }

  /**
   * @param {Condition | null} where
   * @param {Condition} share
   * @returns {Formula}
   */
  share(where, share) {
    const neverNull = isNeverNull(share, this.release.columns);
    const part = this.count(both(where, share));
    const others = this.count(both(where, neverNull ? not(share) : untrue(share)));
    const rows = this.count(where);
    return (key) => proportion(part(key), others(key), rows(key));
  }

  /**
   * An aggregate over the rows of a condition, which may be several disjoint parts.
   * @param {Aggregate} aggregate
   * @param {string | null} column
   * @param {Condition | null} where
   * @returns {Formula}
   */
  aggregate(aggregate, column, where) {
    const parts = where === null ? [null] : disjointConditions(where, this.bundleOf);
    const values = parts.map((part) => this.ask(aggregate, column, part));
    if (parts.length === 1) {
      return values[0];
    }
    const pool = POOLED[aggregate];
    if (!pool) {
      throw new Refusal(
        `${aggregate.toUpperCase()} is not answered where OR joins conditions on columns that are published apart`,
      );
    }
    const counts = parts.map((part) => this.ask("count", null, part));
    const around = ["count", "sum"].includes(aggregate) ? surroundings(/** @type {Condition} */ (where), this.bundleOf) : null;
    const whole = around && this.ask(aggregate, column, around.whole);
    const rest = around && around.rest && this.ask(aggregate, column, around.rest);
    return (key) => {
      const pooled = pool(values.map((value, place) => [value(key), counts[place](key)]));
      return whole === null ? pooled : narrowed(aggregate, pooled, whole(key), rest && rest(key));
    };
  }
}

/** @param {KeyValue} value @returns {string} */
export const keyText = (value) =>
  value === REST ? "any other" : value === null ? "missing" : String(value);
