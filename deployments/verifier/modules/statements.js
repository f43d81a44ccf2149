/** Statements of the manifest that can be checked by themselves (M4), and published leaves and codes (F7). */
import { must } from './refusal.js'
import { compareTexts } from './text.js'
import { floatText, textOf, typeOf } from './values.js'
import { labelReader } from './labels.js'

const FILE = 'datapackage.json'
/** @param {unknown} ok @param {string} rule @param {string} detail */
const holds = (ok, rule, detail) => must(ok, 'statement-wrong', rule, FILE, detail)

const FIRST = ['1', '1.25', '1.5', '2', '3', '5', '7.5']
const E24 = '1 1.1 1.2 1.3 1.5 1.6 1.8 2 2.2 2.4 2.7 3 3.3 3.6 3.9 4.3 4.7 5.1 5.6 6.2 6.8 7.5 8.2 9.1'.split(' ')

/** Texts of the factors m × 10^p (M4.5). @param {string[]} mantissas @param {number} from @param {number} to @param {Set<string>} into */
function factors(mantissas, from, to, into) {
  for (const m of mantissas) {
    const [whole, decimals = ''] = m.split('.')
    for (let p = from; p <= to; p++) {
      if (p < 0) into.add(`0.${'0'.repeat(-p - 1)}${whole}${decimals}`)
      else if (p === 0) into.add(m)
      else into.add(whole + decimals.padEnd(p, '0').slice(0, p) + (decimals ? '.' + decimals.slice(p).padEnd(decimals.length, '0') : ''))
    }
  }
  return into
}

const GRIDS = { first: factors(FIRST, 0, 3, new Set()), fine: factors(FIRST, 0, 3, factors(E24, -1, 3, new Set())) }
const FAMILY = /^(rows|count|sum|avg|min|max|spread|median|quantile)-by-(one|several)$/

/** M4.1, M4.4 to M4.7. @param {any} d */
export function checkStatements(d) {
  const r = d.rows, sensitive = new Set(d.columns.filter((/** @type {any} */ c) => c.role === 'sensitive').map((/** @type {any} */ c) => c.name))
  const names = new Set(d.columns.map((/** @type {any} */ c) => c.name))
  must(Object.values(r).every(n => n >= 0), 'counts-contradict', 'M4.1', FILE, 'a number below 0')
  const left = r.read - r.dropped_by_filter - r.dropped_for_nulls - r.dropped_as_repeats - r.suppressed - (r.not_represented_versions ?? 0)
  must(left === r.published, 'counts-contradict', 'M4.1', FILE, 'numbers of rows do not add up')
  must((d.related_rows === undefined) === (d.form.method !== 'apart'), 'counts-contradict', 'M4.9', FILE, 'related_rows')
  if (d.related_rows) {
    const { read, published, ...dropped } = d.related_rows
    const lost = Object.values(dropped).reduce((a, b) => a + b, 0)
    must(read - lost === published && Object.values(d.related_rows).every(n => n >= 0), 'counts-contradict', 'M4.9', FILE, 'numbers of related rows do not add up')
    must(d.form.columns.every((/** @type {string} */ c) => names.has(c)), 'counts-contradict', 'M4.9', FILE, 'form.columns')
  }
  if (d.form.method !== 'redistributed') must(r.fakes === 0, 'counts-contradict', 'M4.2', FILE, 'fakes')
  if (d.exposure) {
    const columns = d.exposure.columns.map((/** @type {any} */ c) => c.column)
    holds(new Set(columns).size === columns.length && columns.every((/** @type {string} */ c) => sensitive.has(c)), 'M4.4', 'exposure')
    for (const c of d.exposure.columns) {
      for (const f of [c.intersection, c.newcomers, c.leavers]) holds(f.one <= f.few && f.few <= f.people, 'M4.4', 'exposure')
    }
  }
  if (d.intervals) {
    const grid = GRIDS[/** @type {'fine'} */(d.intervals.grid ?? 'first')]
    d.intervals.families.forEach((/** @type {any} */ f, /** @type {number} */ i) => {
      const before = d.intervals.families[i - 1]
      if (before) holds((compareTexts(before.family, f.family) || compareTexts(before.of, f.of)) < 0, 'M4.5', 'families in another order')
      holds(FAMILY.test(f.family), 'M4.5', 'a family')
      holds(f.family.startsWith('rows-') ? f.of === '' : sensitive.has(f.of), 'M4.5', 'of')
      holds(grid.has(f.factor), 'M4.5', 'a factor')
    })
  }
  if (d.bars) {
    const limits = d.bars.bars.map((/** @type {any} */ { most, ...limit }) => JSON.stringify(Object.entries(limit).sort()))
    holds(new Set(limits).size === limits.length, 'M4.6', 'a limit twice')
  }
  if (d.words) {
    for (const key of [...Object.keys(d.words.columns), ...Object.keys(d.words.labels ?? {})]) holds(names.has(key), 'M4.7', 'words of no column')
    for (const w of Object.values(d.words.labels ?? {})) holds(Object.keys(/** @type {any} */(w).codes).length > 0, 'F7.2', 'no codes')
  }
}

