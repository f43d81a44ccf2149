/** The controls for questions about two tables: what is counted, and conditions on people and on their rows. */

import { both, columnsIn, flatten } from "./conditions.js";
import { Controls, exampleOf, selectSql } from "./controls.js";
import { conditionField, make } from "./elements.js";
import { conditionSql, identifier } from "./language.js";
import { isNumber } from "./scales.js";
import { isMark, markNumber, tablesConditionSql } from "./twotables.js";
import { NAMES, visible } from "./words.js";

/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./asking.js").Scope} Scope */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").TwoTables} TwoTables */

const OF_PEOPLE = ["people", "having", "without"];
const OF_NUMBERS = ["avg", "sum", "each"];

/** @typedef {{people: Condition[], related: Condition[], mark: {place: number, negated: boolean} | null}} Split */

export class TablesControls extends Controls {
  /** @param {Packed} packed @param {string} units */
  constructor(packed, units) {
    super(packed, units);
    this.tables = /** @type {TwoTables} */ (packed.tables);
    const { people, related, columns } = this.tables;
    const ofRows = packed.columns.filter(({ name }) => columns.includes(name));
    const number = ofRows.find(({ type }) => isNumber(type));
    const measured = ofRows.filter(({ type }) => isNumber(type)).map(({ name }) => make("option", { value: name }, visible(name)));
    this.column.select.replaceChildren(...measured);
    const ofPeople = packed.columns.filter(({ name }) => !columns.includes(name));
    this.where = conditionField(`${people} where`, ofPeople.length ? exampleOf(ofPeople[0], 30) : "");
    this.rows = conditionField(`${related} where`, exampleOf(number ?? ofRows[0], 1000));
    this.aggregate.label.classList.add("wide");
    const attributes = { type: "number", min: "1", max: "999999999", value: "1" };
    this.times = /** @type {HTMLInputElement} */ (make("input", attributes));
    this.least = make("label", {}, make("span", {}, `at least so many ${related}`), this.times);
  }

  /** @returns {Record<string, string>} */
  aggregates() {
    const { people, related, columns } = /** @type {TwoTables} */ (this.packed.tables);
    const some = this.packed.columns.some(({ name, type }) => columns.includes(name) && isNumber(type));
    const numbers = { avg: "average", sum: "sum", each: "sum per person with any" };
    return {
      people: `number of ${people}`,
      having: `number of ${people} with ${related}`,
      without: `number of ${people} without ${related}`,
      rows: `number of ${related}`,
      rate: `${related} per person with any`,
      ...(some ? numbers : {}),
    };
  }

  /** @returns {HTMLElement[]} */
  get labels() {
    return [
      this.aggregate.label, this.column.label, this.least, this.rows.label, this.by.label, this.also.label, this.where.label,
    ];
  }

  /** Show what the chosen aggregate needs; people are not grouped by columns of their rows. */
  offer() {
    const aggregate = this.aggregate.select.value;
    this.column.label.hidden = !OF_NUMBERS.includes(aggregate);
    this.rows.label.hidden = aggregate === "people";
    this.least.hidden = aggregate !== "having" && aggregate !== "without";
    const offered = this.packed.columns.filter(
      ({ name }) => !OF_PEOPLE.includes(aggregate) || !this.tables.columns.includes(name),
    );
    for (const { select } of [this.by, this.also]) {
      const chosen = select.value;
      const options = ["", ...offered.map(({ name }) => name)];
      select.replaceChildren(...options.map((name) => make("option", { value: name }, name ? visible(name) : "–")));
      select.value = options.includes(chosen) ? chosen : "";
    }
  }

  /** @returns {string} */
  sql() {
    const aggregate = this.aggregate.select.value;
    const [people, related, key] = [this.tables.people, this.tables.related, this.tables.key].map(identifier);
    const [ofPeople, ofRows] = [this.where, this.rows].map(({ field }) => field.value.trim());
    if (OF_PEOPLE.includes(aggregate)) {
      const has = aggregate === "people" ? "" : this.personHas(ofRows, aggregate === "without");
      return selectSql(this.keys, "COUNT(*)", people, joinedByAnd([ofPeople, has]));
    }
    const column = identifier(this.column.select.value);
    const calls = {
      rows: "COUNT(*)",
      rate: `COUNT(*) / COUNT(DISTINCT ${key})`,
      avg: `AVG(${column})`,
      sum: `SUM(${column})`,
      each: `SUM(${column}) / COUNT(DISTINCT ${key})`,
    };
    const chosen = [this.by.select.value, this.also.select.value].filter(Boolean);
    const alone = !ofPeople && chosen.every((name) => this.tables.columns.includes(name));
    const source = alone ? related : `${people} JOIN ${related} USING (${key})`;
    return selectSql(this.keys, calls[/** @type {keyof typeof calls} */ (aggregate)], source, joinedByAnd([ofPeople, ofRows]));
  }

  /** @param {string} condition on rows @param {boolean} negated @returns {string} that a person has such rows, or not */
  personHas(condition, negated) {
    const [people, related, key] = [this.tables.people, this.tables.related, this.tables.key].map(identifier);
    const [not, times] = [negated ? "NOT " : "", Number(this.times.value) || 1];
    if (times > 1) {
      return `${key} ${not}IN (SELECT ${key} FROM ${related}${condition ? ` WHERE ${condition}` : ""} GROUP BY ${key} HAVING COUNT(*) >= ${times})`;
    }
    return `${not}EXISTS (SELECT 1 FROM ${related} WHERE ${joinedByAnd([`${related}.${key} = ${people}.${key}`, condition])})`;
  }

