/**
 * Bounds of questions about people and their related rows, where a group alone links the two.
 *
 * Of a group everybody knows its m people, its s related rows, the most rows M of one person, and the
 * values of people and of rows. A world gives each row to a person, so that somebody has M rows and
 * nobody more. A question hits h of the people and c of the rows. Groups are independent, so bounds
 * over several groups are sums. All bounds here are attained; those of `tasks.query.bounds.related`
 * are the same.
 */

import { compare, fraction } from "./fractions.js";

/** @typedef {import("./fractions.js").Fraction} Fraction */

/**
 * The people and the related rows that a question hits in some groups; one number for each group.
 * @typedef {object} Hits
 * @property {Int32Array} people the people of each group, m
 * @property {Int32Array} rows their related rows, s
 * @property {Int32Array} most the rows of whoever has the most, M
 * @property {Int32Array} hitPeople h
 * @property {Int32Array} hitRows c
 */

/**
 * The least and the greatest number of each group.
 * @typedef {{least: Int32Array, greatest: Int32Array}} Ends
 */

/**
 * How many of the hit rows hit people can have: the numbers of two ranges, of which one exists at
 * least. A range that does not exist is from 0 to -1.
 * @typedef {{first: Ends, second: Ends}} RowChoices
 */

/** @param {number} groups @returns {Ends} */
const noEnds = (groups) => ({ least: new Int32Array(groups), greatest: new Int32Array(groups) });

/** @param {Int32Array} numbers */
export const totalOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** @param {Hits} hits @param {number} place of a group @returns {[number, number]} the rows that hit people can have */
function totalsAt({ people, rows, most, hitPeople }, place) {
  const others = people[place] - hitPeople[place];
  return [
    Math.max(rows[place] - others * most[place], 0),
    Math.min(hitPeople[place] * most[place], rows[place]),
  ];
}

/** @param {Hits} hits @returns {Ends} the hit rows that hit people can have */
export function sharedRows(hits) {
  const ends = noEnds(hits.people.length);
  for (let place = 0; place < hits.people.length; place += 1) {
    const [least, greatest] = totalsAt(hits, place);
    ends.least[place] = Math.max(least - (hits.rows[place] - hits.hitRows[place]), 0);
    ends.greatest[place] = Math.min(hits.hitRows[place], greatest);
  }
  return ends;
}

/**
 * The hit people who can have at least so many of the hit rows. Of the greatest number, whoever has M
 * rows needs only so many of them.
 * @param {Hits} hits
 * @param {number} times at least 1
 * @returns {Ends}
 */
export function peopleWith(hits, times) {
  const ends = noEnds(hits.people.length);
  for (let place = 0; place < hits.people.length; place += 1) {
    const [people, rows, most] = [hits.people[place], hits.rows[place], hits.most[place]];
    const [hit, matching] = [hits.hitPeople[place], hits.hitRows[place]];
    const fewer = Math.min(most, times - 1); // rows of a hit person who is not counted
    const beyond = matching - (people - hit) * most - hit * fewer;
    const least = beyond > 0 ? Math.ceil(beyond / Math.max(most - fewer, 1)) : 0;
    const surely = hit === people && most - (rows - matching) >= times;
    ends.least[place] = Math.max(least, Number(surely));
    ends.greatest[place] =
      most < times ? 0 : Math.min(hit, Math.floor(matching / times), Math.floor((rows - most) / times) + 1);
  }
  return ends;
}

/** @param {Hits} hits @returns {RowChoices} */
export function choicesOf(hits) {
  const [first, second] = [noEnds(hits.people.length), noEnds(hits.people.length)];
  for (let place = 0; place < hits.people.length; place += 1) {
    const [people, rows, most] = [hits.people[place], hits.rows[place], hits.most[place]];
    const [hit, matching] = [hits.hitPeople[place], hits.hitRows[place]];
    const [least, greatest] = totalsAt(hits, place);
    const missing = rows - matching;
    // without the person who has M rows: at most s - M; with that person: at least M
    const fewer = Math.min(rows - most, greatest);
    put(first, place, hit === people && rows > 0, Math.max(least - missing, 0), Math.min(matching, fewer));
    const leastWith = Math.max(Math.max(least, most) - missing, 0);
    put(second, place, hit === 0 || rows === 0, leastWith, Math.min(matching, greatest));
  }
  return { first, second };
}

