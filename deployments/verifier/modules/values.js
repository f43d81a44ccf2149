/**
 * Types of columns, values, and values as texts (T1, T2).
 *
 * A value is a BigInt (integer; decimal as value × 10^scale; date as days; timestamp as microseconds), a Number
 * (float), a string (text), a boolean, or null.
 */
import { compareTexts } from './text.js'
import { fraction, fromDecimal } from './fractions.js'

/** @typedef {{kind: 'integer'|'decimal'|'float'|'date'|'timestamp'|'text'|'boolean', scale: number}} Type */
/** @typedef {bigint | number | string | boolean} Value */

/** @param {Type['kind']} kind @param {number} [scale] @returns {Type} */
export const type = (kind, scale = 0) => ({ kind, scale })
export const INTEGER = type('integer')
export const TEXT = type('text')
export const FLOAT = type('float')

/** The type of a declared column (T1.2). @param {{type: string, scale?: number}} column @returns {Type} */
export function typeOf(column) {
  if (column.type === 'string') return TEXT
  return type(/** @type {any} */(column.type), column.type === 'decimal' ? column.scale ?? 0 : 0)
}

/** @param {Type} a @param {Type} b */
export const sameType = (a, b) => a.kind === b.kind && a.scale === b.scale

/** The name of a type in `expect_column_types` (X1.5). @param {Type} t */
export const arrowName = t => ({
  integer: 'int64', decimal: `decimal128(38, ${t.scale})`, float: 'double', date: 'date32[day]',
  timestamp: 'timestamp[us]', text: 'string', boolean: 'bool',
})[t.kind]

/** The name of a type in a field of the manifest (M5.6). @param {Type} t */
export const fieldType = t => ({
  integer: 'integer', decimal: 'number', float: 'number', date: 'date', timestamp: 'datetime', boolean: 'boolean', text: 'string',
})[t.kind]

/** Types whose values are numbers, days or moments. @param {Type} t */
export const isNumeric = t => t.kind !== 'text' && t.kind !== 'boolean'

/**
 * Compares two values of one type, neither null (T5.1).
 * @param {Type} t
 * @param {any} a
 * @param {any} b
 * @returns {number}
 */
export function compareValues(t, a, b) {
  if (t.kind === 'text') return compareTexts(a, b)
  return a < b ? -1 : a > b ? 1 : 0 // −0 equals 0; false is before true
}

const pad = (/** @type {number | bigint} */ n, /** @type {number} */ width) => String(n).padStart(width, '0')

/** Year, month and day of a number of days since 1970-01-01, proleptic Gregorian. @param {number} days */
export function civil(days) {
  const z = days + 719468
  const era = Math.floor(z / 146097)
  const doe = z - era * 146097
  const yoe = Math.floor((doe - Math.floor(doe / 1460) + Math.floor(doe / 36524) - Math.floor(doe / 146096)) / 365)
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100))
  const mp = Math.floor((5 * doy + 2) / 153)
  const month = mp < 10 ? mp + 3 : mp - 9
  return { year: yoe + era * 400 + (month <= 2 ? 1 : 0), month, day: doy - Math.floor((153 * mp + 2) / 5) + 1 }
}

/** Days since 1970-01-01. @param {number} year @param {number} month @param {number} day */
export function daysOf(year, month, day) {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yoe = y - era * 400
  const doy = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1
  return era * 146097 + yoe * 365 + Math.floor(yoe / 4) - Math.floor(yoe / 100) + doy - 719468
}

const FIRST_DAY = BigInt(daysOf(1, 1, 1))
const LAST_DAY = BigInt(daysOf(9999, 12, 31))
const DAY = 86400000000n

/** Whether a date or timestamp is within the years 0001 to 9999. @param {Type} t @param {any} v */
export function hasText(t, v) {
  if (t.kind === 'date') return v >= FIRST_DAY && v <= LAST_DAY
  if (t.kind === 'timestamp') return v >= FIRST_DAY * DAY && v < (LAST_DAY + 1n) * DAY
  return true
}

