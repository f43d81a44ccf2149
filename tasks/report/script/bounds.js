/** Bounds of aggregates over values of which some copies surely count, and others may. */

import {
  approximate, compare, floor, fraction, greater, lesser, minus, ONE, over, plus, times, ZERO,
} from "./fractions.js";
import { compareTexts, momentOf, momentText } from "./scales.js";

/** @typedef {import("./fractions.js").Fraction} Fraction */
/** @typedef {import("./tables.js").Type} Type */

/**
 * A number, or another value, as MIN and MAX of texts and dates return.
 * @typedef {Fraction | string | boolean} Value
 */

/**
 * An interval that contains 95 % of such answers, without a guarantee, or why there is none.
 * @typedef {{interval: [Value, Value] | null, reason: string}} Likely
 */

/**
 * Bounds with an estimate. Both ends are null if there is no answer; `mayBeEmpty` if perhaps too few
 * rows count for one.
 * @typedef {object} Bounds
 * @property {Value | null} lower
 * @property {Value | null} upper
 * @property {number | Value | null} estimate
 * @property {boolean} mayBeEmpty
 * @property {boolean} [isMiddle] whether the estimate is the middle of bounds, since none was expected
 * @property {Likely} [likely] undefined where no interval is computed here
 */

/** @typedef {"count" | "sum" | "avg" | "min" | "max" | "median"} Aggregate */

/**
 * @param {Value | null} lower
 * @param {Value | null} upper
 * @param {number | Value | null} [estimate]
 * @param {boolean} [mayBeEmpty]
 * @returns {Bounds}
 */
export const bounds = (lower, upper, estimate = null, mayBeEmpty = false) => ({
  lower,
  upper,
  estimate,
  mayBeEmpty,
});

export const NOTHING = bounds(null, null);

/** @param {unknown} value @returns {value is Fraction} */
export const isFraction = (value) => typeof value === "object" && value !== null && "n" in value;

/**
 * The copies of each value that count: the surely counting and all possible ones, for lower bounds
 * and for upper bounds, and the expected number.
 * @typedef {object} Counted
 * @property {Float64Array} lowSure
 * @property {Float64Array} lowAll
 * @property {Float64Array} highSure
 * @property {Float64Array} highAll
 * @property {Float64Array | null} expected
 */

/**
 * The values of a column, ascending; `units` only for numbers, of which 10 ** digits make 1.
 * @typedef {object} Domain
 * @property {Type} type
 * @property {readonly (string | number | boolean)[]} values
 * @property {bigint[]} units
 * @property {number} digits
 */

/**
 * @param {number} values
 * @returns {Counted}
 */
export const noneCounted = (values) => ({
  lowSure: new Float64Array(values),
  lowAll: new Float64Array(values),
  highSure: new Float64Array(values),
  highAll: new Float64Array(values),
  expected: new Float64Array(values),
});

/** @param {Float64Array} numbers */
const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

/** @param {Float64Array} counts the first place that is not 0, or -1 */
const firstOf = (counts) => counts.findIndex((count) => count !== 0);

/** @param {Float64Array} counts */
function lastOf(counts) {
  let place = counts.length - 1;
  while (place >= 0 && !counts[place]) {
    place -= 1;
  }
  return place;
}

/** @param {Float64Array} all @param {Float64Array} sure */
const difference = (all, sure) => all.map((count, place) => count - sure[place]);

/**
 * Bound an aggregate over the values that count, of at least one.
 * @param {Aggregate} aggregate
 * @param {Domain} domain
 * @param {Counted} counted
 * @returns {Bounds} with a null estimate where there is none
 */
export function boundsOver(aggregate, domain, counted) {
  const result = OVER_VALUES[aggregate](domain, counted);
  const { lower, upper, estimate } = result;
  if (typeof estimate !== "number") {
    return result;
  }
  const near = Number.isFinite(estimate) ? clamp(estimate, lower, upper) : null;
  return { ...result, estimate: near };
}

/**
 * @param {number} estimate
 * @param {Value | null} lower
 * @param {Value | null} upper
 * @returns {number} the estimate, or the bound beyond which it lies
 */
