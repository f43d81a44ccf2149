/**
 * Chances that a person of a group has related rows of some kind, if all worlds are alike.
 *
 * How many rows a person has follows from counts of worlds, which are coefficients of a product of one
 * power series for each person. Their weights λⁿ/n! have a λ that drops out and keeps numbers near 1. A
 * pair of series tells worlds in which somebody has M rows from those in which nobody has. The chances
 * are those of `tasks.query.bounds.related_chances`.
 */

const ROWS_COUNTED = 2_000; // of a group, beyond which each row is anybody's alike, whatever M is
const LEAST_SUM = 1e-250; // a sum of weights with which they may have lost digits
const STEPS = 80; // of the search for λ

/**
 * Weights of people who have so many rows together: nobody has M, and somebody has.
 * @typedef {[Float64Array, Float64Array]} Series
 */

/** @type {Map<string, Float64Array>} */
const CHANCES_OF_ROWS = new Map();

/**
 * @param {number} times at least 1
 * @param {number} hitRows
 * @param {number} people of the group, m
 * @param {number} rows of the group, s
 * @param {number} most rows of one person, M
 * @returns {number} the chance that a person has at least so many of the hit rows
 */
export function chanceOf(times, hitRows, people, rows, most) {
  const fewer = rows > ROWS_COUNTED ? fewerOfAnybody(times, hitRows, people) : fewerHits(times, hitRows, people, rows, most);
  return Math.min(Math.max(1 - fewer, 0), 1);
}

/** @param {number} times @param {number} hitRows @param {number} people @returns {number} */
function fewerOfAnybody(times, hitRows, people) {
  let [fewer, ways] = [0, 1];
  for (let number = 0; number < times; number += 1) {
    const rest = Math.max(hitRows - number, 0);
    fewer += ways * (1 / people) ** number * (1 - 1 / people) ** rest;
    ways = (ways * rest) / (number + 1);
  }
  return fewer;
}

/**
 * A person's rows are drawn one by one, without putting any back.
 * @param {number} times
 * @param {number} hitRows
 * @param {number} people
 * @param {number} rows
 * @param {number} most
 * @returns {number}
 */
function fewerHits(times, hitRows, people, rows, most) {
  const chances = numbersOfRows(people, rows, most);
  const drawn = new Float64Array(times); // the chance of each number of hits among those drawn
  drawn[0] = 1;
  let fewer = chances[0];
  for (let number = 1; number < chances.length; number += 1) {
    const remaining = rows - number + 1;
    for (let hits = times - 1; hits >= 0; hits -= 1) {
      const missed = (drawn[hits] * (rows - hitRows - number + 1 + hits)) / remaining;
      drawn[hits] = missed + (hits ? (drawn[hits - 1] * (hitRows - hits + 1)) / remaining : 0);
    }
    fewer += chances[number] * drawn.reduce((sum, chance) => sum + chance, 0);
  }
  return fewer;
}

/**
 * @param {number} people
 * @param {number} rows
 * @param {number} most
 * @returns {Float64Array} the chance that a person has 0, 1, … M rows
 */
function numbersOfRows(people, rows, most) {
  const text = `${people} ${rows} ${most}`;
  let chances = CHANCES_OF_ROWS.get(text);
  if (!chances) {
    chances = rows === people * most ? unit(most) : sharesOf(weightsOfRows(people, rows, most));
    CHANCES_OF_ROWS.set(text, chances);
  }
  return chances;
}

/** @param {number} number @returns {Float64Array} that this number is certain */
function unit(number) {
  const chances = new Float64Array(number + 1);
  chances[number] = 1;
  return chances;
}

/** @param {Float64Array} weights */
const sumOf = (weights) => weights.reduce((sum, weight) => sum + weight, 0);

/** @param {Float64Array} weights @returns {Float64Array} divided by their sum */
function sharesOf(weights) {
  const sum = sumOf(weights);
  return weights.map((weight) => weight / sum);
}

