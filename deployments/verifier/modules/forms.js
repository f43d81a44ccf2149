/** Which tables and files a declaration asks for (F1, F2.1, F8, D2, X4.1). */
import { INTEGER, TEXT, typeOf } from './values.js'
import { compareTexts, safe } from './text.js'

/** @typedef {{name: string, type: import('./values.js').Type, nullable: boolean, declared?: any}} Field */
/**
 * @typedef {object} Plan a table that a release must have
 * @property {string} name
 * @property {Field[]} fields
 * @property {'value' | 'value-group' | 'group' | 'groups' | 'targets'} order `groups`: as `group`, but groups may have no row
 * @property {number} [rows] the number of rows, where it is fixed
 * @property {string[]} besides columns that may number the rows (F1.4)
 * @property {boolean} [counts] whether it is a table of counts (F2)
 * @property {boolean} [marginal] whether it is a marginal (F4.4)
 */

/** @param {any} d @param {string} role */
export const columnsOf = (d, role) => d.columns.filter((/** @type {any} */ c) => c.role === role)

/** @param {any} d */
export const isComposed = d => typeof d.versions === 'object'

/** Whether quasi-identifiers are shown as labels. @param {any} d */
export const hasLabels = d => d.form.method === 'generalized' || d.form.method === 'suppressed'

/** @param {any} c @returns {Field} */
const own = c => ({ name: c.name, type: typeOf(c), nullable: c.nulls, declared: c })
/** @param {any} c @returns {Field} */
const label = c => ({ name: c.name, type: TEXT, nullable: c.nulls, declared: c })
/** @param {string} name @param {boolean} [nullable] @returns {Field} */
const number = (name, nullable = false) => ({ name, type: INTEGER, nullable })

/** Tables of counts (F2.1), in the order of S. @param {any} d @returns {Plan[]} */
function countTables(d) {
  const sensitive = columnsOf(d, 'sensitive')
  const together = sensitive.length === 1 || d.form.sensitive === 'together'
  const lists = together ? [['st', sensitive]] : sensitive.map((/** @type {any} */ s) => [`st_${safe(s.name)}`, [s]])
  return lists.map((/** @type {any} */ [name, columns]) => ({
    name, fields: [number('group_id'), ...columns.map(own), number('count')], order: 'group', besides: ['group_id', 'count'], counts: true,
  }))
}

/** Tables of marginals (F4.4). @param {any} d @returns {Plan[]} */
export const marginalsOf = d => (d.form.marginals ?? []).map((/** @type {string} */ q) => ({
  name: `marginal_${safe(q)}`, fields: [own(d.columns.find((/** @type {any} */ c) => c.name === q)), number('count')], order: 'value', besides: [q, 'count'], marginal: true,
}))

/** @param {any} d @returns {Plan} */
function lineage(d) {
  const fields = [number('group_id'), number('previous_group_id', true), number('rows'), number('vacant')]
  return { name: 'lineage', fields, order: 'group', besides: fields.map(f => f.name) }
}

/**
 * The tables of a release that is not in parts, in the order of X1.4.
 * @param {any} d
 * @returns {Plan[]}
 */
