/** A subset of SQL: one aggregate, by columns, over rows with a condition. */

import { allOf, anyOf, isNull, not, test } from "./conditions.js";
import { distance } from "./nearest.js";
import { HIDDEN, Mistake, Refusal } from "./scales.js";

/** @typedef {import("./asking.js").Question} Question */
/** @typedef {import("./conditions.js").Comparison} Comparison */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./conditions.js").Test} Test */
/** @typedef {import("./scales.js").Literal} Literal */
/** @typedef {import("./tables.js").Packed} Packed */

/** @typedef {Pick<Question, "aggregate" | "column" | "share"> & {distinct?: boolean, each?: boolean}} Asked */

/**
 * The queries of a page: how one is read, and how a question is written.
 * @typedef {object} Language
 * @property {(sql: string, packed: Packed) => Question} read
 * @property {(question: Question, packed: Packed) => string} write
 */

/** @typedef {{kind: "word" | "name" | "text" | "number" | "symbol" | "end", text: string}} Token */

const MOST_CHARACTERS = 10_000;
const MOST_DEPTH = 100;
const TOKEN =
  /\s*(?:([A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)|"((?:[^"]|"")+)"|'((?:[^']|'')*)'|(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,3})?|\.\d+)|(<=|>=|<>|!=|[-+(),;*=<>./]))/uy;
/** @type {Token["kind"][]} */
const KINDS = ["word", "name", "text", "number", "symbol"];
const AGGREGATES = ["count", "sum", "avg", "min", "max", "median"];
const RESERVED = new Set(
  `all and any as asc between by case cast check column create cross current default desc distinct
  else end except exists false fetch filter for foreign from full group having in inner intersect
  into is join lateral left like limit natural not null offset on only or order outer over primary
  references right select some table then to true union unique user using values when where window
  with date timestamp interval time year month day hour minute second count sum avg min max`.split(/\s+/),
);

/**
 * Read a query of the subset.
 * @param {string} sql
 * @param {readonly string[]} columns of the release
 * @returns {Question}
 */
export function parse(sql, columns) {
  return new Parser(sql, columns).query();
}

/**
 * @param {string} text
 * @returns {Token[]}
 */
function tokensOf(text) {
  if (text.length > MOST_CHARACTERS) {
    throw new Refusal(`A query on this page has at most ${MOST_CHARACTERS} characters`);
  }
  if (HIDDEN.test(text)) {
    throw new Refusal("The query has characters that cannot be seen, which this page does not read");
  }
  /** @type {Token[]} */
  const tokens = [];
  let place = 0;
  while (text.slice(place).trim()) {
    TOKEN.lastIndex = place;
    const match = TOKEN.exec(text);
    if (!match) {
      throw new Mistake(`The query cannot be read from here on: ${text.slice(place).trim().slice(0, 20)}`);
    }
    const group = match.slice(1).findIndex((part) => part !== undefined);
    const piece = match[group + 1];
    const quote = { name: '"', text: "'" }[/** @type {string} */ (KINDS[group])];
    tokens.push({ kind: KINDS[group], text: quote ? piece.replaceAll(quote + quote, quote) : piece });
    place = TOKEN.lastIndex;
  }
  return [...tokens, { kind: "end", text: "the end" }];
}

/** Reads a query, token by token. */
export class Parser {
  /** @param {string} sql @param {readonly string[]} columns */
  constructor(sql, columns) {
    this.tokens = tokensOf(sql);
    /** @type {readonly string[]} */
    this.columns = columns;
    /** @type {number} */
    this.place = 0;
    this.depth = 0;
  }

  /** @returns {Token} */
  get next() {
    return this.tokens[this.place];
  }

  /** @param {number} place where reading goes on */
  goTo(place) {
    this.place = place;
  }

  /** @returns {boolean} */
  isAtEnd() {
    return this.next.kind === "end";
  }

  /** @param {string} text a keyword or a symbol @returns {boolean} whether it comes next, and is passed */
  takes(text) {
    const { kind, text: written } = this.next;
    const same = (kind === "word" || kind === "symbol") && written.toLowerCase() === text;
    this.place += Number(same);
    return same;
  }

  /** @param {string} text */
  expect(text) {
    if (!this.takes(text)) {
      throw new Mistake(`${text.toUpperCase()} is expected before ${this.next.text}`);
    }
  }

