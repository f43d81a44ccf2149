/** Groups of a promise and the counts of their values (P1.2 to P1.4). */
import { Column } from './column.js'
import { hasLabels, isComposed } from './forms.js'
import { refuse } from './refusal.js'
import { fraction } from './fractions.js'

/**
 * Counts of values by group, as lists: group g has places start[g] to start[g + 1] of `values` (ranks, ascending)
 * and `counts`. Counts are whole Numbers; tables are read only if all of them add up to less than 2^53.
 * @typedef {object} Counts
 * @property {number} groups
 * @property {Int32Array} start
 * @property {Int32Array} values
 * @property {Float64Array} counts
 * @property {Float64Array} sizes n of each group
 * @property {Float64Array} live live rows of each group
 * @property {number} total N
 * @property {Float64Array} totals N(v) by rank
 * @property {Column} column
 * @property {Int32Array | undefined} groupOf the group of each row
 */

/**
 * One column of the rows of two tables.
 * @param {Column} a
 * @param {Column} b
 */
export function joined(a, b) {
  if (!b.length) return a
  const values = [...a.values], known = new Map(a.values.map((v, i) => [Object.is(v, -0) ? '-0' : v, i]))
  const map = b.values.map(v => {
    const key = Object.is(v, -0) ? '-0' : v
    if (!known.has(key)) { known.set(key, values.length); values.push(v) }
    return known.get(key)
  })
  const codes = new Int32Array(a.length + b.length)
  codes.set(a.codes)
  for (let i = 0; i < b.length; i++) codes[a.length + i] = b.codes[i] < 0 ? -1 : map[b.codes[i]]
  return new Column(a.name, a.type, a.nullable || b.nullable, codes, values)
}

/**
 * Numbers the different combinations of ranks, in the order of first rows.
 * @param {Int32Array[]} lists
 * @param {number[]} sizes how many ranks each list has
 * @param {number} rows
 */
export function combine(lists, sizes, rows) {
  let now = new Int32Array(rows), groups = rows ? 1 : 0
  lists.forEach((ranks, k) => {
    const size = sizes[k], next = new Int32Array(rows)
    let found = 0
    if (groups * size <= 1 << 24) {
      const table = new Int32Array(groups * size).fill(-1)
      for (let i = 0; i < rows; i++) {
        const key = now[i] * size + ranks[i]
        next[i] = table[key] >= 0 ? table[key] : (table[key] = found++)
      }
    } else {
      const map = new Map()
      for (let i = 0; i < rows; i++) {
        const key = now[i] * size + ranks[i]
        let g = map.get(key)
        if (g === undefined) map.set(key, g = found++)
        next[i] = g
      }
    }
    now = next
    groups = found
  })
  return { groupOf: now, groups }
}

/**
 * Counts from rows.
 * @param {Int32Array} groupOf
 * @param {number} groups
 * @param {Column} column
 * @param {Float64Array | undefined} weights
 * @returns {Counts}
 */
export function countValues(groupOf, groups, column, weights) {
  const rows = groupOf.length, ranks = column.ranks, size = column.rankCount
  const totals = new Float64Array(size), sizes = new Float64Array(groups)
  let total = 0
  for (let i = 0; i < rows; i++) {
    const w = weights ? weights[i] : 1
    totals[ranks[i]] += w
    sizes[groupOf[i]] += w
    total += w
  }
  // rows by value, then by group: two counting sorts
  const byValue = countingSort(rows, i => ranks[i], size, i => i)
  const byGroup = countingSort(rows, i => groupOf[byValue[i]], groups, i => byValue[i])
  const start = new Int32Array(groups + 1), values = new Int32Array(rows), counts = new Float64Array(rows)
  let n = 0, g = -1
  for (const row of byGroup) {
    while (g < groupOf[row]) start[++g] = n
    const w = weights ? weights[row] : 1
    if (n > start[g] && values[n - 1] === ranks[row]) counts[n - 1] += w
    else { values[n] = ranks[row]; counts[n++] = w }
  }
  while (g < groups) start[++g] = n
  return { groups, start, values: values.slice(0, n), counts: counts.slice(0, n), sizes, live: sizes, total, totals, column, groupOf }
}

/** @param {number} n @param {(i: number) => number} key @param {number} keys @param {(i: number) => number} value */
function countingSort(n, key, keys, value) {
  const next = new Int32Array(keys + 1), out = new Int32Array(n)
  for (let i = 0; i < n; i++) next[key(i) + 1]++
  for (let k = 0; k < keys; k++) next[k + 1] += next[k]
  for (let i = 0; i < n; i++) out[next[key(i)]++] = value(i)
  return out
}

