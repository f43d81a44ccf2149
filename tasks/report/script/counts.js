/**
 * The law of a count over rows whose values are shuffled within groups.
 *
 * Of a group's n values m match, and h of its rows are selected: the number of matching ones has the
 * hypergeometric distribution, and the numbers of groups add up. If the result is wide, its quantiles
 * follow from its first three moments (Cornish, Fisher), to less than one count.
 */

import { Z95 } from "./likely.js";

/** @typedef {{size: number, matching: number, selected: number}} Shuffled a group */

const PRECISE = 10; // standard deviation in counts, from which on moments are precise enough
const REACH = 24; // standard deviations; the chance of what lies farther from the middle is no float

let logs = new Float64Array(1); // of factorials

/** @param {number} most */
function requireLogs(most) {
  if (most < logs.length) {
    return;
  }
  logs = new Float64Array(2 * most + 2);
  for (let number = 1; number < logs.length; number += 1) {
    logs[number] = logs[number - 1] + Math.log(number);
  }
}

/** @param {number} number @param {number} some @returns {number} the logarithm of the ways to choose */
const ways = (number, some) => logs[number] - logs[some] - logs[number - some];

/** @param {Shuffled} group @returns {[number, number]} the least and the greatest number that match */
const possibleCounts = ({ size, matching, selected }) => [
  Math.max(selected + matching - size, 0),
  Math.min(selected, matching),
];

/**
 * @param {Shuffled} group
 * @returns {number[]} the chances of each count, from the least possible one on
 */
export function hypergeometric(group) {
  const { size, matching, selected } = group;
  requireLogs(size);
  const [least, most] = possibleCounts(group);
  return Array.from({ length: most - least + 1 }, (_, place) => {
    const count = least + place;
    return Math.exp(ways(matching, count) + ways(size - matching, selected - count) - ways(size, selected));
  });
}

/**
 * Numbers of groups, one each.
 * @typedef {{size: Float64Array, matching: Int32Array, selected: Int32Array}} ShuffledGroups
 */

/** @param {ShuffledGroups} groups @returns {{mean: number, variance: number, third: number}} moments */
function momentsOf({ size, matching, selected }) {
  let [mean, variance, third] = [0, 0, 0];
  for (let group = 0; group < size.length; group += 1) {
    const [n, m, h] = [size[group], matching[group], selected[group]];
    const own = (h * m) / n;
    const spread = (own * (1 - m / n) * (n - h)) / Math.max(n - 1, 1);
    mean += own;
    variance += spread;
    third += (spread * (n - 2 * m) * (n - 2 * h)) / (n * Math.max(n - 2, 1));
  }
  return { mean, variance, third };
}

/**
 * @param {ShuffledGroups} groups
 * @returns {[number, number]} the counts between which 95 % of the distribution lie
 */
export function likelyCounts(groups) {
  const { mean, variance, third } = momentsOf(groups);
  const deviation = Math.sqrt(variance);
  if (deviation < PRECISE) {
    const { size, matching, selected } = groups;
    const each = Array.from(size, (own, group) => ({ size: own, matching: matching[group], selected: selected[group] }));
    return exactCounts(each, mean, deviation);
  }
  const lean = ((third / (variance * deviation)) * (Z95 ** 2 - 1)) / 6;
  return [mean + deviation * (lean - Z95), mean + deviation * (lean + Z95)];
}

/**
 * The same by the exact distribution, on a ring that is long enough for nearly all of it.
 * @param {Shuffled[]} groups
 * @param {number} mean
 * @param {number} deviation
 * @returns {[number, number]}
 */
function exactCounts(groups, mean, deviation) {
  const ends = groups.map(possibleCounts);
  const least = ends.reduce((total, [low]) => total + low, 0);
  const number = ends.reduce((total, [low, high]) => total + high - low, 1);
  const length = Math.min(number, Math.floor(REACH * deviation) + REACH);
  let ring = new Float64Array(length);
  ring[0] = 1;
  groups.forEach((group, place) => {
    if (ends[place][0] < ends[place][1]) {
      ring = addedTo(ring, hypergeometric(group));
    }
  });
  const first = number <= length ? 0 : Math.max(Math.floor(mean) - least - (length >> 1), 0);
  const total = ring.reduce((sum, chance) => sum + chance, 0);
  /** @param {number} level */
  const quantile = (level) => {
    let [below, count] = [0, -1];
    while (below < level * total && count < length - 1) {
      count += 1;
      below += ring[(first + count) % length];
    }
    return least + first + Math.max(count, 0);
  };
  return [quantile(0.025), quantile(0.975)];
}

/**
 * @param {Float64Array} ring the chances of counts, of which those that differ by its length are one
 * @param {number[]} chances of what is added
 * @returns {Float64Array}
 */
function addedTo(ring, chances) {
  const sums = new Float64Array(ring.length);
  ring.forEach((own, count) => {
    if (own) {
      chances.forEach((chance, more) => {
        sums[(count + more) % ring.length] += own * chance;
      });
    }
  });
  return sums;
}