  /** @returns {Question} */
  query() {
    if (this.isAtEnd()) {
      throw new Mistake("Write a query, such as SELECT COUNT(*) FROM microdata");
    }
    this.expect("select");
    if (this.next.text === "*") {
      throw new Refusal("This page answers one aggregate, such as COUNT(*). The rows themselves are in the files");
    }
    const shown = this.list(() => this.item());
    this.expect("from");
    this.source();
    const where = this.takes("where") ? this.condition() : null;
    const by = this.takes("group") ? (this.expect("by"), this.list(() => this.column())) : [];
    const order = this.takes("order") ? (this.expect("by"), this.list(() => this.orderKey())) : [];
    this.takes(";");
    if (!this.isAtEnd()) {
      const known = RESERVED.has(this.next.text.toLowerCase());
      throw known
        ? new Refusal(`This page does not answer queries with ${this.next.text.toUpperCase()}`)
        : new Mistake(`${this.next.text} is not understood here. Join conditions by AND or OR`);
    }
    if (order.length && order.join("\0") !== by.join("\0")) {
      throw new Refusal("This page orders the lines of an answer by its GROUP BY");
    }
    return this.question(shown, by, where);
  }

  /** Pass the table that the query is about. */
  source() {
    if (!this.takes("microdata")) {
      throw new Refusal("A release has one table: write FROM microdata");
    }
  }

  /**
   * @param {(string | Asked)[]} shown
   * @param {string[]} by
   * @param {Condition | null} where
   * @returns {Question}
   */
  question(shown, by, where) {
    const aggregates = shown.flatMap((item) => (typeof item === "string" ? [] : [item]));
    const selected = shown.filter((item) => typeof item === "string");
    if (aggregates.length !== 1) {
      throw new Refusal("A query on this page has one aggregate, such as COUNT(*)");
    }
    const alone = selected.find((name) => !by.includes(/** @type {string} */ (name)));
    if (alone !== undefined) {
      throw new Refusal(`${String(alone)} is selected, but not in GROUP BY`);
    }
    return { ...aggregates[0], by: [...new Set(by)], where };
  }

  /**
   * @template T
   * @param {() => T} read
   * @returns {T[]}
   */
  list(read) {
    const items = [read()];
    while (this.takes(",")) {
      items.push(read());
    }
    return items;
  }

  /** @returns {string | Asked} */
  item() {
    const { kind, text } = this.next;
    const after = this.tokens[this.place + 1];
    const called = kind === "word" && after.kind === "symbol" && after.text === "(";
    const item = called ? this.call(text.toLowerCase()) : this.column();
    if (this.takes("as")) {
      this.alias();
    }
    return item;
  }

  /** Pass the name of an answer's column, which this page does not show. */
  alias() {
    if (this.next.kind !== "word" && this.next.kind !== "name") {
      throw new Mistake(`A name is expected before ${this.next.text}`);
    }
    this.place += 1;
  }

  /** @param {string} name @returns {Asked} */
  call(name) {
    if (!AGGREGATES.includes(name)) {
      throw new Refusal(`This page answers ${AGGREGATES.join(", ").toUpperCase()}, but not ${name.toUpperCase()}`);
    }
    const aggregate = /** @type {import("./bounds.js").Aggregate} */ (name);
    this.place += 2;
    if (aggregate === "avg" && this.takes("case")) {
      return { aggregate: "share", column: null, share: this.caseOf() };
    }
    if (this.takes("distinct")) {
      throw new Refusal("This page does not count different values (DISTINCT)");
    }
    const column = aggregate === "count" && this.takes("*") ? null : this.column();
    this.expect(")");
    return { aggregate, column, share: null };
  }

  /** @returns {Condition} that of CASE WHEN … THEN 1 ELSE 0 END */
  caseOf() {
    this.expect("when");
    const condition = this.condition();
    for (const word of ["then", "1", "else", "0", "end"]) {
      if (this.next.text.toLowerCase() !== word) {
        throw new Mistake("A share is AVG(CASE WHEN … THEN 1 ELSE 0 END)");
      }
      this.place += 1;
    }
    this.expect(")");
    return condition;
  }

  /** @returns {string} a column by which the answer may be ordered */
  orderKey() {
    const start = this.place;
    try {
      return this.column();
    } catch {
      this.place = start;
      throw new Refusal("On this page ORDER BY takes the columns of GROUP BY alone");
    }
  }

