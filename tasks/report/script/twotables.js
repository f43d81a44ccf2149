/** A subset of SQL over two related tables, which a key joins that no published table has. */

import { allOf, columnsIn, flatten, test } from "./conditions.js";
import { conditionSql, identifier, Parser } from "./language.js";
import { Mistake, Refusal } from "./scales.js";

/** @typedef {import("./asking.js").Mark} Mark */
/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./asking.js").Scope} Scope */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./language.js").Asked} Asked */
/** @typedef {import("./language.js").Language} Language */
/** @typedef {import("./tables.js").Described} Described */
/** @typedef {import("./tables.js").Packed} Packed */
/** @typedef {import("./tables.js").TwoTables} TwoTables */

const MARK = "\u0004"; // begins the name of a column that stands for a condition on people's rows

/** @param {string} column @returns {boolean} whether it stands for a condition on people's rows */
export const isMark = (column) => column.startsWith(MARK);

/** @param {string} column a mark @returns {number} its place among all marks of a question */
export const markNumber = (column) => Number(column.slice(MARK.length));

/** @param {number} place @returns {Described} the column of truth values that stands for a mark */
export const markOf = (place) => ({ name: `${MARK}${place}`, type: "boolean", scale: 0, role: "sensitive", nulls: false });

/** Reads a query over two tables, as the original ones would answer it. */
class TablesParser extends Parser {
  /** @param {string} sql @param {Packed} packed */
  constructor(sql, packed) {
    super(sql, []);
    this.tables = /** @type {TwoTables} */ (packed.tables);
    /** @type {readonly string[]} */
    this.columns = packed.columns.map(({ name }) => name);
    /** @type {readonly string[]} */
    this.all = this.columns;
    /** @type {Scope["from"]} */
    this.from = [];
    /** @type {Mark[]} */
    this.marks = [];
    /** @type {[("people" | "related"), string][]} */
    this.qualified = [];
    this.isInner = false;
  }

  /** @param {string} name @returns {boolean} whether it comes next, and is passed */
  takesName(name) {
    const { kind, text } = this.next;
    const same = (kind === "word" || kind === "name") && text.toLowerCase() === name.toLowerCase();
    this.goTo(this.place + Number(same));
    return same;
  }

  /** @returns {"people" | "related" | null} the table whose name comes next, which is passed */
  table() {
    return this.takesName(this.tables.people) ? "people" : this.takesName(this.tables.related) ? "related" : null;
  }

  source() {
    const { people, related, key } = this.tables;
    const joined = `${identifier(people)} JOIN ${identifier(related)} USING (${identifier(key)})`;
    const first = this.table();
    if (first === null) {
      throw new Mistake(`There is no table ${this.next.text}. Write FROM ${identifier(people)}, FROM ${identifier(related)}, or FROM ${joined}`);
    }
    this.from = [first];
    if (this.takes("join")) {
      const second = this.table();
      const using = second !== null && second !== first && this.takes("using") && this.takes("(");
      if (!using || !this.takesName(key) || !this.takes(")")) {
        throw new Refusal(`This page joins the two tables in one way: ${joined}`);
      }
      this.from = ["people", "related"];
    }
    if (this.next.kind === "symbol" && this.next.text === ",") {
      throw new Refusal(`This page joins the two tables in one way: ${joined}`);
    }
  }

  /** @returns {string} */
  column() {
    const start = this.place;
    const table = this.table();
    const qualified = table !== null && this.takes(".");
    this.goTo(qualified ? this.place : start);
    if (this.takesName(this.tables.key)) {
      const key = identifier(this.tables.key);
      throw new Mistake(`${key} is in no published table. Count people by COUNT(DISTINCT ${key})`);
    }
    const column = super.column();
    if (qualified && table !== null) {
      this.qualified.push([table, column]);
    }
    return column;
  }

  /** @param {string} name @returns {Asked} */
  call(name) {
    const start = this.place;
    this.goTo(start + 2);
    const distinct = name === "count" && this.takes("distinct");
    /** @type {Asked} */
    let asked;
    if (name === "count" && this.takesKey()) {
      this.expect(")");
      asked = { aggregate: "count", column: null, share: null, distinct };
    } else {
      this.goTo(start);
      asked = super.call(name);
    }
    if (!this.takes("/")) {
      return asked;
    }
    const key = identifier(this.tables.key);
    const counts = asked.aggregate === "count" && asked.column === null && !asked.distinct;
    const takes = this.takes("count") && this.takes("(") && this.takes("distinct") && this.takesKey() && this.takes(")");
    if (!takes || !(counts || asked.aggregate === "sum")) {
      throw new Refusal(`This page divides COUNT(*) or SUM by COUNT(DISTINCT ${key}), and nothing else`);
    }
    return { ...asked, each: true };
  }