/**
 * Texts that are published of a column (F7).
 * @param {Map<string, import('./column.js').Table>[]} sets tables of the release, or of each part
 * @param {any} column
 * @returns {import('./column.js').Column[]}
 */
export function publishedColumns(sets, column) {
  const find = (/** @type {string[]} */ names) => sets.flatMap(tables => [...tables.values()]).flatMap(t => t.columns.filter(c => names.includes(c.name)))
  const named = find([column.name])
  return named.length ? named : column.role === 'sensitive' ? find(['lower', 'upper']) : []
}

/** How F7.2 writes a value that a label lists. @param {import('./values.js').Type} t @param {any} v */
function listedText(t, v) {
  if (t.kind === 'boolean') return v ? 'True' : 'False'
  if (t.kind === 'float' && Number.isFinite(v)) {
    if (Math.abs(v) >= 1e16 || (v !== 0 && Math.abs(v) < 1e-4)) return floatText(v)
    const plain = Number.isInteger(v) ? `${Object.is(v, -0) ? '-' : ''}${BigInt(v)}.0` : String(v)
    return plain
  }
  return t.kind === 'timestamp' ? textOf(t, v).replace(/\.000000$/, '') : textOf(t, v)
}

/**
 * F7.
 * @param {any} d
 * @param {Map<string, import('./column.js').Table>[]} sets
 */
export function checkPublishedLeaves(d, sets) {
  for (const column of d.columns) {
    const coded = d.words?.labels?.[column.name]
    const leaves = column.leaves === 'published' && Array.isArray(column.hierarchy)
    if (!leaves && (!coded || coded.whole)) continue
    const texts = new Set(), listed = new Set()
    for (const c of publishedColumns(sets, column)) for (const t of c.texts) texts.add(t)
    if (leaves) {
      for (const row of column.hierarchy) {
        must(row.some((/** @type {string} */ l) => l !== '*' && texts.has(l)), 'leaves-unpublished', 'F7.1', `column ${column.name}`)
      }
    }
    if (!coded || coded.whole) continue
    const read = labelReader(column, 'generalized'), t = typeOf(column)
    for (const text of texts) {
      const label = read(text)
      for (const v of label?.values ?? []) listed.add(listedText(t, v))
      for (const leaf of label?.leaves ?? []) listed.add(leaf)
    }
    const labels = new Set(Array.isArray(column.hierarchy) ? column.hierarchy.flat() : [])
    for (const code of Object.keys(coded.codes)) {
      must(texts.has(code) || listed.has(code) || labels.has(code), 'leaves-unpublished', 'F7.2', `column ${column.name}`, 'a code that is not published')
    }
  }
}
