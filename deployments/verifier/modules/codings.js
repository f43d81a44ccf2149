/** Codings that can be seen in tables (X2), and weights. */
import { compare, fraction, fromDecimal } from './fractions.js'
import { must } from './refusal.js'
import { moment, numberOf } from './values.js'
import { lengthOf } from './text.js'

const ORDER = ['bottom', 'top', 'round', 'unite', 'prefix']

/** Visible codings of a column, in order (X2.1). @param {any} column @returns {string[]} */
export const visibleCodings = column => ORDER.filter(k => column[k] !== undefined && !(typeof column[k] === 'object' && column[k].share !== undefined))

/** A threshold as a number, comparable with numberOf (X2.4). @param {any} column @param {string} text */
function threshold(column, text) {
  if (column.type === 'date' || column.type === 'timestamp') {
    const m = moment(text)
    if (m === undefined) return undefined
    return column.type === 'date' ? fraction(m, 86400000000n) : fraction(m, 1000000n)
  }
  return fromDecimal(text)
}

/** Whether a text is its own plain spelling (X2.3), but for the case folding of characters beyond ASCII (X2.5). @param {string} text */
export function isPlainSpelling(text) {
  if (/\p{Cf}/u.test(text)) return false
  // spaces: only single ones between other characters, and no other space characters or controls
  if (/[\p{Z}\p{Cc}]/u.test(text.replaceAll(' ', '')) || /^ | $| {2}/.test(text)) return false
  if (/[A-Z]/.test(text)) return false
  return !/[^\x00-\x7f]/.test(text) || text.normalize('NFKC') === text
}

/** X2.3, X2.6. @param {any} column @param {import('./column.js').Column} c @param {string} at */
export function checkCodings(column, c, at) {
  const visible = visibleCodings(column)
  const excepted = column.fold?.into
  const values = c.values.filter(v => v !== excepted)
  for (const coding of visible) {
    const wrong = (/** @type {unknown} */ ok) => must(ok, 'value-uncoded', 'X2.3', at, coding)
    if (coding === 'bottom' || coding === 'top') {
      const bound = threshold(column, column[coding])
      must(bound, 'manifest-schema', 'X2.4', at, coding)
      wrong(values.every(v => compare(numberOf(c.type, v), /** @type {any} */(bound)) * (coding === 'bottom' ? 1 : -1) >= 0))
    } else if (coding === 'round') {
      const to = fromDecimal(column.round.to)
      must(to && to.n > 0n, 'manifest-schema', 'X2.4', at, coding)
      wrong(values.every(v => { const f = numberOf(c.type, v); return (f.n * /** @type {any} */(to).d) % (f.d * /** @type {any} */(to).n) === 0n }))
    } else if (coding === 'unite') wrong(values.every(isPlainSpelling))
    else wrong(values.every(v => lengthOf(v) <= column.prefix))
  }
  if (column.weight) must(c.values.every(v => v > 0), 'weight-not-positive', 'X2.6', at)
}
