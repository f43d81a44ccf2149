/** Conditions that no published value satisfies: a misspelt text, a number out of range. */

import { outcomesOfValues, testsIn, TRUE } from "./conditions.js";
import { conditionSql } from "./language.js";
import { distance } from "./nearest.js";
import { visible } from "./words.js";

/** @typedef {import("./asking.js").Release} Release */
/** @typedef {import("./conditions.js").Condition} Condition */
/** @typedef {import("./conditions.js").Test} Test */

const MOST_LISTED = 8;

/**
 * @param {Release} release
 * @param {(Condition | null)[]} conditions
 * @returns {string[]} a sentence for each comparison that no published value satisfies
 */
export function notesOn(release, conditions) {
  const tests = conditions.flatMap((condition) => (condition === null ? [] : testsIn(condition)));
  return [...new Set(tests.flatMap((test) => noteOn(release, test) ?? []))];
}

/** @param {Release} release @param {Test} test @returns {string | null} */
function noteOn(release, test) {
  const values = release.valuesOf(test.column);
  if (values === null || test.test === "null") {
    return null;
  }
  const described = release.column(test.column);
  const outcomes = outcomesOfValues(test, described, { values, codes: new Int32Array(0) });
  if (outcomes.includes(TRUE)) {
    return null;
  }
  const missed = `No published row has ${conditionSql(test)}.`;
  if (described.type !== "string" || test.test !== "=") {
    return missed;
  }
  const wanted = test.literal?.text ?? "";
  const nearest = values.map(String).sort((a, b) => distance(a, wanted) - distance(b, wanted));
  const listed = nearest.slice(0, MOST_LISTED).map((value) => `'${visible(value)}'`).join(", ");
  return `${missed} ${nearest.length > MOST_LISTED ? "The nearest values are" : "Its values are"} ${listed}.`;
}
