/** Rules between the tables of a release (F2.3, F4, F5.1, F5.2, F6, F8), and canonical numbers of groups. */
import { must } from './refusal.js'
import { checkGroupIds, checkNumbering, Grouped } from './order.js'
import { checkTotal } from './tables.js'
import { columnsOf, hasLabels, isComposed, marginalsOf, numberingTables } from './forms.js'
import { labelReader } from './labels.js'
import { safe } from './text.js'
import { compareValues } from './values.js'
import { Targets } from './targets.js'
import { checkRelated } from './related.js'

/**
 * @typedef {object} Release what was read of a release that is not in parts
 * @property {any} d the declaration
 * @property {import('./forms.js').Plan[]} plans
 * @property {Map<string, import('./column.js').Table>} tables
 * @property {number} [groups] how many group ids there are
 * @property {Map<string, Grouped>} grouped
 * @property {Targets} [targets]
 * @property {Map<string, number[][]>} [cells] by a column with a marginal: of each group the most rows of each admitted value (F4.5)
 * @property {Map<string, import('./grouping.js').Counts>} [counted] counts of promises that were judged before
 */

/** Sums of an integer column by group. @param {Grouped} grouped @param {string} name */
export function sumsBy(grouped, name) {
  const c = grouped.table.column(name).numbers, groups = grouped.start.length - 1
  const out = new Float64Array(groups)
  for (let g = 0; g < groups; g++) for (let i = grouped.start[g]; i < grouped.start[g + 1]; i++) out[g] += c[grouped.rows[i]]
  return out
}

/**
 * All rules between tables.
 * @param {Release} release
 */
export function checkRelations(release) {
  const { d, tables } = release
  const get = (/** @type {string} */ name) => /** @type {import('./column.js').Table} */(tables.get(name))
  if (!isComposed(d) || d.form.method === 'redistributed') must(d.rows.vacant === undefined, 'row-count-wrong', 'M4.3', 'datapackage.json', 'rows.vacant')
  if (hasLabels(d)) checkLabels(d, get('microdata'))
  const first = { generalized: 'microdata', suppressed: 'microdata', permuted: 'microdata', split: 'qit', redistributed: 'qit', ambiguous: '', apart: d.form.people }[/** @type {'split'} */(d.form.method)]
    || release.plans.find(p => p.counts)?.name || ''
  if (!get(first).has('group_id')) return
  const groups = checkGroupIds(get(first), `data/${first}.parquet`)
  release.groups = groups
  for (const table of tables.values()) {
    if (!table.has('group_id')) continue
    const c = table.column('group_id')
    must(c.values.every(v => v >= 0n && v < BigInt(groups)), 'tables-disagree', 'T6.7', `data/${table.name}.parquet`, 'groups that another table does not have')
    release.grouped.set(table.name, new Grouped(table, groups))
  }
  const grouped = (/** @type {string} */ name) => /** @type {Grouped} */(release.grouped.get(name))
  const vacantOf = isComposed(d) ? checkLineage(release, grouped) : new Float64Array(groups)
  const rowsOf = isComposed(d) ? sumsBy(grouped('lineage'), 'rows') : undefined

  if (d.form.method === 'split' || d.form.method === 'ambiguous') {
    const counts = release.plans.filter(p => p.counts)
    /** @type {Float64Array | undefined} */
    let before
    for (const plan of counts) {
      const sums = sumsBy(grouped(plan.name), 'count')
      for (let g = 0; g < groups; g++) {
        const at = `data/${plan.name}.parquet`
        must(sums[g] >= 1 && (!before || before[g] === sums[g]), 'tables-disagree', 'F4.1', at, 'groups of different sizes')
        if (d.form.method === 'split') must(grouped('qit').size(g) + vacantOf[g] === sums[g], 'tables-disagree', 'F2.3', at)
        if (rowsOf) {
          must(rowsOf[g] + vacantOf[g] === sums[g], 'tables-disagree', 'F8.4', at)
          if (d.form.method === 'split') must(rowsOf[g] === grouped('qit').size(g), 'tables-disagree', 'F8.4', at)
        }
      }
      before = sums
    }
    if (d.form.method === 'ambiguous') {
      checkAdmitted(d, grouped, groups, /** @type {Float64Array} */(before))
      release.cells = checkMarginals(release, grouped, /** @type {Float64Array} */(before))
    }
  } else if (d.form.method === 'apart') checkRelated(d, grouped, groups)
  else if (d.form.method === 'redistributed') checkRedistributed(release, grouped, groups, rowsOf, vacantOf)
  else if (rowsOf) {
    for (let g = 0; g < groups; g++) {
      const size = grouped('microdata').size(g)
      if (d.form.method === 'permuted') {
        must(rowsOf[g] === size && vacantOf[g] === grouped('vacant').size(g), 'tables-disagree', 'F8.3', 'data/lineage.parquet')
      } else must(rowsOf[g] + vacantOf[g] === size, 'tables-disagree', 'F8.2', 'data/lineage.parquet')
    }
    if (hasLabels(d)) checkOneLabel(d, grouped('microdata'), groups)
  }
  checkNumbering(numberingTables(d).map(grouped), groups)
}

