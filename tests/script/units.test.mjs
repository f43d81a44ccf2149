/** Units of the page's script, by Node's own test runner. */

import assert from "node:assert/strict";
import test from "node:test";
import { accuracyOf, medianOf, rangesOf } from "../../tasks/report/script/accuracy.js";
import { boundsOver, noneCounted } from "../../tasks/report/script/bounds.js";
import { hypergeometric, likelyCounts } from "../../tasks/report/script/counts.js";
import { inBins } from "../../tasks/report/script/covariates.js";
import { ceiling, compare, decimalsOf, floor, fraction, over, parseNumber, plus, written } from "../../tasks/report/script/fractions.js";
import { conditionSql, identifier, parse, querySql } from "../../tasks/report/script/language.js";
import { shapeOf } from "../../tasks/report/script/likely.js";
import { distance } from "../../tasks/report/script/nearest.js";
import { compareTexts, momentOf, momentText, Refusal, scaleOf } from "../../tasks/report/script/scales.js";
import { randomNumbers } from "../../tasks/report/script/random.js";
import { combined, unpack, unitsOf } from "../../tasks/report/script/tables.js";
import { peopleWith, sharedRows, totalOf } from "../../tasks/report/script/related.js";
import { TWO_TABLES } from "../../tasks/report/script/twotables.js";
import { measuredText, recordedIn, recordText } from "../../tasks/report/script/record.js";
import { accuracyText, boundsText, commandOf, likelyText, linkOf, queryIn, reasonsOf } from "../../tasks/report/script/words.js";

const COLUMNS = ["age", "sex", "capital-loss", "order", "day"];

test("fractions are exact, and reduced", () => {
  assert.deepEqual(plus(fraction(1, 6), fraction(1, 3)), fraction(1, 2));
  assert.deepEqual(over(fraction(-1), fraction(-3)), fraction(1, 3));
  assert.equal(compare(fraction(10n ** 30n, 3n), fraction(10n ** 30n + 1n, 3n)), -1);
  assert.deepEqual([floor(fraction(-1, 2)), ceiling(fraction(-1, 2))], [-1n, 0n]);
});

test("numbers are rounded outward", () => {
  const third = fraction(-1, 3);
  assert.equal(written(third, 2, "down"), "-0.34");
  assert.equal(written(third, 2, "up"), "-0.33");
  assert.equal(written(fraction(9198232, 47), 0, "down"), "195,707");
  assert.equal(decimalsOf([fraction(31, 2), fraction(1, 3)]), 2);
});

test("numbers are read as they are written", () => {
  assert.deepEqual(parseNumber("-12.50"), fraction(-25, 2));
  assert.deepEqual(parseNumber("1e-3"), fraction(1, 1000));
  assert.equal(parseNumber("12a"), null);
  assert.deepEqual(unitsOf(["0.1", "2.25", 3]), { units: [10n, 225n, 300n], digits: 2 });
});

test("codes are unpacked from any number of bits", () => {
  assert.deepEqual([...unpack("MQ==", 2, 3)], [1, 0, 3]);
  for (let bits = 1; bits <= 24; bits += 1) {
    const numbers = Array.from({ length: 50 }, (_, place) => (place * 7_654_321) % 2 ** bits);
    const bytes = new Uint8Array(Math.ceil((bits * 50) / 8));
    numbers.forEach((number, place) => {
      for (let bit = 0; bit < bits; bit += 1) {
        const at = place * bits + bit;
        bytes[at >> 3] |= ((number >> bit) & 1) << (at & 7);
      }
    });
    assert.deepEqual([...unpack(Buffer.from(bytes).toString("base64"), bits, 50)], numbers);
  }
});

test("texts are ordered by code points, and moments by time", () => {
  assert.ok(compareTexts("\uffff", "\u{1d4b3}") < 0);
  assert.equal(momentText(momentOf("1969-12-31 23:59:59.5")), "1969-12-31 23:59:59.500000");
  assert.equal(momentOf("2023-02-29"), null);
  const days = scaleOf({ name: "day", type: "date", scale: 0, role: "", nulls: false });
  assert.equal(days.value(days.whole("0004-02-29")), "0004-02-29");
});

