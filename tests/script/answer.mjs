/**
 * Answer queries as a page does: reads {data, queries} as JSON, writes an answer for each query.
 * Exact numbers are written as "n/d", estimates as floats. With `over`, each answer is the accuracy
 * of its query over ranges of this column.
 */

import { readFileSync } from "node:fs";
import "../../tasks/report/script/apart.js";
import "../../tasks/report/script/columns.js";
import "../../tasks/report/script/facts.js";
import "../../tasks/report/script/labels.js";
import "../../tasks/report/script/rows.js";
import "../../tasks/report/script/subdomains.js";
import { spansOf } from "../../tasks/report/script/accuracy.js";
import { asNumber, isFraction } from "../../tasks/report/script/bounds.js";
import { REST } from "../../tasks/report/script/engine.js";
import { openRelease, releaseOf } from "../../tasks/report/script/asking.js";
import { readTables } from "../../tasks/report/script/fetched.js";
import { languageOf } from "../../tasks/report/script/language.js";
import { Refusal } from "../../tasks/report/script/scales.js";

const exact = (value) => (isFraction(value) ? `${value.n}/${value.d}` : value);

const likely = ({ interval, reason }) => ({ interval: interval && interval.map(asNumber), reason });

function answer(release, sql) {
  try {
    const question = language.read(sql, release.packed);
    return release.answer(question).map(({ key, bounds }) => ({
      key: key.map((value) => (value === REST ? { rest: true } : value)),
      lower: exact(bounds.lower),
      upper: exact(bounds.upper),
      estimate: typeof bounds.estimate === "object" || typeof bounds.estimate === "number"
        ? asNumber(bounds.estimate)
        : bounds.estimate,
      empty: bounds.mayBeEmpty,
      ...(bounds.likely ? { likely: likely(bounds.likely) } : {}),
    }));
  } catch (error) {
    if (error instanceof Refusal) {
      return { refused: error.message };
    }
    throw error;
  }
}

const asked = JSON.parse(readFileSync(0, "utf8"));
const readFile = async (path) => {
  const bytes = readFileSync(`${asked.directory}/${path}`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};
const release = asked.data.fetched
  ? releaseOf(await readTables(asked.data, readFile))
  : await openRelease(asked.data);
const language = languageOf(release.packed);
const measure = (sql) => spansOf(release, language.read(sql, release.packed), asked.over);
const answers = asked.queries.map((sql) => (asked.over ? measure(sql) : answer(release, sql)));
process.stdout.write(JSON.stringify(answers));