/** F6. @param {any} d @param {import('./column.js').Table} table */
function checkLabels(d, table) {
  for (const q of columnsOf(d, 'quasi-identifier')) {
    const read = labelReader(q, d.form.method)
    for (const text of table.column(q.name).values) {
      must(read(text), 'label-unreadable', 'F6', `data/microdata.parquet, column ${q.name}`)
    }
  }
}

/** F8.1. @param {Release} release @param {(name: string) => Grouped} grouped @returns {Float64Array} vacant by group */
function checkLineage(release, grouped) {
  const { d } = release, table = /** @type {import('./column.js').Table} */(release.tables.get('lineage')), at = 'data/lineage.parquet'
  const ids = table.column('group_id')
  for (let i = 0; i < table.length; i++) must(ids.at(i) === BigInt(i), 'order-wrong', 'F8.1', at, 'group_id is not 0, 1, …')
  must(table.length === release.groups, 'tables-disagree', 'T6.7', at, 'other groups than the tables')
  const previous = table.column('previous_group_id'), seen = new Set()
  for (const code of previous.codes) {
    if (code < 0) continue
    must(previous.values[code] >= 0n && !seen.has(code), 'order-wrong', 'F8.1', at, 'previous_group_id')
    seen.add(code)
  }
  must(table.column('vacant').values.every(v => v >= 0n), 'order-wrong', 'F8.1', at, 'vacant below 0')
  checkTotal(table, 'rows', d.rows.published, 'F8.1', at)
  return sumsBy(grouped('lineage'), 'vacant')
}

/** F8.2: all rows of a group have the same labels. @param {any} d @param {Grouped} grouped @param {number} groups */
function checkOneLabel(d, grouped, groups) {
  const ranks = columnsOf(d, 'quasi-identifier').map((/** @type {any} */ q) => grouped.table.column(q.name).ranks)
  for (let g = 0; g < groups; g++) {
    for (let i = grouped.start[g] + 1; i < grouped.start[g + 1]; i++) {
      for (const r of ranks) must(r[grouped.rows[i]] === r[grouped.rows[i - 1]], 'tables-disagree', 'F8.2', 'data/microdata.parquet', 'a group with different labels')
    }
  }
}

/** F4.2. @param {any} d @param {(name: string) => Grouped} grouped @param {number} groups @param {Float64Array} sizes */
function checkAdmitted(d, grouped, groups, sizes) {
  for (const q of columnsOf(d, 'quasi-identifier')) {
    const name = `at_${safe(q.name)}`, table = grouped(name), at = `data/${name}.parquet`
    const c = table.table.column(q.name).ranks
    for (let g = 0; g < groups; g++) {
      must(table.size(g) >= 1 && table.size(g) <= sizes[g], 'tables-disagree', 'F4.2', at, 'no admitted value, or more than rows')
      for (let i = table.start[g] + 1; i < table.start[g + 1]; i++) must(c[table.rows[i]] !== c[table.rows[i - 1]], 'order-wrong', 'F4.2', at, 'equal rows')
    }
  }
}

/**
 * F4.4, F4.5: the most rows of each group with each admitted value, by column with a marginal.
 * @param {Release} release
 * @param {(name: string) => Grouped} grouped
 * @param {Float64Array} sizes
 */