  /** @returns {boolean} whether the key comes next, perhaps behind its table, and is passed */
  takesKey() {
    const start = this.place;
    if (this.table() !== null && !this.takes(".")) {
      this.goTo(start);
    }
    const takes = this.takesName(this.tables.key);
    this.goTo(takes ? this.place : start);
    return takes;
  }

  /** @returns {Condition} */
  predicate() {
    if (this.isInner) {
      return super.predicate();
    }
    if (this.takes("exists")) {
      return this.exists();
    }
    const start = this.place;
    const negated = this.takesKey() && this.takes("not");
    if (this.place > start && this.takes("in")) {
      const among = this.among();
      return negated ? { op: "not", part: among } : among;
    }
    this.goTo(start);
    return super.predicate();
  }

  /** @returns {Condition} that a person has a related row */
  exists() {
    this.expect("(");
    this.expect("select");
    if (this.next.text !== "1" && this.next.text !== "*") {
      throw new Refusal("On this page EXISTS begins with SELECT 1");
    }
    this.goTo(this.place + 1);
    this.related();
    this.expect("where");
    if (!this.takesLink()) {
      const [people, related, key] = [this.tables.people, this.tables.related, this.tables.key].map(identifier);
      throw new Mistake(`EXISTS begins with the condition that the rows belong to the person: WHERE ${related}.${key} = ${people}.${key} AND …`);
    }
    const parts = this.takes("and") ? this.inner(() => this.conjunctionOnly()) : [];
    this.expect(")");
    return this.mark({ times: 1, condition: parts.length ? allOf(parts) : null });
  }

  /** @returns {Condition[]} what AND joins, up to the end of a subquery */
  conjunctionOnly() {
    const parts = [this.negation()];
    while (this.takes("and")) {
      parts.push(this.negation());
    }
    if (this.next.text.toLowerCase() === "or") {
      throw new Mistake("Write what OR joins in parentheses");
    }
    return parts.flatMap((part) => flatten(part, "and"));
  }

  /** @returns {Condition} that a person is among those of a query of related rows */
  among() {
    this.expect("(");
    this.expect("select");
    this.requireKey();
    this.related();
    const condition = this.takes("where") ? this.inner(() => this.condition()) : null;
    let times = 1;
    if (this.takes("group")) {
      this.expect("by");
      this.requireKey();
      times = this.takes("having") ? this.least() : 1;
    }
    this.expect(")");
    return this.mark({ times, condition });
  }

  /** @returns {number} that of HAVING COUNT(*) >= a number */
  least() {
    for (const text of ["count", "(", "*", ")"]) {
      this.expect(text);
    }
    const over = this.takes(">");
    const { text } = this.tokens[this.place + Number(!over)];
    if ((!over && !this.takes(">=")) || !/^\d{1,9}$/.test(text)) {
      throw new Refusal("On this page HAVING takes COUNT(*) >= a whole number");
    }
    this.goTo(this.place + 1);
    return Math.max(Number(text) + Number(over), 1);
  }

  requireKey() {
    if (!this.takesKey()) {
      throw new Refusal(`This page reads a subquery that selects ${identifier(this.tables.key)}, and groups rows by it`);
    }
  }

  /** Pass FROM and the related table. */
  related() {
    this.expect("from");
    if (!this.takesName(this.tables.related)) {
      throw new Refusal(`A subquery on this page is about ${identifier(this.tables.related)}`);
    }
  }

  /** @returns {boolean} whether the condition comes next that a row belongs to the person; it is passed */
  takesLink() {
    const start = this.place;
    const tables = [this.keyOf(), this.takes("=") ? this.keyOf() : null];
    const linked = tables.includes("people") && tables.includes("related");
    this.goTo(linked ? this.place : start);
    return linked;
  }

  /** @returns {"people" | "related" | null} the table of a key that comes next, and is passed */
  keyOf() {
    const table = this.table();
    return table !== null && this.takes(".") && this.takesName(this.tables.key) ? table : null;
  }

  /**
   * @template T
   * @param {() => T} read what is about related rows alone
   * @returns {T}
   */
  inner(read) {
    this.isInner = true;
    this.columns = this.tables.columns;
    const result = read();
    this.isInner = false;
    this.columns = this.all;
    return result;
  }

  /** @param {Mark} mark @returns {Condition} that it is true */
  mark(mark) {
    const text = JSON.stringify(mark);
    let place = this.marks.findIndex((other) => JSON.stringify(other) === text);
    place = place < 0 ? this.marks.push(mark) - 1 : place;
    return test(markOf(place).name, "=", { kind: "truth", text: "true" });
  }

