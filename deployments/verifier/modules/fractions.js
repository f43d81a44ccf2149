/** Exact fractions of BigInt, and how numbers are written (M3.3, M6.2). */

/** @typedef {{n: bigint, d: bigint}} Fraction numerator, and denominator above 0, in lowest terms */

/** @param {bigint} a @param {bigint} b @returns {bigint} */
export function gcd(a, b) {
  if (a < 0n) a = -a
  if (b < 0n) b = -b
  while (b) [a, b] = [b, a % b]
  return a
}

/** @param {bigint | number} n @param {bigint | number} [d] @returns {Fraction} */
export function fraction(n, d = 1n) {
  n = BigInt(n); d = BigInt(d)
  if (d === 0n) throw new RangeError('a denominator of 0')
  if (d < 0n) { n = -n; d = -d }
  const g = gcd(n, d)
  return g > 1n ? { n: n / g, d: d / g } : { n, d }
}

export const ZERO = fraction(0n)
export const ONE = fraction(1n)
/** @param {Fraction} a @param {Fraction} b */
export const add = (a, b) => fraction(a.n * b.d + b.n * a.d, a.d * b.d)
/** @param {Fraction} a @param {Fraction} b */
export const subtract = (a, b) => fraction(a.n * b.d - b.n * a.d, a.d * b.d)
/** @param {Fraction} a @param {Fraction} b */
export const multiply = (a, b) => fraction(a.n * b.n, a.d * b.d)
/** @param {Fraction} a @param {Fraction} b */
export const divide = (a, b) => fraction(a.n * b.d, a.d * b.n)
/** @param {Fraction} a */
export const absolute = a => a.n < 0n ? { n: -a.n, d: a.d } : a
/** @param {Fraction} a @param {Fraction} b @returns {number} */
export function compare(a, b) {
  const x = a.n * b.d, y = b.n * a.d
  return x < y ? -1 : x > y ? 1 : 0
}
/** @param {Fraction} a @param {Fraction} b */
export const largest = (a, b) => compare(a, b) >= 0 ? a : b
/** @param {Fraction} a @param {Fraction} b */
export const smallest = (a, b) => compare(a, b) <= 0 ? a : b

/** A double near a fraction; for hints only. @param {Fraction} a */
export function nearly(a) {
  const n = Number(a.n), d = Number(a.d)
  if (Number.isFinite(n) && Number.isFinite(d)) return n / d
  const shift = BigInt(Math.max(0, Math.max(a.n.toString(2).length, a.d.toString(2).length) - 1000))
  return Number(a.n >> shift) / Number(a.d >> shift)
}

/** The text of a decimal with as few digits as it needs, or undefined. @param {Fraction} a */
export function decimalText(a) {
  let d = a.d, twos = 0, fives = 0
  while (d % 2n === 0n) { d /= 2n; twos++ }
  while (d % 5n === 0n) { d /= 5n; fives++ }
  if (d !== 1n) return undefined
  const places = Math.max(twos, fives)
  const units = a.n * 10n ** BigInt(places) / a.d
  if (!places) return units.toString()
  const digits = (units < 0n ? -units : units).toString().padStart(places + 1, '0')
  return (units < 0n ? '-' : '') + digits.slice(0, -places) + '.' + digits.slice(-places)
}

const LIMIT = 9007199254740991n

/** A number as an observation has it (M6.2). @param {Fraction} a @returns {number | string} */
export function written(a) {
  if (a.d === 1n && a.n <= LIMIT && a.n >= -LIMIT) return Number(a.n)
  return decimalText(a) ?? `${a.n}/${a.d}`
}

/**
 * The fraction that a plain decimal text means, or undefined.
 * @param {string} text
 * @returns {Fraction | undefined}
 */
export function fromDecimal(text) {
  const found = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?$/.exec(text)
  if (!found || !(found[2] + (found[3] ?? ''))) return undefined
  const exponent = Number(found[4] ?? 0) - (found[3] ?? '').length
  if (Math.abs(exponent) > 5000) return undefined
  let n = BigInt(found[2] + (found[3] ?? ''))
  if (found[1] === '-') n = -n
  return exponent >= 0 ? fraction(n * 10n ** BigInt(exponent)) : fraction(n, 10n ** BigInt(-exponent))
}

/**
 * Reads an exact number (M3.3): an integer, or the one text of a number that is none. Undefined for anything else.
 * @param {unknown} value
 * @returns {Fraction | undefined}
 */
export function exact(value) {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? fraction(value) : undefined
  if (typeof value !== 'string' || !/^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/.test(value)) return undefined
  const found = fromDecimal(value)
  if (!found || (found.d === 1n && found.n <= LIMIT && found.n >= -LIMIT)) return undefined
  // at most 40 digits; the first digit at most 40 places before or behind the point
  const digits = value.replace(/^-/, '').replace('.', '').replace(/^0+/, '')
  if (digits.length > 40) return undefined
  const [whole, decimals = ''] = value.replace(/^-/, '').split('.')
  if (whole !== '0' ? whole.length > 40 : decimals.search(/[1-9]/) + 1 > 40) return undefined
  return found
}

/**
 * Reads an observed number (M6.2) in its one form: exact number or `n/d` in lowest terms.
 * @param {unknown} value
 * @returns {Fraction | undefined}
 */
export function observedNumber(value) {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? fraction(value) : undefined
  if (typeof value !== 'string') return undefined
  const parts = /^(-?[0-9]+)\/([0-9]+)$/.exec(value)
  const found = parts && BigInt(parts[2]) > 0n ? fraction(BigInt(parts[1]), BigInt(parts[2])) : fromDecimal(value)
  return found && written(found) === value ? found : undefined
}