function checkMarginals(release, grouped, sizes) {
  const { d, tables } = release, cells = new Map()
  for (const plan of marginalsOf(d)) {
    const [{ name: q }] = plan.fields, at = `data/${plan.name}.parquet`
    const table = /** @type {import('./column.js').Table} */(tables.get(plan.name)), own = grouped(`at_${safe(q)}`)
    checkTotal(table, 'count', d.rows.published, 'F4.4', at)
    const counted = table.column(q), admitted = own.table.column(q), times = table.column('count').numbers
    const totals = new Map(Array.from(counted.ranks, (rank, i) => [rank, times[i]])), values = admitted.ranks
    must(totals.size === table.length, 'order-wrong', 'F4.4', at, 'equal rows')
    // sets of the same size with equal values rank them alike
    const alike = counted.rankCount === admitted.rankCount && new Set(values).size === totals.size && totals.has(0) === values.includes(0)
      && [...totals.keys()].every(r => r === 0 || compareValues(counted.type, counted.valueOfRank(r), admitted.valueOfRank(r)) === 0)
    must(alike, 'tables-disagree', 'F4.4', at, 'other values than groups admit')
    const most = mostRows(own, values, totals, sizes)
    must(most, 'tables-disagree', 'F4.5', at, 'no table has these counts')
    cells.set(q, most)
  }
  return cells
}

/**
 * F4.5. Returns nothing where a least number is above a greatest one.
 * @param {Grouped} own the values that groups admit
 * @param {Int32Array} values of its rows, as ranks
 * @param {Map<number, number>} totals
 * @param {Float64Array} sizes
 * @returns {number[][] | undefined} in the order of the rows of each group
 */
function mostRows(own, values, totals, sizes) {
  const groupOf = new Int32Array(values.length), spare = sizes.map((size, g) => size - own.size(g))
  for (let g = 0; g < sizes.length; g++) for (let i = own.start[g]; i < own.start[g + 1]; i++) groupOf[own.rows[i]] = g
  /** @type {Map<number, number>} */
  const excess = new Map(totals)
  for (const v of values) excess.set(v, /** @type {number} */(excess.get(v)) - 1)
  const ofGroup = Array.from(values, (_, i) => spare[groupOf[i]]), ofValue = Array.from(values, v => /** @type {number} */(excess.get(v)))
  /** Sums over the other rows of the same group, and of the same value. @param {number[]} a @param {number[]} b */
  const others = (a, b) => {
    const inGroup = new Float64Array(sizes.length)
    /** @type {Map<number, number>} */
    const withValue = new Map()
    values.forEach((v, i) => { inGroup[groupOf[i]] += a[i]; withValue.set(v, (withValue.get(v) ?? 0) + b[i]) })
    return Array.from(values, (v, i) => [inGroup[groupOf[i]] - a[i], /** @type {number} */(withValue.get(v)) - b[i]])
  }
  const least = others(ofValue, ofGroup).map(([g, v], i) => Math.max(0, ofGroup[i] - g, ofValue[i] - v))
  const most = others(least, least).map(([g, v], i) => Math.min(ofGroup[i] - g, ofValue[i] - v))
  if (most.some((n, i) => n < least[i])) return undefined
  return Array.from(sizes, (_, g) => Array.from({ length: own.size(g) }, (_, k) => 1 + most[own.rows[own.start[g] + k]]))
}

/**
 * F5.1, F5.2, F5.6, F8.6, M4.2.
 * @param {Release} release
 * @param {(name: string) => Grouped} grouped
 * @param {number} groups
 * @param {Float64Array | undefined} rowsOf
 * @param {Float64Array} vacantOf
 */
function checkRedistributed(release, grouped, groups, rowsOf, vacantOf) {
  const { d } = release, qit = grouped('qit'), st = grouped('st'), aims = grouped('aims'), at = 'data/st.parquet'
  checkTotal(st.table, 'count', undefined, 'F5.1', at)
  const sums = sumsBy(st, 'count')
  const lower = st.table.column('lower').ranks, upper = st.table.column('upper').ranks
  let total = 0
  for (let g = 0; g < groups; g++) {
    total += sums[g]
    must(sums[g] >= qit.size(g), 'tables-disagree', 'F5.1', at, 'fewer counts than rows')
    for (let i = st.start[g] + 1; i < st.start[g + 1]; i++) {
      const a = st.rows[i - 1], b = st.rows[i]
      must(lower[a] !== lower[b] || upper[a] !== upper[b], 'order-wrong', 'F5.1', at, 'equal rows')
    }
    must(aims.size(g) === 1, 'tables-disagree', 'F5.2', 'data/aims.parquet', 'a group without one target')
    if (rowsOf) must(rowsOf[g] === qit.size(g) && vacantOf[g] === 0, 'tables-disagree', 'F8.6', 'data/lineage.parquet')
  }
  if (d.form.fakes === 0 && !rowsOf) must(total === d.rows.published, 'count-wrong', 'F5.1', at, 'counts add up to another number')
  must(d.rows.fakes === total - qit.table.length, 'counts-contradict', 'M4.2', 'datapackage.json', 'rows.fakes')
  release.targets = new Targets(d, release.tables, grouped)
}
