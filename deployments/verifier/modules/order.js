/** Canonical order of rows and groups (T5, T6), and columns that number rows (F1.4). */
import { must } from './refusal.js'
import { numberOf } from './values.js'

/**
 * Compares two rows over lists of ranks.
 * @param {Int32Array[]} ranks
 * @param {number} a
 * @param {number} b
 */
export function compareRows(ranks, a, b) {
  for (const r of ranks) if (r[a] !== r[b]) return r[a] < r[b] ? -1 : 1
  return 0
}

/** T6.2 to T6.4. @param {import('./column.js').Table} table @param {import('./forms.js').Plan} plan @param {string} where */
export function checkRowOrder(table, plan, where) {
  if (plan.order === 'targets') return // F5.3
  const others = table.columns.filter(c => c.name !== 'group_id' || plan.order === 'value').map(c => c.ranks)
  const group = plan.order === 'value' ? [] : [table.column('group_id').ranks]
  const keys = plan.order.startsWith('group') ? [...group, ...others] : [...others, ...group]
  const rule = { value: 'T6.2', 'value-group': 'T6.3', group: 'T6.4', groups: 'T6.4' }[plan.order]
  for (let i = 1; i < table.length; i++) must(compareRows(keys, i - 1, i) <= 0, 'order-wrong', rule, where, 'rows in another order')
}

/** T6.5: group ids 0, 1, … without a gap. @param {import('./column.js').Table} table @param {string} where @returns {number} how many */
export function checkGroupIds(table, where) {
  const c = table.column('group_id'), n = c.rankCount - 1
  must(n === 0 || (c.valueOfRank(1) === 0n && c.valueOfRank(n) === BigInt(n - 1)), 'order-wrong', 'T6.5', where, 'group ids with a gap')
  return n
}

/** Rows of each group, in the order of the table. */
export class Grouped {
  /** @param {import('./column.js').Table} table @param {number} groups */
  constructor(table, groups) {
    this.table = table
    const ids = table.column('group_id').numbers
    this.start = new Int32Array(groups + 1)
    for (let i = 0; i < ids.length; i++) this.start[ids[i] + 1]++
    for (let g = 0; g < groups; g++) this.start[g + 1] += this.start[g]
    const next = this.start.slice()
    this.rows = new Int32Array(ids.length)
    for (let i = 0; i < ids.length; i++) this.rows[next[ids[i]]++] = i
    this.ranks = table.columns.filter(c => c.name !== 'group_id').map(c => c.ranks)
  }

  /** How many rows a group has. @param {number} g */
  size(g) { return this.start[g + 1] - this.start[g] }

  /** Compares the contents of two groups (T5.3). @param {number} a @param {number} b */
  compare(a, b) {
    const n = this.size(a), m = this.size(b)
    for (let i = 0; i < n && i < m; i++) {
      const c = compareRows(this.ranks, this.rows[this.start[a] + i], this.rows[this.start[b] + i])
      if (c) return c
    }
    return n - m
  }
}

/** T6.6. @param {Grouped[]} list tables in order @param {number} groups */
export function checkNumbering(list, groups) {
  for (let g = 0; g + 1 < groups; g++) {
    for (const table of list) {
      const c = table.compare(g, g + 1)
      must(c <= 0, 'order-wrong', 'T6.6', table.table.name, 'groups are numbered in another order')
      if (c < 0) break
    }
  }
}

/** Whether texts count as whole numbers; their numbers, or undefined. @param {string} text @returns {bigint | undefined} */
function wholeText(text) {
  if (/^0[xX][0-9a-fA-F]{1,16}$/.test(text)) return BigInt.asIntN(64, BigInt(text))
  if (/^-?[0-9]+$/.test(text)) return text.length > 400 ? undefined : BigInt(text[0] === '-' ? text.slice(1) : text) * (text[0] === '-' ? -1n : 1n)
  return undefined
}

const LEAST = -(2n ** 63n), MOST = 2n ** 63n - 1n

/** F1.4. @param {import('./column.js').Table} table @param {string[]} besides @param {string} where */
export function checkRowNumbers(table, besides, where) {
  if (table.length <= 20) return
  for (const c of table.columns) {
    const kind = c.type.kind
    if (besides.includes(c.name) || c.values.length < table.length || c.hasNulls || !['integer', 'decimal', 'float', 'text'].includes(kind)) continue
    /** @type {Set<bigint>} */
    const seen = new Set()
    let least, most, whole = true
    for (const v of c.values) {
      let n
      if (kind === 'text') n = wholeText(v)
      else if (kind === 'integer') n = v
      else if (kind === 'float') n = Number.isInteger(v) ? BigInt(v) : undefined
      else { const f = numberOf(c.type, v); n = f.d === 1n ? f.n : undefined }
      if (n === undefined || n < LEAST || n > MOST) { whole = false; break }
      if (least === undefined || n < least) least = n
      if (most === undefined || n > most) most = n
      if (most - least >= BigInt(table.length)) { whole = false; break }
      seen.add(n)
    }
    must(!whole || seen.size !== table.length, 'row-number', 'F1.4', `${where}, column ${c.name}`)
  }
}
