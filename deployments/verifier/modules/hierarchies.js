/** Hierarchies: their form (M3.7 to M3.9), levels of a value (P7.1), and their files (X3). */
import { must } from './refusal.js'
import { civil, textOf, typeOf } from './values.js'
import { encodeUtf8, firstCharacters, lengthOf } from './text.js'

const PERIODS = ['month', 'quarter', 'year', 'decade', 'century']

/** @param {any} column with a hierarchy */
export function checkHierarchy(column) {
  const h = column.hierarchy, at = `column ${column.name}`
  const wrong = (/** @type {unknown} */ ok, /** @type {string} */ rule, /** @type {string} */ detail) => must(ok, 'hierarchy-wrong', rule, at, detail)
  if (Array.isArray(h)) {
    wrong(h.length > 0, 'M3.8', 'no rows')
    const width = h[0].length
    wrong(width >= 2, 'M3.8', 'fewer than two labels')
    /** @type {Map<string, string>[]} */
    const above = Array.from({ length: width }, () => new Map())
    for (const row of h) {
      wrong(row.length === width && row.every((/** @type {string} */ l) => l !== '') && row[width - 1] === '*', 'M3.8', 'a row without its labels')
      for (let i = 0; i < width; i++) {
        const rest = JSON.stringify(row.slice(i + 1)), before = above[i].get(row[i])
        wrong(i > 0 || before === undefined, 'M3.8', 'a leaf twice')
        wrong(before === undefined || before === rest, 'M3.8', 'a label with different labels above it')
        above[i].set(row[i], rest)
      }
    }
    return
  }
  const rule = (/** @type {unknown} */ ok) => must(ok, 'manifest-schema', 'M3.7', at)
  if (h.intervals) {
    wrong(column.type === 'integer', 'M3.9', 'intervals of another type')
    rule(h.intervals.every((/** @type {number} */ w, /** @type {number} */ i) => !i || (w > h.intervals[i - 1] && w % h.intervals[i - 1] === 0)))
  } else if (h.dates) {
    wrong(column.type === 'date', 'M3.9', 'dates of another type')
    const places = h.dates.map((/** @type {string} */ p) => PERIODS.indexOf(p))
    rule(places.every((/** @type {number} */ p, /** @type {number} */ i) => !i || p > places[i - 1]))
  } else {
    wrong(column.type === 'string', 'M3.9', 'prefixes of another type')
    rule(h.prefixes.every((/** @type {number} */ m, /** @type {number} */ i) => !i || m < h.prefixes[i - 1]))
  }
}

/** The label of the period of a day (F6.4). @param {bigint} days @param {string} period */
export function periodLabel(days, period) {
  const { year, month } = civil(Number(days))
  const y = String(year).padStart(4, '0')
  switch (period) {
    case 'month': return `${y}-${String(month).padStart(2, '0')}`
    case 'quarter': return `${y}-Q${Math.ceil(month / 3)}`
    case 'year': return y
    case 'decade': return `${y.slice(0, 3)}0s`
    default: return `${y.slice(0, 2)}xx`
  }
}

/**
 * For each level from 0 to H − 1, the label of a value (P7.1); undefined for a value that is not in the hierarchy.
 * @param {any} column
 * @returns {((value: any) => string | undefined)[]}
 */
export function levelsOf(column) {
  const h = column.hierarchy, t = typeOf(column)
  if (Array.isArray(h)) {
    const rows = new Map(h.map((/** @type {string[]} */ row) => [row[0], row]))
    return h[0].slice(0, -1).map((/** @type {string} */ _, /** @type {number} */ level) =>
      (/** @type {any} */ v) => rows.get(textOf(t, v))?.[level])
  }
  const levels = [(/** @type {any} */ v) => textOf(t, v)]
  for (const width of h.intervals ?? []) {
    const w = BigInt(width)
    levels.push(v => String(v >= 0n ? v / w : -((-v + w - 1n) / w)))
  }
  for (const period of h.dates ?? []) levels.push(v => periodLabel(v, period))
  for (const m of h.prefixes ?? []) levels.push(v => firstCharacters(v, m) + '*'.repeat(Math.max(0, lengthOf(v) - m)))
  return levels
}

/** The bytes of the file of an array (X3.1). @param {string[][]} rows */
export function hierarchyFile(rows) {
  const label = (/** @type {string} */ l) => /[,"\n\r]/.test(l) ? `"${l.replaceAll('"', '""')}"` : l
  return encodeUtf8(rows.map(row => row.map(label).join(',') + '\n').join(''))
}