  /** @param {Question} question */
  adopt(question) {
    const { aggregate, column, by, share } = question;
    const { counted, distinct, each, marks } = /** @type {Scope} */ (question.scope);
    const { people, related, mark } = this.split(question);
    /** @param {Condition[]} parts */
    const sqlOf = (parts) => (parts.length ? tablesConditionSql(this.tables, marks, /** @type {Condition} */ (both(...parts))) : "");
    const ofRows = each ? (column === null ? "rate" : "each") : distinct ? "having" : column === null ? "rows" : aggregate;
    const ofPeople = mark === null ? "people" : mark.negated ? "without" : "having";
    const chosen = counted === "rows" ? ofRows : ofPeople;
    const { select } = this.aggregate;
    if (share === null && [...select.options].some(({ value }) => value === chosen)) {
      select.value = chosen;
    }
    this.column.select.value = column ?? this.column.select.value;
    this.offer();
    this.adoptKeys(by);
    this.where.field.value = sqlOf(people);
    const has = mark === null ? null : marks[mark.place];
    this.rows.field.value = has === null ? sqlOf(related) : has.condition === null ? "" : conditionSql(has.condition);
    this.times.value = String(has?.times ?? 1);
  }

  /** @param {Question} question @returns {Split} its condition, by what it is about: at most one on people's rows */
  split({ where }) {
    /** @type {Split} */
    const split = { people: [], related: [], mark: null };
    for (const part of where === null ? [] : flatten(where, "and")) {
      const negated = part.op === "not";
      const test = part.op === "not" ? part.part : part;
      const columns = [...columnsIn(part)];
      if (test.op === "test" && isMark(test.column) && split.mark === null) {
        split.mark = { place: markNumber(test.column), negated };
      } else {
        split[columns.every((name) => this.tables.columns.includes(name)) ? "related" : "people"].push(part);
      }
    }
    return split;
  }

  /** @param {Described} column @returns {HTMLInputElement} */
  placeOf({ name }) {
    const ofRows = this.tables.columns.includes(name);
    if (ofRows && this.aggregate.select.value === "people") {
      this.aggregate.select.value = "having";
    }
    return (ofRows ? this.rows : this.where).field;
  }

  /** @param {Question} question @returns {string} */
  caption(question) {
    const { marks } = /** @type {Scope} */ (question.scope);
    const { people, related, mark } = this.split(question);
    const ofRows = mark === null ? both(...related) : marks[mark.place].condition;
    const named = ofRows === null ? visible(this.tables.related) : `${visible(this.tables.related)} where ${visible(conditionSql(ofRows))}`;
    const which = mark === null ? "" : ` ${hasText(marks[mark.place].times, mark.negated)} ${named}`;
    const comma = ofRows === null ? "" : ",";
    const by = question.by.length ? `${comma} by ${question.by.map(visible).join(" and ")}` : "";
    const where = people.length ? tablesConditionSql(this.tables, marks, /** @type {Condition} */ (both(...people))) : "";
    const among = where ? `${by || which || ofRows !== null ? "; " : " "}${visible(this.tables.people)} where ${visible(where)}` : "";
    return `${this.counted(question, named)}${which}${by}${among}`;
  }

  /** @param {Question} question @param {string} rows in words @returns {string} what is computed */
  counted({ aggregate, column, share, scope }, rows) {
    const { counted, distinct, each, marks } = /** @type {Scope} */ (scope);
    const { people } = this.tables;
    const ofRows = counted === "rows";
    const units = ofRows ? rows : visible(people);
    if (share !== null) {
      return `Share of ${units} with ${visible(tablesConditionSql(this.tables, marks, share))}`;
    }
    const what = column === null ? `Number of ${units}` : `${NAMES[aggregate]} of ${visible(column)} of ${units}`;
    const owners = `${visible(people)} with ${rows}`;
    return distinct ? `Number of ${owners}` : each ? `${what}, per person with any` : what;
  }

  /** @returns {string} */
  get leftOut() {
    return `its groups and its conditions on ${visible(this.tables.people)}`;
  }

  /** @param {Question} question @returns {Question} */
  ofEveryone(question) {
    const { related } = this.split(question);
    const marked = question.where === null ? [] : flatten(question.where, "and").filter((part) => [...columnsIn(part)].every(isMark));
    return { ...question, by: [], where: both(...related, ...marked) };
  }

  /** @param {Question} question */
  conditionsOf({ where, share, scope }) {
    return [where, share, .../** @type {Scope} */ (scope).marks.map(({ condition }) => condition)];
  }
}

/** @param {number} times @param {boolean} negated @returns {string} */
function hasText(times, negated) {
  if (times === 1) {
    return negated ? "without" : "with";
  }
  return negated ? `with fewer than ${times}` : `with at least ${times}`;
}

/** @param {string[]} conditions as they are written, some perhaps empty @returns {string} */
function joinedByAnd(conditions) {
  const some = conditions.filter(Boolean);
  return some.map((text) => (some.length > 1 && /\bor\b/i.test(text) && !/^(NOT )?EXISTS /.test(text) ? `(${text})` : text)).join(" AND ");
}