test("the subset of SQL is read and written", () => {
  const queries = [
    "SELECT COUNT(*) FROM microdata",
    "SELECT sex, AVG(\"capital-loss\") FROM microdata WHERE age >= 30 AND (sex = 'a''b' OR \"order\" IS NULL) GROUP BY sex",
    "SELECT AVG(CASE WHEN NOT (age < 3 AND sex IS NOT NULL) THEN 1 ELSE 0 END) FROM microdata",
    "SELECT MAX(\"day\") FROM microdata WHERE \"day\" <= DATE '2024-05-31'",
  ];
  for (const query of queries) {
    assert.equal(querySql(parse(query, COLUMNS)), query);
  }
  const where = (text) => conditionSql(parse(`SELECT COUNT(*) FROM microdata WHERE ${text}`, COLUMNS).where);
  assert.equal(where("AGE not in (1, -2)"), "NOT (age IN (1, -2))");
  assert.equal(where("5 < age"), "age > 5");
  assert.equal(where("age BETWEEN 1 AND 2"), "age BETWEEN 1 AND 2");
  assert.equal(identifier('a"b'), '"a""b"');
});

test("anything else is refused, and never fails", () => {
  const refused = [
    "", "SELECT", "DROP TABLE microdata", "SELECT * FROM microdata", "SELECT age FROM microdata",
    "SELECT COUNT(*) FROM other", "SELECT COUNT(DISTINCT age) FROM microdata",
    "SELECT COUNT(*), COUNT(*) FROM microdata", "SELECT COUNT(*) FROM microdata LIMIT 3",
    "SELECT COUNT(*) AS", "SELECT COUNT(*) FROM microdata WHERE sex = 'a\u001b[201~'",
    "SELECT SUM(nobody) FROM microdata", "SELECT COUNT(*) FROM microdata WHERE age = sex",
    `SELECT COUNT(*) FROM microdata WHERE ${"(".repeat(5000)}`, "x".repeat(20_000), "'",
  ];
  for (const query of refused) {
    assert.throws(() => parse(query, COLUMNS), Refusal, query.slice(0, 40));
  }
});

test("hostile texts are read or refused", () => {
  const pieces = ["SELECT ", "COUNT(*)", " FROM microdata", " WHERE ", "age", "'", "\"", "(", ")", " AND ", " NOT ", "<script>", "\0", "\u202e", "%", "1e999", "-", ",", "--", "/*", "\ud800", "CASE WHEN "];
  let state = 49;
  const next = (most) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % most;
  };
  for (let number = 0; number < 20_000; number += 1) {
    const text = Array.from({ length: 1 + next(12) }, () => pieces[next(pieces.length)]).join("");
    try {
      parse(queryIn(`#ask=${text}`) ?? text, COLUMNS);
    } catch (error) {
      assert.ok(error instanceof Refusal, `${JSON.stringify(text)}: ${error}`);
    }
  }
});

test("questions survive the page's address", () => {
  const sql = "SELECT COUNT(*) FROM microdata WHERE sex = 'é#%&'";
  const link = linkOf("file:///a/index.html#verify", sql);
  assert.equal(queryIn(link.slice(link.indexOf("#"))), sql);
  assert.equal(queryIn("#verify"), null);
  assert.equal(queryIn("#ask=%"), null);
  assert.equal(commandOf("it's"), `sfumato query . 'it'"'"'s'`);
});

test("bounds are told in words", () => {
  const bounds = (low, high) => ({ lower: low, upper: high, estimate: null, mayBeEmpty: false });
  assert.equal(boundsText(bounds(fraction(181), fraction(29835)), 0), "181 to 29,835");
  assert.equal(accuracyText(bounds(fraction(181), fraction(29835))), "known within a factor of 165");
  assert.equal(accuracyText(bounds(fraction(95), fraction(105))), "±5 %");
  assert.equal(accuracyText(bounds(fraction(0), fraction(5))), "too wide to use");
  assert.equal(accuracyText(bounds(fraction(3), fraction(3))), "exact");
});

test("a mean takes the best of the values that may count", () => {
  const domain = { type: "integer", values: [1, 5, 9], units: [1n, 5n, 9n], digits: 0 };
  const counted = noneCounted(3);
  counted.lowSure[1] = counted.highSure[1] = 1;
  counted.lowAll.set([1, 1, 1]);
  counted.highAll.set([1, 1, 1]);
  const found = boundsOver("avg", domain, counted);
  assert.deepEqual([found.lower, found.upper], [fraction(3), fraction(7)]);
});