export function clamp(estimate, lower, upper) {
  const [low, high] = [lower, upper].map((end) => (isFraction(end) ? approximate(end) : estimate));
  return Math.min(Math.max(estimate, low), high);
}

/** @type {Record<Aggregate, (domain: Domain, counted: Counted) => Bounds>} */
const OVER_VALUES = {
  count: (_, counted) =>
    bounds(
      fraction(total(counted.lowSure)),
      fraction(total(counted.highAll)),
      counted.expected ? total(counted.expected) : null,
    ),
  sum: boundSum,
  avg: boundMean,
  min: (domain, counted) => boundExtreme(domain, counted, false),
  max: (domain, counted) => boundExtreme(domain, counted, true),
  median: boundMedian,
};

/**
 * @param {Domain} domain
 * @param {bigint} units
 * @returns {Fraction}
 */
const inUnits = (domain, units) => fraction(units, 10n ** BigInt(domain.digits));

/** @param {readonly bigint[]} units @param {Float64Array} counts @param {(unit: bigint) => boolean} chosen */
function weighted(units, counts, chosen) {
  let sum = 0n;
  counts.forEach((count, place) => {
    if (count && chosen(units[place])) {
      sum += units[place] * BigInt(count);
    }
  });
  return sum;
}

/** @param {Domain} domain @param {Counted} counted @returns {Bounds} */
function boundSum(domain, counted) {
  const { units } = domain;
  const lowMaybe = difference(counted.lowAll, counted.lowSure);
  const highMaybe = difference(counted.highAll, counted.highSure);
  let low = weighted(units, counted.lowSure, () => true) + weighted(units, lowMaybe, (unit) => unit < 0n);
  let high = weighted(units, counted.highSure, () => true) + weighted(units, highMaybe, (unit) => unit > 0n);
  if (firstOf(counted.lowSure) < 0 && units[firstOf(lowMaybe)] > 0n) {
    low = units[firstOf(lowMaybe)];
  }
  if (firstOf(counted.highSure) < 0 && units[lastOf(highMaybe)] < 0n) {
    high = units[lastOf(highMaybe)];
  }
  return bounds(inUnits(domain, low), inUnits(domain, high), expectedSum(domain, counted));
}

/** @param {Domain} domain @param {Counted} counted @returns {number | null} */
function expectedSum(domain, counted) {
  if (!counted.expected) {
    return null;
  }
  const sum = counted.expected.reduce(
    (so_far, number, place) => (number !== 0 ? so_far + Number(domain.units[place]) * number : so_far),
    0,
  );
  return sum / 10 ** domain.digits;
}

/** @param {Domain} domain @param {Counted} counted @returns {Bounds} */
function boundMean(domain, counted) {
  const low = leastMean(domain.units, counted.lowSure, counted.lowAll);
  const turned = domain.units.map((unit) => -unit).reverse();
  const high = leastMean(turned, counted.highSure.slice().reverse(), counted.highAll.slice().reverse());
  const scale = fraction(10n ** BigInt(domain.digits));
  const sum = expectedSum(domain, counted);
  const rows = counted.expected ? total(counted.expected) : 0;
  const estimate = sum === null || rows === 0 ? null : sum / rows;
  return bounds(over(low, scale), over(fraction(-high.n, high.d), scale), estimate);
}

/**
 * The least mean of the copies that surely count and the best of those that may: each value below
 * the mean so far lowers it, with all its copies.
 * @param {readonly bigint[]} units ascending
 * @param {Float64Array} sure
 * @param {Float64Array} all
 * @returns {Fraction}
 */
function leastMean(units, sure, all) {
  let rows = BigInt(total(sure));
  if (!rows) {
    return fraction(units[firstOf(all)]);
  }
  let sum = weighted(units, sure, () => true);
  for (let place = 0; place < units.length; place += 1) {
    const more = BigInt(all[place] - sure[place]);
    if (more) {
      if (units[place] * rows >= sum) {
        break;
      }
      sum += units[place] * more;
      rows += more;
    }
  }
  return fraction(sum, rows);
}

/**
 * @param {Domain} domain
 * @param {number} place
 * @returns {Value}
 */
