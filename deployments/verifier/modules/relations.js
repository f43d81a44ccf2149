/** Rules between the tables of a release (F2.3, F4, F5.1, F5.2, F6, F8), and canonical numbers of groups. */
import { must } from './refusal.js'
import { checkGroupIds, checkNumbering, Grouped } from './order.js'
import { checkTotal } from './tables.js'
import { hasLabels, isComposed, numberingTables, columnsOf } from './forms.js'
import { labelReader } from './labels.js'
import { safe } from './text.js'
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
    if (d.form.method === 'ambiguous') checkAdmitted(d, grouped, groups, /** @type {Float64Array} */(before))
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