test("the record of a line is read with care", () => {
  const record = {
    current: "0002",
    versions: {
      "0001": { status: "published", time: "2026-11-29T06:11:20+00:00", accuracy: [{ workload: "avg", level: 5, median: 0.2 }, 3] },
      "0002": { status: "withdrawn", time: "2026-12-01T00:00:00+00:00" },
    },
  };
  const first = recordedIn(record, "/line/0001/index.html");
  assert.equal(recordText(first), "Version 0001 of 2, published on 2026-11-29, is not the current one: that is 0002.");
  assert.deepEqual(first.accuracy.map(measuredText), ["avg (5): ±10 %"]);
  assert.match(recordText(recordedIn(record, "/line/0002/")), /was withdrawn/);
  for (const hostile of [null, 3, [], {}, { versions: [] }, { versions: { "0001": 3 } }]) {
    assert.equal(recordedIn(hostile, "/line/0001/index.html"), null);
  }
  assert.equal(recordedIn(record, "/line/__proto__/index.html"), null);
  const odd = { versions: { "0001": { status: "withdrawn", time: { toString: 1 }, accuracy: [{ workload: "w", level: { toString: 1 }, median: 1 }] } } };
  assert.match(recordText(recordedIn(odd, "/line/0001/index.html")), /was withdrawn/);
  assert.deepEqual(recordedIn(odd, "/line/0001/index.html").accuracy, []);
});

test("ranges of one length are spread over all values", () => {
  assert.deepEqual(rangesOf(0n, 9n, 0.8), [[0n, 7n], [1n, 8n], [2n, 9n]]);
  assert.equal(rangesOf(0n, 99n, 0.05).length, 8);
  assert.deepEqual(rangesOf(0n, 99n, 0.05)[7], [95n, 99n]);
  assert.deepEqual(rangesOf(5n, 5n, 0.05), [[5n, 5n]]);
  assert.equal(medianOf([3, 1, 2, 4]), 2.5);
});

test("accuracy is half the width of bounds, relative to their middle", () => {
  const bounds = (low, high) => ({ lower: low, upper: high, estimate: null, mayBeEmpty: false });
  assert.equal(accuracyOf(bounds(fraction(95), fraction(105))), 0.05);
  assert.equal(accuracyOf(bounds(fraction(0), fraction(0))), 0);
  assert.equal(accuracyOf(bounds(fraction(-5), fraction(5))), 1);
  assert.equal(accuracyOf(bounds(null, null)), null);
});

test("the nearest of some texts is found", () => {
  const nearest = (text) => ["Male", "Female"].sort((a, b) => distance(a, text) - distance(b, text))[0];
  assert.deepEqual([nearest("Mal"), nearest("male"), nearest("femal")], ["Male", "Male", "Female"]);
  assert.equal(distance("", "abc"), 3);
});

test("mistakes say what to write", () => {
  const said = (query, pattern) => assert.throws(() => parse(query, COLUMNS), pattern);
  said("SELECT COUNT(*) FROM microdata WHERE sexx = 'a'", /no column sexx. Did you mean sex/);
  said("SELECT COUNT(*) FROM microdata WHERE sex = Male", /single quotes: 'Male'/);
  said("SELECT COUNT(*) FROM microdata WHERE age > 3 und", /und is not understood here/);
  said("SELECT AVG('age') FROM microdata", /"age" in double quotes/);
  said("", /Write a query/);
  said("SELECT * FROM microdata", /one aggregate/);
  said("SELECT sex, AVG(age) FROM microdata GROUP BY sex ORDER BY mean", /ORDER BY takes/);
  const question = parse("SELECT AVG(capital-loss) FROM microdata WHERE capital-loss > 3", COLUMNS);
  assert.equal(question.column, "capital-loss");
});

