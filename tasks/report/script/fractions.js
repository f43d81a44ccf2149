/** Exact fractions, and their digits rounded outward: down for lower bounds, up for upper bounds. */

/**
 * A number n / d in lowest terms; d is positive.
 * @typedef {{readonly n: bigint, readonly d: bigint}} Fraction
 */

/**
 * @param {bigint} first
 * @param {bigint} second
 * @returns {bigint} the greatest common divisor, not negative
 */
function commonDivisor(first, second) {
  let a = first < 0n ? -first : first;
  let b = second < 0n ? -second : second;
  while (b) {
    [a, b] = [b, a % b];
  }
  return a;
}

/**
 * @param {bigint | number} n the numerator; a number must be whole
 * @param {bigint | number} [d] the denominator, not 0
 * @returns {Fraction}
 */
export function fraction(n, d = 1n) {
  let over = BigInt(n);
  let under = BigInt(d);
  if (under < 0n) {
    over = -over;
    under = -under;
  }
  const divisor = commonDivisor(over, under) || 1n;
  return { n: over / divisor, d: under / divisor };
}

export const ZERO = fraction(0);
export const ONE = fraction(1);

/** @param {Fraction} a @param {Fraction} b */
export const plus = (a, b) => fraction(a.n * b.d + b.n * a.d, a.d * b.d);

/** @param {Fraction} a @param {Fraction} b */
export const minus = (a, b) => fraction(a.n * b.d - b.n * a.d, a.d * b.d);

/** @param {Fraction} a @param {Fraction} b */
export const times = (a, b) => fraction(a.n * b.n, a.d * b.d);

/** @param {Fraction} a @param {Fraction} b not 0 */
export const over = (a, b) => fraction(a.n * b.d, a.d * b.n);

/**
 * @param {Fraction} a
 * @param {Fraction} b
 * @returns {number} negative, 0 or positive as a is below, at or above b
 */
export function compare(a, b) {
  const difference = a.n * b.d - b.n * a.d;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** @param {Fraction} a @param {Fraction} b */
export const lesser = (a, b) => (compare(a, b) <= 0 ? a : b);

/** @param {Fraction} a @param {Fraction} b */
export const greater = (a, b) => (compare(a, b) >= 0 ? a : b);

/**
 * @param {Fraction} value
 * @returns {bigint} the greatest whole number that is not above the value
 */
export function floor(value) {
  const quotient = value.n / value.d;
  return value.n < 0n && quotient * value.d !== value.n ? quotient - 1n : quotient;
}

/** @param {Fraction} value */
export const ceiling = (value) => -floor({ n: -value.n, d: value.d });

/**
 * @param {Fraction} value
 * @returns {number} the value as a float, nearly the nearest
 */
export function approximate(value) {
  const direct = Number(value.n) / Number(value.d);
  if (Number.isFinite(direct) && Number.isFinite(Number(value.d))) {
    return direct;
  }
  const shift = BigInt(Math.max(0, value.d.toString(2).length - 1000));
  return Number(value.n >> shift) / Number(value.d >> shift);
}

/**
 * Read a decimal number, such as -12.50 or 1e-7.
 * @param {string} text
 * @returns {Fraction | null} null for another text
 */
export function parseNumber(text) {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!match || !(match[2] || match[3])) {
    return null;
  }
  const digits = BigInt(`${match[2]}${match[3] ?? ""}`) * (match[1] === "-" ? -1n : 1n);
  const power = Number(match[4] ?? 0) - (match[3] ?? "").length;
  return power < 0 ? fraction(digits, 10n ** BigInt(-power)) : fraction(digits * 10n ** BigInt(power));
}

/**
 * The decimals with which numbers are shown together: four digits of the largest in all.
 * @param {readonly Fraction[]} values
 * @returns {number}
 */
export function decimalsOf(values) {
  if (values.every((value) => value.d === 1n)) {
    return 0;
  }
  const wholes = values.map((value) => (value.n < 0n ? -value.n : value.n) / value.d);
  const largest = wholes.reduce((a, b) => (a > b ? a : b), 0n);
  return largest ? Math.max(0, 4 - largest.toString().length) : 4;
}

/**
 * Write a number with commas and a number of decimals.
 * @param {Fraction} value
 * @param {number} decimals
 * @param {"down" | "up" | "nearest"} direction of rounding
 * @returns {string}
 */
export function written(value, decimals, direction) {
  const scale = 10n ** BigInt(decimals);
  const scaled = { n: value.n * scale, d: value.d };
  const half = fraction(1n, 2n);
  const rounded =
    direction === "down"
      ? floor(scaled)
      : direction === "up"
        ? ceiling(scaled)
        : floor(plus(fraction(scaled.n, scaled.d), half));
  const size = rounded < 0n ? -rounded : rounded;
  const whole = (size / scale).toString().replace(/\B(?=(\d{3})+$)/g, ",");
  const rest = decimals ? `.${(size % scale).toString().padStart(decimals, "0")}` : "";
  return `${rounded < 0n ? "-" : ""}${whole}${rest}`;
}