  /**
   * @param {(string | Asked)[]} shown
   * @param {string[]} by
   * @param {Condition | null} where
   * @returns {Question}
   */
  question(shown, by, where) {
    const { distinct = false, each = false, ...question } = { .../** @type {Question & Asked} */ (super.question(shown, by, where)) };
    const counted = this.from.includes("related") ? "rows" : "people";
    this.requireTables(question);
    if (counted === "rows" && this.marks.length) {
      throw new Mistake("Rows of people who are chosen by their other rows (EXISTS, IN) have no bounds");
    }
    if (counted === "people" && each) {
      const { people, related, key } = this.tables;
      throw new Mistake(`Write FROM ${identifier(people)} JOIN ${identifier(related)} USING (${identifier(key)})`);
    }
    return { ...question, scope: { counted, from: this.from, marks: this.marks, distinct: distinct && counted === "rows", each } };
  }

  /** @param {Question} question refuse columns of a table that it does not read */
  requireTables({ column, by, where, share }) {
    const { people, related, key, columns } = this.tables;
    const conditions = [where, share].flatMap((condition) => (condition === null ? [] : [...columnsIn(condition)]));
    for (const name of [...by, ...(column === null ? [] : [column]), ...conditions]) {
      const owner = columns.includes(name) ? "related" : "people";
      if (!isMark(name) && !this.from.includes(owner)) {
        throw new Mistake(
          `Column ${name} is in ${this.tables[owner]}. Write FROM ${identifier(people)} JOIN ${identifier(related)} USING (${identifier(key)})${owner === "related" ? ", or ask for people by EXISTS" : ""}`,
        );
      }
    }
    const wrong = this.qualified.find(([table, name]) => columns.includes(name) !== (table === "related"));
    if (wrong) {
      throw new Mistake(`Column ${wrong[1]} is in ${wrong[0] === "related" ? people : related}`);
    }
  }
}

/** @param {TwoTables} tables @param {Mark} mark @param {boolean} negated @returns {string} */
function markSql(tables, { times, condition }, negated) {
  const [people, related, key] = [tables.people, tables.related, tables.key].map(identifier);
  const not = negated ? "NOT " : "";
  if (times > 1) {
    const where = condition === null ? "" : ` WHERE ${conditionSql(condition)}`;
    return `${key} ${not}IN (SELECT ${key} FROM ${related}${where} GROUP BY ${key} HAVING COUNT(*) >= ${times})`;
  }
  const parts = condition === null ? [] : flatten(condition, "and");
  const rest = parts.map((part) => ` AND ${part.op === "or" && !part.one ? `(${conditionSql(part)})` : conditionSql(part)}`);
  return `${not}EXISTS (SELECT 1 FROM ${related} WHERE ${related}.${key} = ${people}.${key}${rest.join("")})`;
}

/**
 * @param {TwoTables} tables
 * @param {readonly Mark[]} marks
 * @param {Condition} condition in which columns stand for these
 * @returns {string}
 */
export const tablesConditionSql = (tables, marks, condition) =>
  conditionSql(condition, ({ column }, negated) =>
    isMark(column) ? markSql(tables, marks[markNumber(column)], negated) : null,
  );

/** @type {Language} */
export const TWO_TABLES = {
  read: (sql, packed) => new TablesParser(sql, packed).query(),
  write: ({ aggregate, column, share, by, where, scope }, packed) => {
    const tables = /** @type {TwoTables} */ (packed.tables);
    const { marks, from, distinct, each } = /** @type {Scope} */ (scope);
    const [people, related, key] = [tables.people, tables.related, tables.key].map(identifier);
    /** @param {Condition} condition */
    const sqlOf = (condition) => tablesConditionSql(tables, marks, condition);
    const counted = distinct ? `COUNT(DISTINCT ${key})` : `${aggregate.toUpperCase()}(${column === null ? "*" : identifier(column)})`;
    const call = share === null ? counted : `AVG(CASE WHEN ${sqlOf(share)} THEN 1 ELSE 0 END)`;
    const keys = by.map(identifier);
    const source = from.length > 1 ? `${people} JOIN ${related} USING (${key})` : from[0] === "people" ? people : related;
    const clauses = [`SELECT ${[...keys, `${call}${each ? ` / COUNT(DISTINCT ${key})` : ""}`].join(", ")}`, `FROM ${source}`];
    clauses.push(...(where === null ? [] : [`WHERE ${sqlOf(where)}`]), ...(keys.length ? [`GROUP BY ${keys.join(", ")}`] : []));
    return clauses.join(" ");
  },
};
