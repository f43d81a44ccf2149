/** Help tables of `sql/` (X4). */
import { must } from './refusal.js'
import { readTable } from './parquet.js'
import { FLOAT, INTEGER, isNumeric, sameType, type, typeOf } from './values.js'
import { columnsOf, helpTables } from './forms.js'
import { safe } from './text.js'
import { decimalsOf } from './tables.js'
import { combineGroups } from './sorted-groups.js'

const MOST = 2n ** 63n - 1n

/** @param {unknown} ok @param {string} where @param {string} [detail] */
const holds = (ok, where, detail) => must(ok, 'help-table-differs', 'X4', where, detail)

/**
 * Checks all help tables but those of labels (X4.5).
 * @param {import('./relations.js').Release} release
 * @param {(path: string) => Promise<Uint8Array>} read
 * @param {number} mostRows
 */
export async function checkHelpTables(release, read, mostRows) {
  const { d } = release
  for (const name of helpTables(d)) {
    const path = `sql/${name}.parquet`
    if (name.startsWith('label_') || name.startsWith('value_')) continue
    const bytes = await read(path)
    const table = readTable(bytes, name, path, mostRows)
    if (d.form.method === 'ambiguous') checkOccurrences(release, table, columnsOf(d, 'quasi-identifier').find((/** @type {any} */ q) => `help_${safe(q.name)}` === name), path)
    else checkHits(release, table, columnsOf(d, 'sensitive').find((/** @type {any} */ s) => `help_${safe(s.name)}` === name), path)
  }
}

/** X4.2, X4.3. @param {import('./relations.js').Release} release @param {import('./column.js').Table} table @param {any} column @param {string} path */
function checkHits(release, table, column, path) {
  const { d } = release, groups = /** @type {number} */(release.groups), t = typeOf(column)
  const grouped = (/** @type {string} */ name) => /** @type {import('./order.js').Grouped} */(release.grouped.get(name))
  const numeric = isNumeric(t) && t.kind !== 'date' && t.kind !== 'timestamp'
  const wanted = ['group_id', 'hits', ...(numeric ? ['l_sum', 'u_sum'] : []), 'l_min', 'u_min', 'l_max', 'u_max']
  holds(table.columns.map(c => c.name).join() === wanted.join(), path, 'other columns')
  const lists = combineGroups(release, column, groups)
  const scale = t.kind === 'integer' ? 0 : decimalsOf(lists.columns)
  const unit = sumUnits(t, scale)
  const rowsTable = d.form.method === 'permuted' ? 'microdata' : d.form.method === 'apart' ? d.form.people : 'qit'
  let row = 0
  let outside = false
  const get = Object.fromEntries(table.columns.map(c => [c.name, c]))
  for (const n of ['group_id', 'hits']) holds(sameType(get[n].type, INTEGER), path, 'types')
  for (const n of ['l_min', 'u_min', 'l_max', 'u_max']) holds(sameType(get[n].type, t), path, 'types')
  for (let g = 0; g < groups; g++) {
    const { least, greatest } = lists.of(g)
    const rows = grouped(rowsTable).size(g)
    let low = 0n, high = 0n
    for (let h = 1; h <= least.length; h++) {
      if (numeric) {
        low += unit(least[h - 1])
        high += unit(greatest[greatest.length - h])
        for (const sum of [low, high]) if (sum > MOST || sum < -MOST) outside = true
      }
      if (h > rows) continue
      holds(row < table.length && get.group_id.at(row) === BigInt(g) && get.hits.at(row) === BigInt(h), path, 'other rows')
      if (numeric) {
        holds(get.l_sum.at(row) === low && get.u_sum.at(row) === high, path, 'sums')
      }
      const same = (/** @type {string} */ name, /** @type {any} */ v) => { const x = get[name].at(row); holds(x === v, path, name) }
      same('l_min', least[0])
      same('u_min', greatest[greatest.length - h])
      same('l_max', least[h - 1])
      same('u_max', greatest[greatest.length - 1])
      row++
    }
  }
  holds(row === table.length, path, 'more rows')
  if (numeric) {
    const wantedType = t.kind === 'integer' && !outside ? INTEGER : type('decimal', scale)
    holds(sameType(get.l_sum.type, wantedType) && sameType(get.u_sum.type, wantedType), path, 'types of sums')
  }
}