export function valueAt(domain, place) {
  const value = domain.values[place];
  return domain.units.length ? inUnits(domain, domain.units[place]) : typeof value === "number" ? String(value) : value;
}

/** @param {Domain} domain @param {Counted} counted @param {boolean} greatest @returns {Bounds} */
function boundExtreme(domain, counted, greatest) {
  const { lowSure, lowAll, highSure, highAll } = counted;
  let first;
  let last;
  if (greatest) {
    first = lastOf(lowSure);
    first = first < 0 ? firstOf(lowAll) : first;
    last = lastOf(highAll);
  } else {
    first = firstOf(lowAll);
    last = firstOf(highSure);
    last = last < 0 ? lastOf(highAll) : last;
  }
  const place = expectedEnd(counted.expected, greatest);
  const near = place === null ? null : valueAt(domain, Math.min(Math.max(place, first), last));
  return bounds(valueAt(domain, first), valueAt(domain, last), near);
}

/**
 * The first value up to which some copy counts with a chance of at least 1/2.
 * @param {Float64Array | null} expected
 * @param {boolean} greatest whether values are passed from above
 * @returns {number | null}
 */
function expectedEnd(expected, greatest) {
  if (!expected || expected.some(Number.isNaN)) {
    return null;
  }
  let sum = 0;
  for (let passed = 0; passed < expected.length; passed += 1) {
    const place = greatest ? expected.length - 1 - passed : passed;
    sum += expected[place];
    if (sum >= Math.LN2) {
      return place;
    }
  }
  return greatest ? -1 : expected.length;
}

/** @param {Domain} domain @param {Counted} counted @returns {Bounds} */
function boundMedian(domain, counted) {
  const { units } = domain;
  const low = leastMedian(units, counted.lowSure, counted.lowAll);
  const turned = units.map((unit) => -unit).reverse();
  const high = leastMedian(turned, counted.highSure.slice().reverse(), counted.highAll.slice().reverse());
  const half = fraction(2n * 10n ** BigInt(domain.digits));
  return bounds(over(fraction(low), half), over(fraction(-high), half), expectedMedian(domain, counted));
}

/**
 * Twice the least median: for each number of added values, the lowest ones are added.
 * @param {readonly bigint[]} units ascending
 * @param {Float64Array} sure
 * @param {Float64Array} all
 * @returns {bigint}
 */