/** @param {bigint} days */
export function dateText(days) {
  const { year, month, day } = civil(Number(days))
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`
}

/** @param {bigint} micros */
function timestampText(micros) {
  let days = micros / DAY, rest = micros % DAY
  if (rest < 0n) { days--; rest += DAY }
  const s = rest / 1000000n
  return `${dateText(days)} ${pad(s / 3600n, 2)}:${pad(s / 60n % 60n, 2)}:${pad(s % 60n, 2)}.${pad(rest % 1000000n, 6)}`
}

/** @param {bigint} units @param {number} scale */
export function scaledText(units, scale) {
  const sign = units < 0n ? '-' : '', digits = (units < 0n ? -units : units).toString()
  if (!scale) return sign + digits
  const e = digits.length - 1 - scale
  if (e >= -6) {
    const full = digits.padStart(scale + 1, '0')
    return `${sign}${full.slice(0, -scale)}.${full.slice(-scale)}`
  }
  return `${sign}${digits[0]}${digits.length > 1 ? '.' + digits.slice(1) : ''}E-${-e}`
}

/** @param {number} v */
export function floatText(v) {
  if (!Number.isFinite(v)) return v > 0 ? 'inf' : '-inf'
  if (v === 0) return Object.is(v, -0) ? '-0' : '0'
  // without an argument, toExponential gives the shortest digits that read back, the nearest of them
  const [mantissa, exponent] = v.toExponential().split('e')
  const e = Number(exponent)
  const sign = v < 0 ? '-' : '', digits = mantissa.replace('-', '').replace('.', '')
  if (e < -6 || e > 9) return `${mantissa}e${e < 0 ? '-' : '+'}${Math.abs(e)}`
  if (e < 0) return `${sign}0.${'0'.repeat(-e - 1)}${digits}`
  if (digits.length <= e + 1) return sign + digits.padEnd(e + 1, '0')
  return `${sign}${digits.slice(0, e + 1)}.${digits.slice(e + 1)}`
}

/**
 * A value as its text (T2).
 * @param {Type} t
 * @param {any} v
 * @returns {string}
 */
export function textOf(t, v) {
  switch (t.kind) {
    case 'text': return v
    case 'integer': return v.toString()
    case 'decimal': return scaledText(v, t.scale)
    case 'float': return floatText(v)
    case 'date': return dateText(v)
    case 'timestamp': return timestampText(v)
    default: return v ? 'true' : 'false'
  }
}

/** @param {string} y @param {string} m @param {string} d @returns {bigint | undefined} */
function day(y, m, d) {
  const n = daysOf(Number(y), Number(m), Number(d))
  const back = civil(n)
  return Number(y) > 0 && back.year === Number(y) && back.month === Number(m) && back.day === Number(d) ? BigInt(n) : undefined
}

/** A moment in microseconds, from a date or an ISO 8601 text without a zone; undefined for others. @param {string} text */
export function moment(text) {
  const f = /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?)?$/.exec(text)
  const days = f && day(f[1], f[2], f[3])
  if (!f || days === undefined || days === null || Number(f[4] ?? 0) > 23 || Number(f[5] ?? 0) > 59 || Number(f[6] ?? 0) > 59) return undefined
  return days * DAY + (BigInt(f[4] ?? 0) * 3600n + BigInt(f[5] ?? 0) * 60n + BigInt(f[6] ?? 0)) * 1000000n + BigInt((f[7] ?? '').padEnd(6, '0'))
}

/**
 * The value that has this text (T2), or undefined if no value of the type has it.
 * @param {Type} t
 * @param {string} text
 * @returns {Value | undefined}
 */
export function valueOf(t, text) {
  /** @type {Value | undefined} */
  let v
  switch (t.kind) {
    case 'text': return text
    case 'integer': v = /^-?[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined
      if (typeof v === 'bigint' && BigInt.asIntN(64, v) !== v) v = undefined
      break
    case 'decimal': {
      const f = text.length < 120 ? fromDecimal(text) : undefined
      const scaled = f && f.n * 10n ** BigInt(t.scale)
      v = f && scaled !== undefined && scaled % f.d === 0n ? scaled / f.d : undefined
      if (typeof v === 'bigint' && (v <= -(10n ** 38n) || v >= 10n ** 38n)) v = undefined
      break
    }
    case 'float': v = text === 'inf' ? Infinity : text === '-inf' ? -Infinity : /^-?[0-9]/.test(text) ? Number(text) : undefined
      if (Number.isNaN(v)) v = undefined
      break
    case 'date': {
      const f = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)
      v = f ? day(f[1], f[2], f[3]) : undefined
      break
    }
    case 'timestamp': v = moment(text); break
    default: return text === 'true' ? true : text === 'false' ? false : undefined
  }
  return v !== undefined && textOf(t, v) === text ? v : undefined
}

/**
 * The number that a value is: days of a date, seconds of a timestamp, the decimal of a float's text (P11, T1.7).
 * @param {Type} t
 * @param {any} v
 * @returns {import('./fractions.js').Fraction}
 */
export function numberOf(t, v) {
  switch (t.kind) {
    case 'integer': case 'date': return fraction(v)
    case 'decimal': return fraction(v, 10n ** BigInt(t.scale))
    case 'timestamp': return fraction(v, 1000000n)
    case 'float': return fromDecimal(floatText(v)) ?? fraction(0)
    default: throw new TypeError('no number')
  }
}