  /** @returns {string} the exact name of a column */
  column() {
    const { kind, text } = this.next;
    if (kind !== "word" && kind !== "name") {
      throw new Mistake(kind === "text" ? `Write the column "${text}" in double quotes` : `A column is expected before ${text}`);
    }
    this.place += 1;
    const column = this.named(text) ?? (kind === "word" ? this.hyphened(text) : null);
    if (column === null) {
      const [nearest] = [...this.columns].sort((a, b) => distance(a, text) - distance(b, text));
      throw new Mistake(`There is no column ${text}. Did you mean ${nearest}? Columns: ${this.columns.join(", ")}`);
    }
    return column;
  }

  /** @param {string} text @returns {string | null} the only column of this name, in any case of letters */
  named(text) {
    const alike = this.columns.filter((name) => name.toLowerCase() === text.toLowerCase());
    return this.columns.includes(text) ? text : alike.length === 1 ? alike[0] : null;
  }

  /**
   * Read a name with hyphens that is not in quotes, such as capital-loss.
   * @param {string} text its first word
   * @returns {string | null}
   */
  hyphened(text) {
    let [name, place] = [text, this.place];
    while (this.tokens[place].text === "-" && this.tokens[place + 1].kind === "word") {
      name += `-${this.tokens[place + 1].text}`;
      place += 2;
      if (this.named(name) !== null) {
        this.place = place;
        return this.named(name);
      }
    }
    return null;
  }

  /** @returns {Condition} */
  condition() {
    this.depth += 1;
    if (this.depth > MOST_DEPTH) {
      throw new Refusal("The condition is nested too deeply");
    }
    const parts = [this.conjunction()];
    while (this.takes("or")) {
      parts.push(this.conjunction());
    }
    this.depth -= 1;
    return anyOf(parts);
  }

  /** @returns {Condition} */
  conjunction() {
    const parts = [this.negation()];
    while (this.takes("and")) {
      parts.push(this.negation());
    }
    return allOf(parts);
  }

  /** @returns {Condition} */
  negation() {
    let times = 0;
    while (this.takes("not")) {
      times += 1;
    }
    /** @type {Condition} */
    let condition;
    if (this.takes("(")) {
      condition = this.condition();
      this.expect(")");
    } else {
      condition = this.predicate();
    }
    return times % 2 ? not(condition) : condition;
  }

  /** @returns {Condition} */
  predicate() {
    if (this.isLiteral()) {
      const literal = this.literal();
      const comparison = this.comparison();
      return test(this.column(), TURNED[comparison], literal);
    }
    const column = this.column();
    if (this.takes("is")) {
      const negated = this.takes("not");
      this.expect("null");
      return negated ? not(isNull(column)) : isNull(column);
    }
    const negated = this.takes("not");
    if (this.takes("between")) {
      const low = this.literal();
      this.expect("and");
      /** @type {Condition} */
      const range = { op: "and", parts: [test(column, ">=", low), test(column, "<=", this.literal())], one: true };
      return negated ? not(range) : range;
    }
    if (this.takes("in")) {
      this.expect("(");
      const parts = this.list(() => test(column, "=", this.literal()));
      this.expect(")");
      /** @type {Condition} */
      const listed = { op: "or", parts, one: true };
      return negated ? not(listed) : listed;
    }
    if (negated) {
      throw new Mistake("NOT is expected before BETWEEN or IN");
    }
    if (!isComparison(this.next)) {
      return test(column, "=", { kind: "truth", text: "true" });
    }
    const comparison = this.comparison();
    return test(column, comparison, this.literal());
  }

  /** @returns {Comparison} */
  comparison() {
    const token = this.next;
    if (!isComparison(token)) {
      throw new Mistake(`=, <>, <, <=, > or >= is expected before ${token.text}`);
    }
    this.place += 1;
    return /** @type {Comparison} */ (token.text === "!=" ? "<>" : token.text);
  }

  /** @returns {boolean} */
  isLiteral() {
    const { kind, text } = this.next;
    const after = this.tokens[this.place + 1];
    const typed = kind === "word" && /^(date|timestamp)$/i.test(text) && after.kind === "text";
    const truth = kind === "word" && /^(true|false)$/i.test(text);
    return kind === "text" || kind === "number" || typed || truth || (kind === "symbol" && "+-".includes(text));
  }