function leastMedian(units, sure, all) {
  const values = all.length;
  const [sureUpTo, maybeUpTo] = [new Float64Array(values), new Float64Array(values)];
  for (let place = 0, before = 0, possible = 0; place < values; place += 1) {
    before += sure[place];
    possible += all[place] - sure[place];
    sureUpTo[place] = before;
    maybeUpTo[place] = possible;
  }
  const surely = sureUpTo[values - 1];
  const most = maybeUpTo[values - 1];
  /** @type {bigint | null} */
  let least = null;
  for (let added = surely ? 0 : 1; added <= most; added += 1) {
    const number = surely + added;
    const first = units[positionAt(Math.floor((number - 1) / 2), added)];
    const second = units[positionAt(Math.floor(number / 2), added)];
    if (least === null || first + second < least) {
      least = first + second;
    }
  }
  return /** @type {bigint} */ (least);

  /** @param {number} place @param {number} added @returns {number} */
  function positionAt(place, added) {
    let [low, high] = [0, values - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sureUpTo[middle] + Math.min(added, maybeUpTo[middle]) > place) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}

/** @param {Domain} domain @param {Counted} counted @returns {number | null} */
function expectedMedian(domain, counted) {
  const { expected } = counted;
  if (!expected || !expected.some((number) => number !== 0)) {
    return null;
  }
  const half = total(expected) / 2;
  if (Number.isNaN(half)) {
    return null;
  }
  let [sum, place] = [0, 0];
  for (; place < expected.length; place += 1) {
    sum += expected[place];
    if (sum >= half) {
      break;
    }
  }
  const end = Math.min(place, lastOf(expected));
  return Number(domain.units[end]) / 10 ** domain.digits;
}

/**
 * Bounds with an estimate: an exact answer, or the middle where there is none.
 * @param {Bounds} result
 * @param {Type} [type] of the answer
 * @returns {Bounds}
 */
export function withEstimate(result, type) {
  const { lower, upper, estimate } = result;
  if (lower === null || upper === null) {
    return result;
  }
  if (equal(lower, upper)) {
    return { ...result, estimate: lower };
  }
  return estimate === null ? { ...result, estimate: middleOf(lower, upper, type), isMiddle: true } : result;
}

/** @param {Value} a @param {Value} b */
const equal = (a, b) => (isFraction(a) && isFraction(b) ? compare(a, b) === 0 : a === b);

/**
 * @param {Value} lower
 * @param {Value} upper
 * @param {Type} [type]
 * @returns {Value | null}
 */
function middleOf(lower, upper, type) {
  if (isFraction(lower) && isFraction(upper)) {
    return over(plus(lower, upper), fraction(2n));
  }
  const [first, last] = [lower, upper].map((end) => momentOf(String(end)));
  if ((type !== "date" && type !== "timestamp") || first === null || last === null) {
    return null;
  }
  const text = momentText(floor(fraction(first + last, 2n)));
  return type === "date" ? text.slice(0, 10) : text;
}

/**
 * The bounds of an aggregate in one part, and of the number of its rows.
 * @typedef {[Bounds, Bounds]} Pair
 */

/** @param {Value | null} value @returns {Fraction} */
const number = (value) => (isFraction(value) ? value : ZERO);

/** @param {Pair} pair whether a part surely has a value */
const isSure = ([value, count]) =>
  value.lower !== null && !value.mayBeEmpty && number(count.lower).n !== 0n;

/** @param {Bounds[]} parts @returns {Bounds} */
function added(parts) {
  const sum = parts.reduce((so_far, part) => plus(so_far, number(part.lower)), ZERO);
  const most = parts.reduce((so_far, part) => plus(so_far, number(part.upper)), ZERO);
  const estimates = parts.map((part) => asNumber(part.estimate));
  const allKnown = estimates.every((estimate) => estimate !== null);
  return bounds(sum, most, allKnown ? estimates.reduce((a, b) => Number(a) + Number(b), 0) : null);
}

/** @param {number | Value | null} estimate @returns {number | null} */
export const asNumber = (estimate) =>
  typeof estimate === "number" ? estimate : isFraction(estimate) ? approximate(estimate) : null;

/** @param {Bounds} value a sum, which is 0 over no values @returns {Bounds} */
function orZero(value) {
  if (value.lower === null) {
    return bounds(ZERO, ZERO, 0);
  }
  return value.mayBeEmpty
    ? bounds(lesser(number(value.lower), ZERO), greater(number(value.upper), ZERO), value.estimate)
    : value;
}

/**
 * Bound an aggregate over the disjoint rows of several parts.
 * @type {Partial<Record<Aggregate, (pairs: Pair[]) => Bounds>>}
 */
export const POOLED = {
  count: (pairs) => added(pairs.map(([value]) => value)),
  sum: (pairs) =>
    pairs.every(([value]) => value.lower === null)
      ? NOTHING
      : { ...added(pairs.map(([value]) => orZero(value))), mayBeEmpty: !pairs.some(isSure) },
  avg: (pairs) => {
    const some = pairs.filter(([value]) => value.lower !== null);
    if (!some.length) {
      return NOTHING;
    }
    const countsKnown = some.every(
      (pair) => isSure(pair) && compare(number(pair[1].lower), number(pair[1].upper)) === 0,
    );
    const counts = some.map(([, count]) => number(count.lower));
    const [lows, highs] = [some.map(([v]) => number(v.lower)), some.map(([v]) => number(v.upper))];
    const ends = countsKnown
      ? [weightedMean(lows, counts), weightedMean(highs, counts)]
      : [lows.reduce(lesser), highs.reduce(greater)];
    return bounds(ends[0], ends[1], null, !some.some(isSure));
  },
  min: (pairs) => pooledExtreme(pairs, -1),
  max: (pairs) => {
    const turned = pooledExtreme(
      pairs.map(([value, count]) => [{ ...value, lower: value.upper, upper: value.lower }, count]),
      1,
    );
    return { ...turned, lower: turned.upper, upper: turned.lower };
  },
};

/** @param {Fraction[]} values @param {Fraction[]} weights */
function weightedMean(values, weights) {
  const sum = values.reduce((so_far, value, place) => plus(so_far, times(value, weights[place])), ZERO);
  return over(sum, weights.reduce(plus, ZERO));
}

/** @param {Pair[]} pairs @param {number} sign -1 for the least, 1 for the greatest @returns {Bounds} */
function pooledExtreme(pairs, sign) {
  const some = pairs.filter(([value]) => value.lower !== null);
  if (!some.length) {
    return NOTHING;
  }
  /** @param {Value | null} a @param {Value | null} b */
  const best = (a, b) => (compareValues(a, b) * sign >= 0 ? a : b);
  /** @param {Value | null} a @param {Value | null} b */
  const worst = (a, b) => (compareValues(a, b) * sign >= 0 ? b : a);
  const sure = some.filter(isSure).map(([value]) => value.upper);
  const near = some.map(([value]) => value.lower).reduce(best);
  const far = sure.length ? sure.reduce(best) : some.map(([value]) => value.upper).reduce(worst);
  return bounds(near, far, null, !sure.length);
}

/** @param {Value | null} a @param {Value | null} b */
export function compareValues(a, b) {
  if (isFraction(a) && isFraction(b)) {
    return compare(a, b);
  }
  return compareTexts(String(a), String(b));
}

/**
 * Narrow a count or a sum of some rows by that of all rows, and of the rest where it is known.
 * @param {Aggregate} aggregate
 * @param {Bounds} pooled
 * @param {Bounds} all
 * @param {Bounds | null} rest
 * @returns {Bounds}
 */
export function narrowed(aggregate, pooled, all, rest) {
  const isCount = aggregate === "count";
  if (pooled.lower === null || (!isCount && rest === null)) {
    return pooled;
  }
  let low = number(pooled.lower);
  let high = isCount ? lesser(number(pooled.upper), number(all.upper)) : number(pooled.upper);
  if (rest !== null) {
    const [whole, others] = isCount ? [all, rest] : [orZero(all), orZero(rest)];
    low = greater(low, minus(number(whole.lower), number(others.upper)));
    high = lesser(high, minus(number(whole.upper), number(others.lower)));
  }
  const guess = asNumber(pooled.estimate);
  return { ...pooled, lower: low, upper: high, estimate: guess === null ? null : clamp(guess, low, high) };
}

/**
 * The proportion of rows that count among all rows; null if there are none.
 * @param {Bounds} part the number of rows that count
 * @param {Bounds} others the number of rows that do not
 * @param {Bounds} rows the number of all rows
 * @returns {Bounds}
 */
export function proportion(part, others, rows) {
  if (!number(rows.upper).n) {
    return NOTHING;
  }
  const [few, many] = [number(part.lower), number(part.upper)];
  const fewest = greater(greater(number(others.lower), minus(number(rows.lower), many)), ZERO);
  const most = lesser(number(others.upper), minus(number(rows.upper), few));
  const [least, all] = [plus(few, most), plus(many, fewest)];
  const low = least.n ? over(few, least) : ONE;
  const high = all.n ? over(many, all) : ZERO;
  const [guess, among] = [asNumber(part.estimate), asNumber(rows.estimate)];
  const estimate = guess === null || !among ? null : clamp(guess / among, low, high);
  return bounds(low, high, estimate, !number(rows.lower).n);
}

/**
 * How far apart bounds are: by which factor the upper one is larger, and half their width as a
 * share of their middle.
 * @param {Fraction} lower
 * @param {Fraction} upper
 * @returns {{factor: number | null, share: number | null}}
 */
export function apart(lower, upper) {
  const middle = approximate(plus(lower, upper)) / 2;
  return {
    factor: lower.n > 0n ? approximate(over(upper, lower)) : null,
    share: middle ? approximate(minus(upper, lower)) / 2 / Math.abs(middle) : null,
  };
}
