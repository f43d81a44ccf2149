/** Reads the tables of a release and checks each of them by itself (T, F1, F2.2, X2). */
import { must } from './refusal.js'
import { readTable } from './parquet.js'
import { hasText, numberOf, sameType } from './values.js'
import { checkGroupIds, checkRowNumbers, checkRowOrder } from './order.js'
import { decimalText } from './fractions.js'
import { checkCodings } from './codings.js'
import { hasLabels } from './forms.js'

/**
 * @param {any} d the declaration
 * @param {import('./forms.js').Plan} plan
 * @param {Uint8Array} bytes
 * @param {number} mostRows
 */
export function loadTable(d, plan, bytes, mostRows) {
  const where = `data/${plan.name}.parquet`
  const table = readTable(bytes, plan.name, where, mostRows)
  must(table.columns.length === plan.fields.length && plan.fields.every((f, i) => f.name === table.columns[i].name), 'table-schema', 'T1.3', where, 'other columns')
  plan.fields.forEach((f, i) => {
    const c = table.columns[i], at = `${where}, column ${f.name}`
    must(sameType(f.type, c.type), 'table-schema', 'T1.3', at, 'another type')
    must(f.nullable === c.nullable, 'table-schema', 'T1.4', at, 'another nullability')
    must(f.nullable || !c.hasNulls, 'null-unexpected', 'T1.5', at)
    checkValues(c, f.declared?.role === 'sensitive' || (!f.declared && (f.name === 'lower' || f.name === 'upper')), at)
  })
  must(table.length > 0 || plan.name === 'vacant', 'table-empty', 'T4.5', where)
  if (plan.rows !== undefined) must(table.length === plan.rows, 'row-count-wrong', 'F1.1', where)
  return table
}

const TOO_LONG = 10n ** 38n

/** T1.6 to T1.8. @param {import('./column.js').Column} c @param {boolean} sensitive @param {string} at */
function checkValues(c, sensitive, at) {
  const t = c.type
  if (t.kind === 'float') {
    must(!c.values.some(Number.isNaN), 'order-wrong', 'T1.6', at, 'NaN')
    if (sensitive) must(c.values.every(Number.isFinite), 'value-not-finite', 'T1.6', at)
  }
  if (t.kind === 'date' || t.kind === 'timestamp') must(c.values.every(v => hasText(t, v)), 'value-not-finite', 'T1.8', at, 'a day outside the years 0001 to 9999')
  if (t.kind === 'decimal') must(c.values.every(v => v < TOO_LONG && v > -TOO_LONG), 'table-unreadable', 'T1.8', at, 'more than 38 digits')
  if (sensitive && (t.kind === 'decimal' || t.kind === 'float')) {
    const d = decimalsOf([c])
    must(d <= 38, 'value-not-finite', 'T1.7', at)
    const limit = 10n ** BigInt(38 - d)
    must(c.values.every(v => { const f = numberOf(t, v); return (f.n < 0n ? -f.n : f.n) < limit * f.d }), 'value-not-finite', 'T1.7', at)
  }
}

/** The largest number of decimals that a value of these columns needs (T1.7). @param {import('./column.js').Column[]} columns */
export function decimalsOf(columns) {
  let most = 0
  for (const c of columns) {
    if (c.type.kind === 'decimal') {
      for (const v of c.values) {
        if (v === 0n) continue
        let zeros = 0, u = v
        while (zeros < c.type.scale && u % 10n === 0n) { u /= 10n; zeros++ }
        most = Math.max(most, c.type.scale - zeros)
      }
    } else if (c.type.kind === 'float') {
      for (const v of c.values) most = Math.max(most, (decimalText(numberOf(c.type, v)) ?? '').split('.')[1]?.length ?? 0)
    }
  }
  return most
}

/**
 * Rules of one table that need nothing but the table and the declaration.
 * @param {any} d
 * @param {import('./forms.js').Plan} plan
 * @param {import('./column.js').Table} table
 */
export function checkTable(d, plan, table) {
  const where = `data/${plan.name}.parquet`
  checkRowOrder(table, plan, where)
  if (table.has('group_id') && plan.name !== 'vacant' && plan.order !== 'groups') checkGroupIds(table, where)
  checkRowNumbers(table, plan.besides, where)
  for (const f of plan.fields) {
    if (f.declared && !(hasLabels(d) && f.declared.role === 'quasi-identifier')) checkCodings(f.declared, table.column(f.name), `${where}, column ${f.name}`)
  }
  if (plan.counts) {
    const keys = table.columns.slice(0, -1).map(c => c.ranks)
    for (let i = 1; i < table.length; i++) must(keys.some(k => k[i] !== k[i - 1]), 'order-wrong', 'F2.2', where, 'equal rows')
    const total = d.rows.published + (typeof d.versions === 'object' ? d.rows.vacant ?? 0 : 0)
    checkTotal(table, 'count', total, 'F2.2', where)
  }
}

/** Every count is 1 or more, and all add up. @param {import('./column.js').Table} table @param {string} name @param {number | undefined} total @param {string} rule @param {string} where */
export function checkTotal(table, name, total, rule, where) {
  const c = table.column(name)
  must(c.values.every(v => v >= 1n), 'count-wrong', rule, where, `${name} below 1`)
  let sum = 0n
  const times = new Map()
  for (const code of c.codes) times.set(code, (times.get(code) ?? 0) + 1)
  for (const [code, n] of times) sum += c.values[code] * BigInt(n)
  if (total !== undefined) must(sum === BigInt(total), 'count-wrong', rule, where, `${name} adds up to another number`)
  else must(sum <= 9007199254740991n, 'count-wrong', rule, where, `${name} is too large`)
}
