/** Counts of a part together with one further group, that of all rows of all other parts (P1.7). */
import { countsOf, countValues } from './grouping.js'
import { Column } from './column.js'

/**
 * @param {import('./relations.js').Release[]} releases
 * @param {any} promise
 * @returns {{counts: import('./grouping.js').Counts, own: number}[]} one for each part
 */
export function withOthers(releases, promise) {
  const list = releases.map(r => countsOf(r, promise))
  return list.map((own, i) => {
    const others = list.filter((_, k) => k !== i)
    // entries of the part's groups, then of the further group, as rows of one column
    /** @type {any[]} */
    const values = []
    const codes = [], groups = [], weights = [], known = new Map()
    const add = (/** @type {import('./grouping.js').Counts} */ c, /** @type {(g: number) => number} */ groupOf) => {
      for (let g = 0; g < c.groups; g++) {
        for (let j = c.start[g]; j < c.start[g + 1]; j++) {
          const v = c.column.valueOfRank(c.values[j])
          if (v === null) codes.push(-1)
          else {
            const key = v === 0 ? 0 : v
            if (!known.has(key)) { known.set(key, values.length); values.push(v) }
            codes.push(known.get(key))
          }
          groups.push(groupOf(g))
          weights.push(c.counts[j])
        }
      }
    }
    add(own, g => g)
    for (const other of others) add(other, () => own.groups)
    const column = new Column(own.column.name, own.column.type, true, Int32Array.from(codes), values)
    const counts = countValues(Int32Array.from(groups), own.groups + (others.length ? 1 : 0), column, Float64Array.from(weights))
    return { counts, own: own.groups }
  })
}
