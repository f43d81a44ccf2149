/** `validation.json` (X1), written again. */
import { must } from './refusal.js'
import { canonical } from './canonical-json.js'
import { encodeUtf8, sameBytes } from './text.js'
import { arrowName } from './values.js'
import { columnsOf, hasLabels, isComposed, plansOf } from './forms.js'
import { visibleCodings } from './codings.js'

/**
 * Entries of one table (X1.5).
 * @param {any} d
 * @param {import('./forms.js').Plan} plan
 * @param {number} rows
 */
function entriesOf(d, plan, rows) {
  /** @type {any[]} */
  const out = []
  const say = (/** @type {string} */ expectation, /** @type {any} */ parameters, /** @type {any} */ observed) => out.push({ table: plan.name, expectation, parameters, passed: true, observed })
  const names = plan.fields.map(f => f.name), composed = isComposed(d), labels = hasLabels(d)
  const published = d.rows.published, all = published + (d.rows.vacant ?? 0)
  say('expect_table_columns_to_match_ordered_list', { column_list: names }, null)
  say('expect_column_types', { types: Object.fromEntries(plan.fields.map(f => [f.name, arrowName(f.type)])) }, 0)
  if (plan.name !== 'vacant') say('expect_table_row_count_to_be_between', { min_value: 1 }, rows)
  if (plan.rows !== undefined) say('expect_table_row_count_to_equal', { value: plan.rows }, plan.rows)
  for (const f of plan.fields) {
    if (!f.nullable && !(composed && labels && plan.name === 'microdata' && f.name === 'group_id')) say('expect_column_values_to_not_be_null', { column: f.name }, 0)
  }
  say('expect_no_row_number', { besides: plan.besides, more_than: 20 }, 0)
  say('expect_canonical_order', {}, null)
  if (labels && plan.name === 'microdata') for (const q of columnsOf(d, 'quasi-identifier')) say('expect_readable_labels', { column: q.name }, 0)
  if (plan.counts) say('expect_total_count', { column: 'count', value: composed ? all : published }, composed ? all : published)
  if (plan.name === 'st' && d.form.method === 'redistributed' && d.form.fakes === 0 && !composed) say('expect_total_count', { column: 'count', value: published }, published)
  if (plan.name === 'group_counts') say('expect_total_count', { column: 'people', value: published }, published)
  if (plan.marginal) say('expect_total_count', { column: 'count', value: published }, published)
  if (plan.name === 'lineage') say('expect_total_count', { column: 'rows', value: published }, published)
  for (const f of plan.fields) {
    const codings = f.declared && !(labels && f.declared.role === 'quasi-identifier') ? visibleCodings(f.declared) : []
    if (codings.length) say('expect_coded_values', { column: f.name, codings }, 0)
  }
  for (const f of plan.fields) if (f.declared?.weight) say('expect_positive_values', { column: f.name }, 0)
  return out
}

/** @param {any} promise */
function promiseName(promise) {
  const name = promise.model === 'l-diversity' ? `${promise.variant}-l-diversity` : promise.model
  return `expect_${name.replaceAll('-', '_')}`
}

/**
 * The bytes of `validation.json`.
 * @param {any} d
 * @param {Map<string, import('./column.js').Table>} tables none for a release in parts
 * @param {any[]} decided entries of the rules of a policy
 */
export function validationFile(d, tables, decided) {
  /** @type {any[]} */
  const entries = []
  if (!d.made_of) for (const plan of plansOf(d)) entries.push(...entriesOf(d, plan, /** @type {any} */(tables.get(plan.name)).length))
  d.promises.forEach((/** @type {any} */ promise, /** @type {number} */ i) => {
    const { observed, groups } = d.observed[i]
    entries.push({ table: 'groups', expectation: promiseName(promise), parameters: promise, passed: true, observed: { ...observed, groups, failing: 0 } })
  })
  entries.push(...decided)
  for (const bar of d.bars?.bars ?? []) {
    entries.push({ table: 'attacks', expectation: 'expect_attacks_below', parameters: { ...bar, standing: d.bars.standing }, passed: true, observed: null })
  }
  return encodeUtf8(canonical(entries))
}

/** X1. @param {any} d @param {Map<string, import('./column.js').Table>} tables @param {any[]} decided @param {Uint8Array} bytes @param {string} where */
export function checkValidation(d, tables, decided, bytes, where) {
  must(sameBytes(validationFile(d, tables, decided), bytes), 'validation-wrong', 'X1', where)
}
