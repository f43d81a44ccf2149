/** Labels of quasi-identifiers: what they stand for (F6). */
import { civil, compareValues, daysOf, typeOf, valueOf } from './values.js'
import { compareTexts, lengthOf } from './text.js'
import { periodLabel } from './hierarchies.js'

/**
 * @typedef {object} Label
 * @property {boolean} [missing] whether a missing value is in it by its own words
 * @property {boolean} [any] whether it stands for everything
 * @property {any[]} [values] single values that it lists
 * @property {string[]} [leaves] leaves of an array that it stands for
 */

const OR_NULL = ' or null'

/** A JSON string as F6.5 writes it. @param {string} text */
export function quote(text) {
  const short = { 8: '\\b', 9: '\\t', 10: '\\n', 12: '\\f', 13: '\\r', 34: '\\"', 92: '\\\\' }
  let out = '"'
  for (const c of text) {
    const code = c.charCodeAt(0)
    const plain = code >= 32 && code !== 34 && code !== 92
    out += plain ? c : short[/** @type {8} */(code)] ?? `\\u${code.toString(16).padStart(4, '0')}`
  }
  return out + '"'
}

/** Whether a text must be quoted in a set (F6.5). @param {string} text */
export function isSpecial(text) {
  const end = text.endsWith('\n') ? text.slice(0, -1) : text
  return text === '' || /[{},"]/.test(text) || /^[[ *]/.test(text) || /[ \]]$/.test(end) || end.endsWith(OR_NULL)
    || /[ \]]$/.test(text) || text.endsWith(OR_NULL)
}

/** How a set is written (F6.5). @param {string[]} texts ascending @param {boolean} missing */
export function setLabel(texts, missing) {
  const parts = texts.map(t => isSpecial(t) ? quote(t) : t)
  const body = texts.length === 1 && !isSpecial(texts[0]) ? texts[0] : `{${parts.join(', ')}}`
  return body + (missing ? OR_NULL : '')
}

/** How a set of one text is written plainly (F6.6). @param {string} text @param {boolean} missing */
export function plainLabel(text, missing) {
  const guarded = text === '' || text === '*' || text[0] === '{' || text[0] === '[' || text.endsWith(OR_NULL)
  return (guarded ? `{${quote(text)}}` : text) + (missing ? OR_NULL : '')
}

/** Reads the inside of braces; undefined if it is none. @param {string} inner @returns {string[] | undefined} */
function members(inner) {
  const out = []
  let i = 0
  for (;;) {
    if (inner[i] === '"') {
      const found = /^"(?:[^"\\]|\\.)*"/su.exec(inner.slice(i))
      if (!found) return undefined
      try { out.push(JSON.parse(found[0])) } catch { return undefined }
      i += found[0].length
    } else {
      const end = inner.indexOf(', ', i)
      out.push(inner.slice(i, end < 0 ? inner.length : end))
      i = end < 0 ? inner.length : end
    }
    if (i === inner.length) return out
    if (!inner.startsWith(', ', i)) return undefined
    i += 2
  }
}

/**
 * Reads a label of a set (F6.5, F6.6).
 * @param {string} text
 * @returns {{texts: string[], missing: boolean} | undefined}
 */
export function readSet(text) {
  for (const missing of [true, false]) {
    if (missing && !text.endsWith(OR_NULL)) continue
    const body = missing ? text.slice(0, -OR_NULL.length) : text
    if (body.startsWith('{') && body.endsWith('}')) {
      const texts = members(body.slice(1, -1))
      if (texts?.length && texts.every((t, i) => !i || compareTexts(texts[i - 1], t) < 0)) {
        if (setLabel(texts, missing) === text || (texts.length === 1 && plainLabel(texts[0], missing) === text)) return { texts, missing }
      }
    }
    if (setLabel([body], missing) === text || plainLabel(body, missing) === text) return { texts: [body], missing }
  }
  return undefined
}