export function plansOf(d) {
  const composed = isComposed(d), published = d.rows.published, vacant = d.rows.vacant ?? 0
  const Q = columnsOf(d, 'quasi-identifier'), S = columnsOf(d, 'sensitive')
  const more = composed ? [lineage(d)] : []
  switch (d.form.method) {
    case 'generalized': case 'suppressed': {
      const fields = d.columns.map((/** @type {any} */ c) => c.role === 'quasi-identifier' ? label(c) : own(c))
      return composed
        ? [{ name: 'microdata', fields: [...fields, number('group_id')], order: 'value-group', rows: published + vacant, besides: ['group_id'] }, ...more]
        : [{ name: 'microdata', fields, order: 'value', rows: published, besides: ['group_id'] }]
    }
    case 'permuted': {
      /** @type {Plan} */
      const microdata = { name: 'microdata', fields: [...d.columns.map(own), number('group_id')], order: 'value-group', rows: published, besides: ['group_id'] }
      if (!composed) return [microdata]
      return [microdata, { name: 'vacant', fields: [number('group_id'), ...S.map(own)], order: 'group', rows: vacant, besides: ['group_id'] }, ...more]
    }
    case 'split': {
      const fields = d.columns.filter((/** @type {any} */ c) => c.role !== 'sensitive').map(own)
      return [{ name: 'qit', fields: [...fields, number('group_id')], order: 'value-group', rows: published, besides: ['group_id'] }, ...countTables(d), ...more]
    }
    case 'ambiguous':
      return [...Q.map((/** @type {any} */ q) => ({
        name: `at_${safe(q.name)}`, fields: [own(q), number('group_id')], order: 'group', besides: [q.name, 'group_id'],
      })), ...countTables(d), ...marginalsOf(d), ...more]
    case 'apart': {
      const related = new Set(d.form.columns), isRelated = (/** @type {any} */ c) => related.has(c.name)
      const numbers = ['group_id', 'people', 'related_rows', 'most_rows'].map(name => number(name))
      return [
        { name: d.form.people, fields: [...d.columns.filter((/** @type {any} */ c) => !isRelated(c)).map(own), number('group_id')], order: 'value-group', rows: published, besides: ['group_id'] },
        { name: d.form.related, fields: [number('group_id'), ...d.columns.filter(isRelated).map(own)], order: 'groups', besides: ['group_id'] },
        { name: 'group_counts', fields: numbers, order: 'group', besides: numbers.map(f => f.name) },
      ]
    }
    default: { // redistributed
      const s = S[0], bound = (/** @type {string} */ name) => ({ name, type: typeOf(s), nullable: false })
      const all = (/** @type {Field[]} */ fields) => fields.map(f => f.name)
      const st = [number('group_id'), bound('lower'), bound('upper'), number('count')]
      const aims = [number('group_id'), number('target')]
      const targets = [number('target'), bound('lower'), bound('upper'), number('weight')]
      return [
        { name: 'qit', fields: [...Q.map(own), number('group_id')], order: 'value-group', rows: published, besides: ['group_id'] },
        { name: 'st', fields: st, order: 'group', besides: all(st) },
        { name: 'aims', fields: aims, order: 'group', besides: all(aims) },
        { name: 'targets', fields: targets, order: 'targets', besides: all(targets) },
        ...more,
      ]
    }
  }
}

/** Sensitive columns with values of people's own rows: in the form apart its facts. @param {any} d @param {any[]} S */
const factsOrAll = (d, S) => d.form.method === 'apart' ? S.filter(s => s.derive !== undefined) : S

/** Names of help tables (X4.1). @param {any} d @returns {string[]} */
export function helpTables(d) {
  const Q = columnsOf(d, 'quasi-identifier'), S = columnsOf(d, 'sensitive')
  switch (d.form.method) {
    case 'permuted': case 'split': case 'apart': return factsOrAll(d, S).filter((/** @type {any} */ s) => !s.nulls).map((/** @type {any} */ s) => `help_${safe(s.name)}`)
    case 'redistributed': return S.map((/** @type {any} */ s) => `help_${safe(s.name)}`)
    case 'ambiguous': return Q.map((/** @type {any} */ q) => `help_${safe(q.name)}`)
    default: return d.form['label-tables'] ? Q.flatMap((/** @type {any} */ q) => [`label_${safe(q.name)}`, `value_${safe(q.name)}`]) : []
  }
}

/** Files of `hierarchies/`: path and column. @param {any} d */
export const hierarchyFiles = d => d.columns.filter((/** @type {any} */ c) => Array.isArray(c.hierarchy))
  .map((/** @type {any} */ c) => ({ path: `hierarchies/${safe(c.name)}.csv`, column: c }))

/**
 * All files that a release must have (D2, D3), but for the signature; parts without theirs.
 * @param {any} d
 * @returns {string[]}
 */
export function filesOf(d) {
  const files = ['datapackage.json', 'validation.json', 'index.html', 'sql/duckdb.sql', ...hierarchyFiles(d).map((/** @type {any} */ f) => f.path)]
  if (!d.made_of) {
    for (const plan of plansOf(d)) {
      files.push(`data/${plan.name}.parquet`)
      if (d.formats.includes('csv')) files.push(`data/${plan.name}.csv`)
    }
    for (const name of helpTables(d)) files.push(`sql/${name}.parquet`)
  }
  return files.sort(compareTexts)
}

/** Tables by which groups are numbered (T6.6), in order. @param {any} d @returns {string[]} */
export function numberingTables(d) {
  const composed = isComposed(d)
  const names = plansOf(d).map(p => p.name)
  switch (d.form.method) {
    case 'generalized': case 'suppressed': return composed ? ['microdata', 'lineage'] : []
    case 'redistributed': return ['qit', 'st', 'aims', ...(composed ? ['lineage'] : [])]
    case 'ambiguous': return plansOf(d).filter(p => !p.marginal).map(p => p.name).sort(compareTexts)
    default: return names // microdata, vacant, lineage; qit, counts, lineage; people, related rows, group_counts
  }
}
