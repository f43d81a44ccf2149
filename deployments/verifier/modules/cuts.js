/** Which rows a part has: cuts and shares (F9.7, F9.8). */
import { must } from './refusal.js'
import { sameJson } from './canonical-json.js'
import { compare, fraction, fromDecimal } from './fractions.js'
import { columnsOf } from './forms.js'
import { moment, numberOf, textOf, typeOf } from './values.js'

/** @typedef {import('./fractions.js').Fraction} Fraction */

/** An end of a range as a number (F9.7); undefined if it is none. @param {any} column @param {string} text @returns {Fraction | undefined} */
export function endOf(column, text) {
  if (column.type === 'date' || column.type === 'timestamp') {
    const m = moment(text)
    return m === undefined ? undefined : column.type === 'date' ? fraction(m, 86400000000n) : fraction(m, 1000000n)
  }
  return fromDecimal(text)
}

/** Whether a share admits a value; null for a missing one (F9.7). @param {any} share @param {any} column @param {any} value */
export function admits(share, column, value) {
  if (value === null) return share.null
  const t = typeOf(column)
  if (share.values) return share.values.includes(textOf(t, value))
  if (share.from === undefined && share.below === undefined) return !share.null
  if (t.kind === 'text' || t.kind === 'boolean' || (t.kind === 'float' && !Number.isFinite(value))) return false
  const n = numberOf(t, value)
  const from = share.from === undefined ? undefined : endOf(column, share.from), below = share.below === undefined ? undefined : endOf(column, share.below)
  return (!from || compare(from, n) <= 0) && (!below || compare(n, below) < 0)
}

/** Whether two shares of one column admit no value in common (F9.8 c). @param {any} a @param {any} b @param {any} column */
function areApart(a, b, column) {
  if (a.null && b.null) return false
  const kind = (/** @type {any} */ s) => s.values ? 'list' : s.from !== undefined || s.below !== undefined ? 'range' : s.null ? 'nothing' : 'all'
  const x = kind(a), y = kind(b)
  if (x === 'nothing' || y === 'nothing') return true
  if (x === 'all' || y === 'all' || x !== y) return false
  if (x === 'list') return !a.values.some((/** @type {string} */ v) => b.values.includes(v))
  const end = (/** @type {string | undefined} */ t) => t === undefined ? undefined : endOf(column, t)
  const before = (/** @type {any} */ p, /** @type {any} */ q) => { const e = end(p.below), f = end(q.from); return Boolean(e && f && compare(e, f) <= 0) }
  return before(a, b) || before(b, a)
}

/** F9.8. @param {any[][]} cuts @param {Map<string, any>} columns @returns {boolean} */
function cutsAreApart(cuts, columns) {
  if (cuts.length < 2) return true
  if (cuts.some(c => !c.length) || cuts.some(c => c[0].column !== cuts[0][0].column)) return false
  /** @type {{share: any, rests: any[][]}[]} */
  const kinds = []
  for (const [share, ...rest] of cuts) {
    const found = kinds.find(k => sameJson(k.share, share))
    if (found) found.rests.push(rest)
    else kinds.push({ share, rests: [rest] })
  }
  for (let i = 0; i < kinds.length; i++) {
    const list = kinds[i].share.values
    if (list && new Set(list).size < list.length) return false
    for (let j = 0; j < i; j++) if (!areApart(kinds[i].share, kinds[j].share, columns.get(kinds[i].share.column))) return false
  }
  return kinds.every(k => cutsAreApart(k.rests, columns))
}

/** F9.7, F9.8. @param {any} d */
export function checkCuts(d) {
  const columns = new Map(d.columns.map((/** @type {any} */ c) => [c.name, c]))
  const quasi = new Set(columnsOf(d, 'quasi-identifier').map((/** @type {any} */ q) => q.name))
  const strata = d.strata.map((/** @type {any} */ s) => typeof s === 'string' ? s : s.column)
  const holds = (/** @type {unknown} */ ok, /** @type {string} */ rule, /** @type {string} */ where, /** @type {string} */ detail) => must(ok, 'parts-wrong', rule, where, detail)
  const all = []
  for (const entry of d.made_of) {
    const where = `parts/${entry.name}`
    holds(entry.where.length > 0, 'F9.7', where, 'no cut')
    for (const cut of entry.where) {
      holds(cut.length >= strata.length, 'F9.7', where, 'a cut without a share for every stratum')
      all.push(cut)
      cut.forEach((/** @type {any} */ share, /** @type {number} */ i) => {
        holds(i < strata.length ? share.column === strata[i] : quasi.has(share.column), 'F9.7', where, 'a share of another column')
        const type = columns.get(share.column).type
        holds((share.from ?? share.below) === undefined || (type !== 'string' && type !== 'boolean'), 'F9.7', where, 'a range of texts or booleans')
        for (const end of [share.from, share.below]) holds(end === undefined || endOf(columns.get(share.column), end), 'F9.7', where, 'an end that is no number')
      })
    }
  }
  holds(cutsAreApart(all, columns), 'F9.8', 'parts', 'cuts that may admit the same row')
}
