/** Promises about every combination of labels of a few quasi-identifiers (P17, P18). */
import { combine, countValues } from './grouping.js'
import { compare, fraction } from './fractions.js'

/** @typedef {import('./column.js').Column} Column */
/** @typedef {import('./fractions.js').Fraction} Fraction */

/**
 * Every choice of so many of some things, in their order.
 * @template T
 * @param {T[]} things
 * @param {number} size at most as many as there are
 * @returns {Generator<T[]>}
 */
export function* choices(things, size) {
  if (!size) { yield []; return }
  for (let i = 0; i + size <= things.length; i++) {
    for (const others of choices(things.slice(i + 1), size - 1)) yield [things[i], ...others]
  }
}

/**
 * The least number of rows of a combination of labels, and the largest share of a value in one.
 * @param {import('./column.js').Table} table
 * @param {string[]} names the quasi-identifiers
 * @param {number} known how many of them are known
 * @param {Column | undefined} column of the values, if shares are asked for
 * @param {Set<number> | undefined} only the ranks of the values whose shares are asked for; undefined for all
 * @returns {{k: number, c: Fraction}}
 */
export function overCombinations(table, names, known, column, only) {
  let k = Infinity, c = fraction(0)
  for (const chosen of choices(names.map(name => table.column(name)), Math.min(known, names.length))) {
    const { groupOf, groups } = combine(chosen.map(x => x.ranks), chosen.map(x => x.rankCount), table.length)
    if (!column) {
      const sizes = new Float64Array(groups)
      for (const g of groupOf) sizes[g]++
      for (const n of sizes) k = Math.min(k, n)
      continue
    }
    const counts = countValues(groupOf, groups, column, undefined)
    for (let g = 0; g < groups; g++) {
      k = Math.min(k, counts.sizes[g])
      let most = 0
      for (let i = counts.start[g]; i < counts.start[g + 1]; i++) {
        if (!only || only.has(counts.values[i])) most = Math.max(most, counts.counts[i])
      }
      const share = fraction(most, counts.sizes[g])
      if (compare(share, c) > 0) c = share
    }
  }
  return { k, c }
}