/** Values in units of 10^−scale. @param {import('./values.js').Type} t @param {number} scale @returns {(v: any) => bigint} */
function sumUnits(t, scale) {
  if (t.kind === 'integer') return v => v
  if (t.kind === 'decimal') {
    const drop = 10n ** BigInt(t.scale - scale)
    return v => v / drop
  }
  const cache = new Map()
  return v => {
    let found = cache.get(v)
    if (found === undefined) {
      const [mantissa, exponent] = v.toExponential().split('e')
      const digits = mantissa.replace('.', ''), places = (mantissa.split('.')[1] ?? '').length
      const shift = Number(exponent) - places + scale
      found = shift >= 0 ? BigInt(digits) * 10n ** BigInt(shift) : BigInt(digits) / 10n ** BigInt(-shift)
      cache.set(v, found)
    }
    return found
  }
}

/** X4.4. @param {import('./relations.js').Release} release @param {import('./column.js').Table} table @param {any} q @param {string} path */
function checkOccurrences(release, table, q, path) {
  const { d } = release
  const at = /** @type {import('./order.js').Grouped} */(release.grouped.get(`at_${safe(q.name)}`)), source = at.table
  const name = q.name.toLowerCase() === 'occurrences' ? 'occurrences_' : 'occurrences'
  holds(table.length === source.length && table.columns.map(c => c.name).join() === [...source.columns.map(c => c.name), name].join(), path, 'other columns or rows')
  source.columns.forEach((c, i) => holds(sameType(table.columns[i].type, c.type), path, 'types'))
  holds(sameType(table.columns[source.columns.length].type, FLOAT), path, 'types')
  for (let row = 0; row < source.length; row++) source.columns.forEach((c, i) => holds(table.columns[i].at(row) === c.at(row), path, 'other rows'))
  // sizes of groups: of the first table of counts
  const counts = /** @type {import('./order.js').Grouped} */(release.grouped.get(/** @type {any} */(release.plans.find(p => p.counts)).name))
  const amounts = counts.table.column('count').numbers
  const groups = /** @type {number} */(release.groups), sizes = new Float64Array(groups)
  for (let g = 0; g < groups; g++) for (let i = counts.start[g]; i < counts.start[g + 1]; i++) sizes[g] += amounts[counts.rows[i]]
  const ranks = source.column(q.name).ranks, rounds = d.rounds?.[q.name] ?? 100
  const n = new Float64Array(source.length)
  let w = new Float64Array(source.column(q.name).rankCount)
  for (const r of ranks) w[r]++
  for (let g = 0; g < groups; g++) for (let i = at.start[g]; i < at.start[g + 1]; i++) n[at.rows[i]] = sizes[g] / at.size(g)
  for (let round = 0; round < rounds; round++) {
    const next = new Float64Array(w.length)
    for (let g = 0; g < groups; g++) {
      const m = at.size(g)
      let sum = 0
      for (let i = at.start[g]; i < at.start[g + 1]; i++) sum += w[ranks[at.rows[i]]]
      for (let i = at.start[g]; i < at.start[g + 1]; i++) {
        const row = at.rows[i]
        n[row] = 1 + (sizes[g] - m) * w[ranks[row]] / sum
        next[ranks[row]] += n[row]
      }
    }
    w = next
  }
  const given = table.columns[source.columns.length]
  for (let row = 0; row < n.length; row++) {
    const x = given.at(row)
    holds(typeof x === 'number' && Math.abs(x - n[row]) <= 1e-9 * Math.max(Math.abs(x), Math.abs(n[row])), path, 'occurrences')
  }
}