/** @param {Ends} ends @param {number} place @param {boolean} never @param {number} least @param {number} greatest */
function put(ends, place, never, least, greatest) {
  const impossible = never || least > greatest;
  ends.least[place] = impossible ? 0 : least;
  ends.greatest[place] = impossible ? -1 : greatest;
}

/** The values of hit rows by group, as places among ascending units, with prefix sums. */
export class HitValues {
  /**
   * @param {readonly bigint[]} units the different values, ascending
   * @param {Int32Array} start of each group among the entries, and the end of all
   * @param {Int32Array} codes of entries, ascending within each group
   * @param {Int32Array} times how many rows have the value of each entry
   */
  constructor(units, start, codes, times) {
    this.units = units;
    this.start = start;
    this.codes = codes;
    this.times = times;
    this.rowsBefore = new Float64Array(codes.length + 1);
    this.sumBefore = [0n];
    /** @type {HitValues | null} */
    this.opposite = null;
    codes.forEach((code, entry) => {
      this.rowsBefore[entry + 1] = this.rowsBefore[entry] + times[entry];
      this.sumBefore.push(this.sumBefore[entry] + units[code] * BigInt(times[entry]));
    });
  }

  /** @returns {HitValues} the values with the other sign, ascending again; made once */
  turned() {
    this.opposite ??= this.withOtherSign();
    return this.opposite;
  }

  /** @returns {HitValues} */
  withOtherSign() {
    const { units, start } = this;
    const [codes, times] = [this.codes.slice(), this.times.slice()];
    for (let group = 0; group + 1 < start.length; group += 1) {
      codes.subarray(start[group], start[group + 1]).reverse();
      times.subarray(start[group], start[group + 1]).reverse();
    }
    const other = units.map((unit) => -unit).reverse();
    return new HitValues(other, start, codes.map((code) => units.length - 1 - code), times);
  }

  /** @param {number} group @returns {bigint} the sum of all values of a group */
  sumOf(group) {
    return this.sumBefore[this.start[group + 1]] - this.sumBefore[this.start[group]];
  }

  /** @param {number} group @returns {number} how many values it has */
  countOf(group) {
    return this.rowsBefore[this.start[group + 1]] - this.rowsBefore[this.start[group]];
  }

  /** @param {number} group @param {number} limit a place among units @returns {number} the values before it */
  countBelow(group, limit) {
    const entry = this.firstEntry(group, (place) => this.codes[place] >= limit);
    return this.rowsBefore[entry] - this.rowsBefore[this.start[group]];
  }

  /** @param {number} group @param {number} number @returns {bigint} the sum of so many of its lowest values */
  lowest(group, number) {
    const first = this.start[group];
    const rows = this.rowsBefore[first] + number;
    const entry = this.firstEntry(group, (place) => this.rowsBefore[place + 1] > rows);
    const whole = this.sumBefore[entry] - this.sumBefore[first];
    const more = rows - this.rowsBefore[entry];
    return more ? whole + this.units[this.codes[entry]] * BigInt(more) : whole;
  }