/** @param {number} people @param {number} rows @param {number} most @returns {Float64Array} numbers in proportion to worlds */
function weightsOfRows(people, rows, most) {
  const mean = (rows - most) / (people - 1);
  const weights = weightsWith(people, rows, most, mean);
  return sumOf(weights) < LEAST_SUM ? weightsWith(people, rows, most, scaleOfMean(mean, most)) : weights;
}

/** @param {number} people @param {number} rows @param {number} most @param {number} scale λ @returns {Float64Array} */
function weightsWith(people, rows, most, scale) {
  const each = poissonShares(scale, most);
  const top = each[most]; // the weight of M rows is taken off whoever has them first
  const [nobody, somebody] = powerOf([each.slice(0, most), unit(most)], people - 1, top, rows);
  const weights = each.map((weight, number) => weight * somebody[rows - number]);
  weights[most] = nobody[rows - most] + top * somebody[rows - most];
  return weights;
}

/** @param {number} scale λ @param {number} most @returns {Float64Array} λⁿ/n! for n = 0, … M, divided by their sum */
function poissonShares(scale, most) {
  if (scale === 0) {
    const shares = new Float64Array(most + 1);
    shares[0] = 1;
    return shares;
  }
  const logs = new Float64Array(most + 1);
  for (let number = 1; number <= most; number += 1) {
    logs[number] = logs[number - 1] + Math.log(scale) - Math.log(number);
  }
  const largest = logs.reduce((a, b) => Math.max(a, b));
  return sharesOf(logs.map((log) => Math.exp(log - largest)));
}

/** @param {number} mean @param {number} most @returns {number} λ with which people have so many rows on average */
function scaleOfMean(mean, most) {
  let [low, high] = [Math.log(mean), Math.log(mean) + 40];
  for (let step = 0; step < STEPS; step += 1) {
    const middle = (low + high) / 2;
    const average = poissonShares(Math.exp(middle), most).reduce((sum, share, number) => sum + share * number, 0);
    [low, high] = average > mean ? [low, middle] : [middle, high];
  }
  return Math.exp(low);
}

/** @param {Series} person @param {number} people @param {number} top @param {number} rows @returns {Series} those of so many people */
function powerOf(person, people, top, rows) {
  /** @type {Series} */
  let power = [Float64Array.from([1]), new Float64Array(1)];
  let square = person;
  for (let rest = people; rest; rest >>= 1) {
    power = rest & 1 ? productOf(power, square, top, rows) : power;
    square = rest > 1 ? productOf(square, square, top, rows) : square;
  }
  return [upTo(power[0], rows), upTo(power[1], rows)];
}

/** @param {Float64Array} series @param {number} rows @returns {Float64Array} its coefficients of 0 to so many rows */
function upTo(series, rows) {
  const whole = new Float64Array(rows + 1);
  whole.set(series.subarray(0, rows + 1));
  return whole;
}

/** @param {Series} first @param {Series} second @param {number} top @param {number} rows @returns {Series} */
function productOf(first, second, top, rows) {
  /** @param {number} length @param {number} other */
  const lengthOf = (length, other) => Math.min(length + other - 1, rows + 1);
  const longest = [first, second].map(([nobody, somebody]) => Math.max(nobody.length, somebody.length));
  const one = new Float64Array(lengthOf(longest[0], longest[1]));
  const nobody = new Float64Array(lengthOf(first[0].length, second[0].length));
  convolve(first[0], second[0], nobody, 1);
  convolve(first[0], second[1], one, 1);
  convolve(first[1], second[0], one, 1);
  convolve(first[1], second[1], one, top);
  return [nobody, one];
}

/** @param {Float64Array} first @param {Float64Array} second @param {Float64Array} sums to which products are added @param {number} weight */
function convolve(first, second, sums, weight) {
  for (let place = 0; place < first.length; place += 1) {
    const factor = first[place] * weight;
    const last = Math.min(second.length, sums.length - place);
    for (let other = 0; factor && other < last; other += 1) {
      sums[place + other] += factor * second[other];
    }
  }
}