/** @param {string} text @param {number[]} widths */
function readInterval(text, widths) {
  const single = valueOf({ kind: 'integer', scale: 0 }, text)
  if (single !== undefined) return { values: [single] }
  const found = /^([0-9]+)-([0-9]+)$/.exec(text) ?? /^(-[0-9]+) to (-?[0-9]+)$/.exec(text)
  if (!found) return undefined
  const low = valueOf({ kind: 'integer', scale: 0 }, found[1]), high = valueOf({ kind: 'integer', scale: 0 }, found[2])
  if (typeof low !== 'bigint' || typeof high !== 'bigint') return undefined
  const width = high - low + 1n
  return widths.some(w => BigInt(w) === width) && low % width === 0n ? {} : undefined
}

/** @param {string} text @param {string[]} periods */
function readPeriod(text, periods) {
  const single = valueOf({ kind: 'date', scale: 0 }, text)
  if (single !== undefined) return { values: [single] }
  for (const period of periods) {
    // the label of a day inside the period, if it is one
    const f = /^([0-9]{4})(?:-([0-9]{2})|-Q([1-4]))?$/.exec(text) ?? /^([0-9]{3})0s$/.exec(text) ?? /^([0-9]{2})xx$/.exec(text)
    if (!f) return undefined
    const digits = f[1], year = Number(digits.padEnd(4, '0'))
    const month = f[2] ? Number(f[2]) : f[3] ? Number(f[3]) * 3 : 1
    if (month < 1 || month > 12) return undefined
    for (const y of [year, year + 1]) {
      if (y < 1 || y > 9999) continue
      if (periodLabel(BigInt(daysOf(y, month, 1)), period) === text && civil(daysOf(y, month, 1)).year === y) return {}
    }
  }
  return undefined
}

/** @param {string} text @param {number[]} lengths */
function readPrefix(text, lengths) {
  const n = lengthOf(text), kept = lengthOf(text.replace(/\*+$/, ''))
  return lengths.some(m => m < n && kept <= m) ? {} : { values: [text] }
}

/** @param {import('./values.js').Type} t @param {string} text @returns {Label | undefined} */
function readRange(t, text) {
  const missing = text.endsWith(OR_NULL)
  const body = missing ? text.slice(0, -OR_NULL.length) : text
  const single = valueOf(t, body)
  if (single !== undefined) return { values: [single], missing }
  const found = /^\[(.*), (.*)\]$/s.exec(body)
  const low = found ? valueOf(t, found[1]) : undefined, high = found ? valueOf(t, found[2]) : undefined
  return low !== undefined && high !== undefined && compareValues(t, low, high) < 0 ? { missing } : undefined
}

/**
 * A reader of the labels of a column: what a label stands for, or undefined for a text that is none.
 * @param {any} column
 * @param {string} form `generalized` or `suppressed`
 * @returns {(text: string) => Label | undefined}
 */
export function labelReader(column, form) {
  const t = typeOf(column), h = column.hierarchy
  /** @param {string} text @returns {Label | undefined} */
  const inner = text => {
    if (form === 'suppressed') { const v = valueOf(t, text); return v === undefined ? undefined : { values: [v] } }
    if (Array.isArray(h)) {
      const leaves = h.filter((/** @type {string[]} */ row) => row.includes(text)).map((/** @type {string[]} */ row) => row[0])
      return leaves.length ? { leaves } : undefined
    }
    if (h?.intervals) return readInterval(text, h.intervals)
    if (h?.dates) return readPeriod(text, h.dates)
    if (h?.prefixes) return readPrefix(text, h.prefixes)
    if (t.kind !== 'text' && t.kind !== 'boolean') return readRange(t, text)
    const set = readSet(text)
    if (!set || (t.kind === 'boolean' && !set.texts.every(x => x === 'true' || x === 'false'))) return undefined
    return { values: t.kind === 'boolean' ? set.texts.map(x => x === 'true') : set.texts, missing: set.missing }
  }
  return text => {
    if (text === '*') return { any: true }
    const label = inner(text)
    return label && (!label.missing || column.nulls) ? label : undefined
  }
}