  /**
   * @param {number} group
   * @param {(entry: number) => boolean} isBehind false for the first entries, then true
   * @returns {number} the first entry of a group for which it is true, or the end of the group
   */
  firstEntry(group, isBehind) {
    let [low, high] = [this.start[group], this.start[group + 1]];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (isBehind(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** @param {bigint} least @returns {number} the first place among units of a value that is not below it */
  placeOf(least) {
    let [low, high] = [0, this.units.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.units[middle] >= least) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

/** @typedef {(values: HitValues, groups: Int32Array, choices: RowChoices) => [Fraction, Fraction] | null} Bounding */

/**
 * The least and the greatest sum of the hit values of hit people, in units, over the worlds in which
 * there is a value; null if there is none in any.
 * @type {Bounding}
 */
export function sumOfHits(values, groups, choices) {
  if (!possible(choices).some(Boolean)) {
    return null;
  }
  return [
    fraction(leastSum(values, groups, choices)),
    fraction(-leastSum(values.turned(), groups, choices)),
  ];
}

/**
 * The least and the greatest mean of these values, in units.
 * @type {Bounding}
 */
export function meanOfHits(values, groups, choices) {
  if (!possible(choices).some(Boolean)) {
    return null;
  }
  const greatest = leastMeanOf(values.turned(), groups, choices);
  return [leastMeanOf(values, groups, choices), fraction(-greatest.n, greatest.d)];
}

/** @param {RowChoices} choices @returns {boolean[]} the groups of which hit people can have a hit row */
const possible = ({ first, second }) =>
  Array.from(first.greatest, (number, place) => Math.max(number, second.greatest[place]) > 0);

/** @param {HitValues} values @param {Int32Array} groups @param {Int32Array} numbers @returns {bigint} */
function lowestOf(values, groups, numbers) {
  let sum = 0n;
  groups.forEach((group, place) => {
    sum += values.lowest(group, numbers[place]);
  });
  return sum;
}

/** @param {HitValues} values @param {Int32Array} groups @param {RowChoices} choices @returns {bigint} */
function leastSum(values, groups, choices) {
  const numbers = bestNumbers(values, groups, choices, fraction(0));
  if (numbers.some(Boolean)) {
    return lowestOf(values, groups, numbers);
  }
  const { first, second } = choices;
  /** @type {bigint | null} */
  let least = null;
  possible(choices).forEach((some, place) => {
    const ranges = some ? [second, first].filter(({ greatest }) => greatest[place] > 0) : [];
    const fewest = Math.min(...ranges.map((range) => Math.max(range.least[place], 1)));
    const sum = some ? values.lowest(groups[place], fewest) : null;
    if (sum !== null && (least === null || sum < least)) {
      least = sum;
    }
  });
  return /** @type {bigint} */ (/** @type {unknown} */ (least));
}

/**
 * The least mean by Dinkelbach's method: for a mean, each group takes the number of its lowest values
 * for which their sum is least, the mean taken off each. If the total is below 0, the mean of what
 * was taken is a better one.
 * @param {HitValues} values
 * @param {Int32Array} groups
 * @param {RowChoices} choices
 * @returns {Fraction}
 */
function leastMeanOf(values, groups, choices) {
  const most = choices.first.greatest.map((number, place) => Math.max(number, choices.second.greatest[place], 0));
  let mean = fraction(lowestOf(values, groups, most), totalOf(most));
  for (;;) {
    const numbers = bestNumbers(values, groups, choices, mean);
    const taken = totalOf(numbers);
    const better = taken ? fraction(lowestOf(values, groups, numbers), taken) : mean;
    if (compare(better, mean) >= 0) {
      return mean;
    }
    mean = better;
  }
}

/**
 * How many of its lowest values each group takes, so that sum - mean · number is least. Sums of the
 * lowest values are convex in their number: the best one of a range is the number of values below the
 * mean, or the end of the range that is nearest to it.
 * @param {HitValues} values
 * @param {Int32Array} groups
 * @param {RowChoices} choices
 * @param {Fraction} mean
 * @returns {Int32Array}
 */
function bestNumbers(values, groups, { first, second }, mean) {
  const limit = values.placeOf(-floorOf(-mean.n, mean.d));
  return Int32Array.from(groups, (group, place) => {
    const wished = values.countBelow(group, limit);
    const options = [first, second]
      .filter(({ least, greatest }) => least[place] <= greatest[place])
      .map(({ least, greatest }) => Math.min(Math.max(wished, least[place]), greatest[place]));
    if (options.length < 2 || options[0] === options[1]) {
      return options[0];
    }
    const [one, other] = options.map((number) => values.lowest(group, number) * mean.d - BigInt(number) * mean.n);
    return other < one ? options[1] : options[0];
  });
}

/** @param {bigint} n @param {bigint} d positive @returns {bigint} */
const floorOf = (n, d) => (n < 0n && n % d ? n / d - 1n : n / d);
