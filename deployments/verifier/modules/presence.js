/** Presence of people in `ambiguous` (P12.2 to P12.6). */
import { add, compare, fraction, largest, ONE, smallest, ZERO } from './fractions.js'
import { safe } from './text.js'
import { sumsBy } from './relations.js'

/** @typedef {import('./fractions.js').Fraction} Fraction */

/** Steps of the search before it is given up (P12.5). */
const MOST_STEPS = 2000000

/**
 * The observed α, or undefined if the search was given up.
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @returns {Fraction | undefined}
 */
export function presence(release, promise) {
  const counts = release.plans.find(p => p.counts), groups = /** @type {number} */(release.groups)
  const grouped = (/** @type {string} */ name) => /** @type {import('./order.js').Grouped} */(release.grouped.get(name))
  const sizes = sumsBy(grouped(/** @type {any} */(counts).name), 'count')
  const names = [...new Set(promise['quasi-identifiers'])]
  const cells = release.cells ?? new Map()
  const tables = names.map(q => ({ table: grouped(`at_${safe(q)}`), ranks: grouped(`at_${safe(q)}`).table.column(q).ranks }))
  const all = tables.map(({ table, ranks }) => Array.from({ length: groups }, (_, g) => {
    const list = []
    for (let i = table.start[g]; i < table.start[g + 1]; i++) list.push(ranks[table.rows[i]])
    return list
  }))
  // a part is a group, or a cell of it: with one value of each column that has a marginal (P12.6)
  let parts = Array.from({ length: groups }, (_, g) => ({ rows: sizes[g], lists: all.map(lists => lists[g]), g }))
  names.forEach((q, column) => {
    const most = cells.get(q)
    if (!most) return
    parts = parts.flatMap(({ rows, lists, g }) => all[column][g].map((rank, k) => ({
      rows: Math.min(rows, most[g][k]), lists: lists.map((list, other) => other === column ? [rank] : list), g,
    })))
  })
  const shares = parts.map(({ rows, lists }) => {
    let vectors = 1n
    for (const list of lists) vectors *= BigInt(list.length)
    return smallest(ONE, fraction(BigInt(rows), vectors))
  })
  if (promise.presence === 'per-group') return shares.reduce(largest)
  return mostCovered(shares, names.map((_, column) => parts.map(({ lists }) => lists[column])))
}

/**
 * The largest sum of shares of groups that cover one vector, at most 1.
 * @param {Fraction[]} shares
 * @param {number[][][]} admitted by quasi-identifier and group, the admitted values
 * @returns {Fraction | undefined}
 */
export function mostCovered(shares, admitted) {
  let best = ZERO, steps = 0, gaveUp = false
  /** @param {number[]} alive groups that cover what is chosen so far @param {number[]} left quasi-identifiers without a value */
  const search = (alive, left) => {
    if (gaveUp || ++steps > MOST_STEPS) { gaveUp = true; return }
    const sum = alive.reduce((s, g) => add(s, shares[g]), ZERO)
    if (compare(sum, best) <= 0) return
    if (!left.length || alive.length === 1) { best = sum; return }
    // the quasi-identifier that splits most comes first
    let choice = left[0]
    /** @type {Map<number, number[]> | undefined} */
    let split
    let smallestPart = Infinity
    for (const q of left) {
      /** @type {Map<number, number[]>} */
      const parts = new Map()
      for (const g of alive) for (const v of admitted[q][g]) { const list = parts.get(v); if (list) list.push(g); else parts.set(v, [g]) }
      let most = 0
      for (const list of parts.values()) most = Math.max(most, list.length)
      if (most < smallestPart) { smallestPart = most; choice = q; split = parts }
    }
    const rest = left.filter(q => q !== choice)
    const seen = new Set(), parts = [.../** @type {Map<number, number[]>} */(split).values()].sort((a, b) => b.length - a.length)
    for (const part of parts) {
      const key = part.join()
      if (seen.has(key)) continue
      seen.add(key)
      search(part, rest)
      if (compare(best, ONE) >= 0) return
    }
  }
  search(shares.map((_, g) => g), admitted.map((_, q) => q))
  return gaveUp ? undefined : smallest(best, ONE)
}