test("a count over shuffled groups has the hypergeometric distribution", () => {
  const chances = hypergeometric({ size: 4, matching: 2, selected: 2 });
  chances.forEach((chance, count) => assert.ok(Math.abs(chance - [1 / 6, 2 / 3, 1 / 6][count]) < 1e-12));
  const groups = (number, size, matching, selected) => ({
    size: new Float64Array(number).fill(size),
    matching: new Int32Array(number).fill(matching),
    selected: new Int32Array(number).fill(selected),
  });
  assert.deepEqual(likelyCounts(groups(1, 4, 4, 3)), [3, 3]);
  assert.deepEqual(likelyCounts(groups(100, 2, 1, 1)), [40, 60]);
  const [low, high] = likelyCounts(groups(10_000, 2, 1, 1));
  assert.ok(Math.abs(low - (5000 - 50 * 1.96)) < 0.01 && Math.abs(high - (5000 + 50 * 1.96)) < 0.01);
});

test("combinations are numbered as they come", () => {
  const columns = [
    { values: ["a", "b"], codes: Int32Array.of(1, 0, 1, 2, 1) },
    { values: Array.from({ length: 3_000_000 }, (_, code) => code), codes: Int32Array.of(7, 7, 7, 9, 3_000_000) },
  ];
  const selected = Uint8Array.of(1, 0, 1, 1, 1);
  for (const some of [columns, [...columns].reverse()]) {
    const { place, first } = combined(some, selected);
    assert.deepEqual([[...place], [...first]], [[0, -1, 0, 1, 2], [0, 3, 4]]);
  }
  assert.deepEqual(combined([], Uint8Array.of(0, 1)).first, [1]);
  assert.deepEqual(combined([], Uint8Array.of(0, 0)).first, []);
});

test("columns are in at most twelve bins", () => {
  const codes = Int32Array.from({ length: 40 }, (_, row) => (row < 15 ? 0 : row - 14));
  const values = Array.from({ length: 26 }, (_, code) => code);
  assert.deepEqual([...inBins({ values, codes }, true).ofValue.slice(0, 4)], [2, 4, 4, 5]);
  const { ofValue, number } = inBins({ values, codes }, false);
  assert.deepEqual([number, ...ofValue.slice(0, 3), ofValue[11], ofValue[25]], [12, 0, 1, 2, 11, 11]);
  assert.deepEqual(inBins({ values: ["a"], codes: Int32Array.of(0, 1) }, false).number, 2);
});

test("families are conjunctions of ranges and sets", () => {
  const columns = new Map([["age", "integer"], ["sex", "string"], ["day", "date"], ["order", "integer"]].map(
    ([name, type]) => [name, { name, type, scale: 0, nulls: true, role: name === "order" ? "sensitive" : "quasi-identifier" }],
  ));
  const shape = (text) => shapeOf([], parse(`SELECT COUNT(*) FROM microdata WHERE ${text}`, COLUMNS).where, columns);
  assert.deepEqual(shape("age BETWEEN 3 AND 9 AND sex NOT IN ('a')"), { columns: 2, sensitive: null, there: null });
  assert.deepEqual(shape("sex = 'a' AND \"order\" > 3"), { columns: 1, sensitive: "order", there: null });
  assert.deepEqual(shape("3 < age AND \"order\" IS NOT NULL"), { columns: 1, sensitive: null, there: "order" });
  for (const other of ["age IN (3)", "age <> 3", "age = 3 OR age = 4", "NOT age > 3", "sex < 'a'", "age IS NULL", "\"order\" > 3", "age > 3 AND sex = 'a' OR age = 1"]) {
    assert.equal(shape(other), null, other);
  }
});

test("a likely interval is rounded outward, or has a reason why there is none", () => {
  const answer = { lower: fraction(1), upper: fraction(9), estimate: 4, mayBeEmpty: false };
  const likely = { interval: [fraction(10, 3), fraction(17, 3)], reason: "" };
  assert.equal(likelyText({ ...answer, likely }, 1), "3.3 to 5.7");
  assert.equal(likelyText(answer, 1), "");
  const without = { ...answer, likely: { interval: null, reason: "few" } };
  assert.deepEqual(reasonsOf([{ ...answer, likely }, without, { ...without, lower: fraction(9) }], true), ["few"]);
  assert.match(reasonsOf([answer], true)[0], /AND joins/);
  assert.match(reasonsOf([answer], false)[0], /none of the kinds/);
});

