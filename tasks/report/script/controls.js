/** The controls of a question line: what they say as a query, and which question fills them. */

import { choice, conditionField, named } from "./elements.js";
import { conditionSql, identifier } from "./language.js";
import { isNumber } from "./scales.js";
import { NAMES, questionText } from "./words.js";

/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */

/** @type {readonly (keyof typeof NAMES)[]} */
const OFFERED = ["count", "share", "avg", "sum", "median", "min", "max"];

/** The controls for a question about one table. Pages of other tables have controls of their own. */
export class Controls {
  /** @param {Packed} packed @param {string} units people, or rows */
  constructor(packed, units) {
    this.packed = packed;
    this.units = units;
    const names = packed.columns.map(({ name }) => name);
    const numbers = packed.columns.filter(({ type }) => isNumber(type));
    const sensitive = numbers.filter(({ role }) => role === "sensitive");
    const measured = [...new Set([...sensitive, ...numbers])].map(({ name }) => name);
    this.aggregate = choice("Compute", this.aggregates());
    this.column = choice("of", named(measured));
    this.by = choice("by", { "": "–", ...named(names) });
    this.also = choice("and", { "": "–", ...named(names) });
    this.share = conditionField("with", exampleOf(sensitive[0] ?? packed.columns[0], 1000));
    this.where = conditionField("where", exampleOf(packed.columns[0], 30));
  }

  /** @returns {Record<string, string>} the aggregates to choose from, in words */
  aggregates() {
    const some = this.packed.counts ? OFFERED.slice(0, 2) : OFFERED;
    const rows = { count: `number of ${this.units}`, share: `share of ${this.units}` };
    return Object.fromEntries(
      some.map((name) => [name, name === "count" || name === "share" ? rows[name] : NAMES[name].toLowerCase()]),
    );
  }

  /** @returns {HTMLElement[]} in order */
  get labels() {
    return [this.aggregate, this.column, this.share, this.by, this.also, this.where].map(({ label }) => label);
  }

  /** @returns {string[]} the chosen columns to group by, as a query writes them */
  get keys() {
    return [...new Set([this.by.select.value, this.also.select.value])].filter(Boolean).map(identifier);
  }

  /** Show the column or the condition that the chosen aggregate needs. */
  offer() {
    const aggregate = this.aggregate.select.value;
    this.column.label.hidden = aggregate === "count" || aggregate === "share";
    this.share.label.hidden = aggregate !== "share";
    /** @type {HTMLElement} */ (this.where.label.firstChild).textContent =
      aggregate === "share" ? `among ${this.units} where` : "where";
  }

  /** @returns {string} the query that the controls say */
  sql() {
    const aggregate = this.aggregate.select.value;
    const column = aggregate === "count" ? "*" : identifier(this.column.select.value);
    const condition = this.share.field.value.trim() || this.share.field.placeholder;
    const share = `AVG(CASE WHEN ${condition} THEN 1 ELSE 0 END)`;
    const call = aggregate === "share" ? share : `${aggregate.toUpperCase()}(${column})`;
    return selectSql(this.keys, call, "microdata", this.where.field.value.trim());
  }

  /** @param {Question} question fill the controls with it, as far as they can say it */
  adopt({ aggregate, column, share, by, where }) {
    this.aggregate.select.value = aggregate;
    this.column.select.value = column ?? this.column.select.value;
    this.adoptKeys(by);
    this.where.field.value = where === null ? "" : conditionSql(where);
    this.share.field.value = share === null ? "" : conditionSql(share);
  }

  /** @param {string[]} by */
  adoptKeys(by) {
    [this.by, this.also].forEach(({ select }, place) => {
      select.value = by[place] ?? "";
    });
  }

  /** @param {Described} _ a column @returns {HTMLInputElement} the condition to which comparisons of it are added */
  placeOf(_) {
    return this.where.field;
  }

  /** @param {Question} question @returns {string} it in words */
  caption(question) {
    const where = question.where === null ? "" : conditionSql(question.where);
    const share = question.share === null ? "" : conditionSql(question.share);
    return questionText(question, share, where, this.units);
  }

  /** @returns {string} what a question leaves out that is asked of everyone */
  get leftOut() {
    return "its groups and its condition";
  }

  /** @param {Question} question @returns {Question} the same of everyone */
  ofEveryone(question) {
    return { ...question, by: [], where: null };
  }

  /** @param {Question} question @returns {(import("./conditions.js").Condition | null)[]} all conditions in it */
  conditionsOf({ where, share }) {
    return [where, share];
  }
}

/**
 * @param {Described} column
 * @param {number} number to compare it with, if it has numbers
 * @returns {string} an example of a condition
 */
export function exampleOf({ name, type }, number) {
  return isNumber(type) ? `${identifier(name)} >= ${number}` : `${identifier(name)} IS NOT NULL`;
}

/**
 * @param {string[]} keys
 * @param {string} call
 * @param {string} source the table, or tables
 * @param {string} where empty without a condition
 * @returns {string}
 */
export function selectSql(keys, call, source, where) {
  const clauses = [`SELECT ${[...keys, call].join(", ")} FROM ${source}`];
  clauses.push(...(where ? [`WHERE ${where}`] : []), ...(keys.length ? [`GROUP BY ${keys.join(", ")}`] : []));
  return clauses.join(" ");
}

/** @type {Map<Packed["shows"], typeof Controls>} */
const CONTROLS = new Map();

/** @param {Packed["shows"]} shows @param {typeof Controls} kind */
export function registerControls(shows, kind) {
  CONTROLS.set(shows, kind);
}

/** @param {Packed} packed @param {string} units @returns {Controls} those of the page of a release */
export const controlsOf = (packed, units) => new (CONTROLS.get(packed.shows) ?? Controls)(packed, units);
