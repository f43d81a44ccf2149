/** What the line's public record says about a release: its version, and whether another is current. */

import { visible } from "./words.js";

/**
 * @typedef {object} Measured the accuracy of a workload, measured by the publisher
 * @property {string} workload
 * @property {string | number} level
 * @property {number} median the width of bounds, relative to their middle
 */

/**
 * A release in the record of its line. Nothing here is verified.
 * @typedef {object} Recorded
 * @property {string} version
 * @property {number} versions how many the line has
 * @property {string | null} current the current version
 * @property {string} status
 * @property {string} day on which it was published
 * @property {Measured[]} accuracy
 */

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * @param {unknown} record the content of releases.json
 * @param {string} path of the page's address
 * @returns {Recorded | null} null if the record does not name the page's version
 */
export function recordedIn(record, path) {
  const version = path.split("/").slice(-2)[0];
  const versions = isObject(record) && isObject(record.versions) ? record.versions : {};
  const own = Object.hasOwn(versions, version) ? versions[version] : null;
  if (!isObject(record) || !isObject(own)) {
    return null;
  }
  return {
    version,
    versions: Object.keys(versions).length,
    current: typeof record.current === "string" ? record.current : null,
    status: textOfField(own.status),
    day: textOfField(own.time).slice(0, 10),
    accuracy: (Array.isArray(own.accuracy) ? own.accuracy : []).filter(isMeasured),
  };
}

/** @param {unknown} measured @returns {measured is Measured} */
const isMeasured = (measured) =>
  isObject(measured) &&
  typeof measured.workload === "string" &&
  typeof measured.median === "number" &&
  ["string", "number"].includes(typeof measured.level);

/** @param {unknown} field @returns {string} "?" for what is no text */
const textOfField = (field) => (typeof field === "string" ? field : "?");

/**
 * @param {Recorded} recorded
 * @returns {string} its version and state, in a sentence
 */
export function recordText({ version, versions, current, status, day }) {
  const which = `Version ${visible(version)} of ${versions}, published on ${visible(day)}`;
  if (status === "withdrawn") {
    return `${which}, was withdrawn by its publisher. Do not use it.`;
  }
  return current === version
    ? `${which}, is the current one.`
    : `${which}, is not the current one${current === null ? "" : `: that is ${visible(current)}`}.`;
}

/**
 * @param {Measured} measured
 * @returns {string}
 */
export function measuredText({ workload, level, median }) {
  const accuracy = median === 0 ? "exact" : median >= 2 ? "too wide to use" : `±${Number((median * 50).toPrecision(3))} %`;
  return `${visible(workload)} (${visible(String(level))}): ${accuracy}`;
}

/**
 * Fetch the record of the page's line, where the page has an address of the web.
 * @param {Location} location
 * @returns {Promise<Recorded | null>} null from a disk, or if there is no such record
 */
export async function fetchRecord(location) {
  if (!/^https?:$/.test(location.protocol)) {
    return null;
  }
  try {
    const answer = await fetch(new URL("../releases.json", location.href), { redirect: "error" });
    return answer.ok ? recordedIn(await answer.json(), location.pathname) : null;
  } catch {
    return null;
  }
}