/** A column for promises that are about rows alone. @param {number} rows */
const nothing = rows => new Column('', { kind: 'integer', scale: 0 }, false, new Int32Array(rows), [0n])

/**
 * The groups of a promise and what they have (P1.2); counted once for promises with the same groups and column.
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @returns {Counts}
 */
export function countsOf(release, promise) {
  const labels = hasLabels(release.d) && !isComposed(release.d)
  const key = JSON.stringify([labels ? promise['quasi-identifiers'] : '', promise.known ?? [], aboutValues(promise) ? promise.sensitive : ''])
  release.counted ??= new Map()
  let found = release.counted.get(key)
  if (!found) release.counted.set(key, found = count(release, promise))
  return found
}

/** @param {import('./relations.js').Release} release @param {any} promise @returns {Counts} */
function count(release, promise) {
  const { d, tables } = release
  const get = (/** @type {string} */ name) => /** @type {import('./column.js').Table} */(tables.get(name))
  const known = promise.known ?? [], sensitive = aboutValues(promise) ? promise.sensitive : undefined
  const id = (/** @type {Column} */ c) => ({ list: c.ranks, size: c.rankCount })
  /** @param {{list: Int32Array, size: number}[]} keys @param {number} rows */
  const grouping = (keys, rows) => combine(keys.map(k => k.list), keys.map(k => k.size), rows)
  if (hasLabels(d)) {
    const table = get('microdata'), composed = isComposed(d)
    const names = composed ? ['group_id', ...known] : [...promise['quasi-identifiers'], ...known]
    const { groupOf, groups } = grouping(names.map(n => id(table.column(n))), table.length)
    const counts = countValues(groupOf, groups, sensitive ? table.column(sensitive) : nothing(table.length), undefined)
    if (composed) {
      const lineage = get('lineage'), vacant = lineage.column('vacant').numbers, ids = table.column('group_id').numbers
      counts.live = counts.sizes.slice()
      const done = new Uint8Array(groups)
      for (let i = 0; i < table.length; i++) {
        if (done[groupOf[i]]) continue
        done[groupOf[i]] = 1
        counts.live[groupOf[i]] = Math.max(0, counts.sizes[groupOf[i]] - vacant[ids[i]])
      }
    }
    return counts
  }
  if (d.form.method === 'permuted' || d.form.method === 'apart') {
    const table = get(d.form.method === 'apart' ? d.form.people : 'microdata'), left = tables.get('vacant')
    const column = (/** @type {string} */ name) => left ? joined(table.column(name), left.column(name)) : table.column(name)
    const keys = ['group_id', ...known].map(n => id(column(n)))
    const rows = table.length + (left?.length ?? 0)
    const { groupOf, groups } = grouping(keys, rows)
    return countValues(groupOf, groups, sensitive ? column(sensitive) : nothing(rows), undefined)
  }
  if (!sensitive) { // people of split (P19.2): its exact rows
    const table = get('qit'), { groupOf, groups } = grouping([id(table.column('group_id'))], table.length)
    return countValues(groupOf, groups, nothing(table.length), undefined)
  }
  // split, ambiguous: the table of counts that has all of these columns
  const plan = release.plans.find(p => p.counts && [sensitive, ...known].every(n => p.fields.some(f => f.declared?.name === n)))
  if (!plan) return refuse('promise-scope', 'P1.3', 'promises', 'no table has these columns together')
  const table = get(plan.name)
  const { groupOf, groups } = grouping(['group_id', ...known].map(n => id(table.column(n))), table.length)
  return countValues(groupOf, groups, table.column(sensitive), table.column('count').numbers)
}

/** Whether a promise is about values (P1.1). @param {any} promise */
export const aboutValues = promise => !['k-anonymity', 'k-map', 'km-anonymity', 'delta-presence', 'people'].includes(promise.model)

/**
 * Sums of a column of weights by group (P3), in units of 10^−scale; undefined if they cannot be summed.
 * @param {Counts} counts
 * @param {Column} weight
 */
export function weightSums(counts, weight) {
  if (weight.hasNulls || (weight.type.kind !== 'integer' && weight.type.kind !== 'decimal')) return undefined
  const sums = new Array(counts.groups).fill(0n)
  const groupOf = /** @type {Int32Array} */(counts.groupOf)
  for (let i = 0; i < groupOf.length; i++) sums[groupOf[i]] += weight.values[weight.codes[i]]
  const unit = 10n ** BigInt(weight.type.scale)
  return sums.map(s => fraction(s, unit))
}