test("random numbers are those of NumPy's default_rng", () => {
  const first = (seed) => Array.from({ length: 3 }, randomNumbers(seed));
  assert.deepEqual(first(0), [0.6369616873214543, 0.2697867137638703, 0.04097352393619469]);
  assert.deepEqual(first(5), [0.8050029237453802, 0.8079407897364937, 0.515325561042142]);
  assert.deepEqual(first(4_000_000_000), [0.14708377792346694, 0.6471658305871946, 0.7932916544324882]);
});

const TABLES = {
  shows: "apart",
  tables: { people: "patients", related: "order", key: "Patient ID", columns: ["cost", "by"] },
  columns: ["age", "sex", "cost", "by"].map((name) => ({ name, type: "integer" })),
};
const LINK = 'EXISTS (SELECT 1 FROM "order" WHERE "order"."Patient ID" = patients."Patient ID"';

test("queries of two tables are written as they are read", () => {
  const joined = 'FROM patients JOIN "order" USING ("Patient ID")';
  for (const sql of [
    "SELECT COUNT(*) FROM patients",
    'SELECT "by", COUNT(*) FROM "order" WHERE cost > 3 GROUP BY "by"',
    `SELECT sex, "by", SUM(cost) / COUNT(DISTINCT "Patient ID") ${joined} WHERE age > 3 OR cost > 5 GROUP BY sex, "by"`,
    `SELECT COUNT(DISTINCT "Patient ID") ${joined}`,
    `SELECT AVG(CASE WHEN ${LINK}) THEN 1 ELSE 0 END) FROM patients`,
    `SELECT COUNT(*) FROM patients WHERE age > 3 AND NOT ${LINK} AND cost > 5 AND ("by" = 1 OR cost < 2))`,
    `SELECT COUNT(*) FROM patients WHERE NOT (age > 3 OR ${LINK}))`,
    'SELECT COUNT(*) FROM patients WHERE "Patient ID" NOT IN (SELECT "Patient ID" FROM "order" WHERE cost > 1 OR "by" = 2 GROUP BY "Patient ID" HAVING COUNT(*) >= 2)',
  ]) {
    assert.equal(TWO_TABLES.write(TWO_TABLES.read(sql, TABLES), TABLES), sql);
  }
});

test("queries of two tables are read in other ways of writing", () => {
  /** @param {string} sql */
  const again = (sql) => TWO_TABLES.write(TWO_TABLES.read(sql, TABLES), TABLES);
  assert.equal(
    again('select Patients.SEX, count(patients."patient id") from "order" join patients using ("Patient ID") group by sex'),
    'SELECT sex, COUNT(*) FROM patients JOIN "order" USING ("Patient ID") GROUP BY sex',
  );
  const among = '"Patient ID" IN (SELECT "Patient ID" FROM "order" GROUP BY "Patient ID" HAVING COUNT(*) > 1)';
  assert.equal(
    again(`SELECT COUNT(DISTINCT "Patient ID") FROM patients WHERE ${among} AND NOT ${among}`),
    `SELECT COUNT(*) FROM patients WHERE ${among.replace("> 1", ">= 2")} AND ${among.replace("> 1", ">= 2").replace(" IN ", " NOT IN ")}`,
  );
  assert.equal(
    again(`SELECT COUNT(*) FROM patients WHERE "Patient ID" IN (SELECT "Patient ID" FROM "order")`),
    `SELECT COUNT(*) FROM patients WHERE ${LINK})`,
  );
  assert.throws(() => again('SELECT "Patient ID" FROM patients'), /is in no published table/);
  assert.throws(() => again('SELECT COUNT(*) FROM patients WHERE "order".age > 3'), /age is in patients/);
  assert.throws(() => again("SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1)"), /FROM is expected/);
});

test("the toy of two groups has the bounds of its specification", () => {
  const [people, rows, most, women, gout] = [[4, 4], [5, 7], [2, 3], [2, 2], [2, 2]].map((some) => Int32Array.from(some));
  /** @param {{least: Int32Array, greatest: Int32Array}} ends */
  const both = ({ least, greatest }) => [totalOf(least), totalOf(greatest)];
  assert.deepEqual(both(sharedRows({ people, rows, most, hitPeople: women, hitRows: rows })), [2, 10]);
  assert.deepEqual(both(peopleWith({ people, rows, most, hitPeople: people, hitRows: gout }, 1)), [2, 4]);
});