  /** @returns {Literal} */
  literal() {
    if (!this.isLiteral()) {
      const { kind, text } = this.next;
      throw new Mistake(
        kind === "word" || kind === "name"
          ? `Write a text in single quotes: '${text}'`
          : `A value is expected before ${text}, such as 30 or 'Paris'`,
      );
    }
    const { kind, text } = this.next;
    this.place += 1;
    if (kind === "text") {
      return { kind: "text", text };
    }
    if (kind === "number") {
      return { kind: "number", text };
    }
    if (kind === "word" && /^(true|false)$/i.test(text)) {
      return { kind: "truth", text: text.toLowerCase() };
    }
    if (kind === "word") {
      return { kind: text.toLowerCase() === "date" ? "date" : "timestamp", text: this.literal().text };
    }
    const number = this.next;
    if (number.kind !== "number") {
      throw new Mistake(`A number is expected before ${number.text}`);
    }
    this.place += 1;
    return { kind: "number", text: text === "-" ? `-${number.text}` : number.text };
  }
}

/** @param {Token} token */
const isComparison = ({ kind, text }) => kind === "symbol" && /^(<=|>=|<>|!=|=|<|>)$/.test(text);

/** @type {Record<Comparison, Comparison>} */
const TURNED = { "=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=" };

/** @param {string} name @returns {string} a column as a query writes it */
export function identifier(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !RESERVED.has(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** @param {Literal} literal @returns {string} */
function constant({ kind, text }) {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  switch (kind) {
    case "text":
      return quoted;
    case "date":
    case "timestamp":
      return `${kind.toUpperCase()} ${quoted}`;
    default:
      return text.toUpperCase();
  }
}

/**
 * Write a condition in SQL.
 * @param {Condition} condition
 * @param {(test: Test, negated: boolean) => string | null} [special] writes some tests in another way
 * @returns {string}
 */
export function conditionSql(condition, special = () => null) {
  const [leaf, negated] = condition.op === "not" ? [condition.part, true] : [condition, false];
  const written = leaf.op === "test" ? special(leaf, negated) : null;
  if (written !== null) {
    return written;
  }
  if (condition.op === "test") {
    const column = identifier(condition.column);
    return condition.literal ? `${column} ${condition.test} ${constant(condition.literal)}` : `${column} IS NULL`;
  }
  if (condition.op === "not") {
    const { part } = condition;
    if (part.op === "test" && part.test === "null") {
      return `${identifier(part.column)} IS NOT NULL`;
    }
    return `NOT (${conditionSql(part, special)})`;
  }
  if (!("parts" in condition)) {
    throw new TypeError(condition.op);
  }
  if (condition.one) {
    const tests = /** @type {import("./conditions.js").Test[]} */ (condition.parts);
    const listed = tests.map(({ literal }) => constant(/** @type {Literal} */ (literal)));
    const column = identifier(tests[0].column);
    return condition.op === "or" ? `${column} IN (${listed.join(", ")})` : `${column} BETWEEN ${listed.join(" AND ")}`;
  }
  const parts = condition.parts.map((part) =>
    "parts" in part && !part.one ? `(${conditionSql(part, special)})` : conditionSql(part, special),
  );
  return parts.join(condition.op === "and" ? " AND " : " OR ");
}

/**
 * Write a question as a query.
 * @param {Question} question
 * @returns {string}
 */
export function querySql({ aggregate, column, share, by, where }) {
  const call =
    share !== null
      ? `AVG(CASE WHEN ${conditionSql(share)} THEN 1 ELSE 0 END)`
      : `${aggregate.toUpperCase()}(${column === null ? "*" : identifier(column)})`;
  const keys = by.map(identifier);
  const clauses = [`SELECT ${[...keys, call].join(", ")}`, "FROM microdata"];
  if (where !== null) {
    clauses.push(`WHERE ${conditionSql(where)}`);
  }
  if (keys.length) {
    clauses.push(`GROUP BY ${keys.join(", ")}`);
  }
  return clauses.join(" ");
}

/** @type {Map<Packed["shows"], Language>} */
const LANGUAGES = new Map();

/** @type {Language} */
const ONE_TABLE = {
  read: (sql, { columns }) => parse(sql, columns.map(({ name }) => name)),
  write: (question) => querySql(question),
};

/** @param {Packed["shows"]} shows @param {Language} language */
export function registerLanguage(shows, language) {
  LANGUAGES.set(shows, language);
}

/** @param {Packed} packed @returns {Language} that of the page of a release */
export const languageOf = ({ shows }) => LANGUAGES.get(shows) ?? ONE_TABLE;
