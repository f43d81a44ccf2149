/** Formats: which number a declaration must have (V4). */
import { must, NotJudged } from './refusal.js'

export const NEWEST = 16

/** @param {unknown} value */
const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The lowest format that has every key of a valid declaration (V4.3).
 * @param {any} d
 * @returns {number}
 */
export function lowestFormat(d) {
  const columns = d.columns, promises = d.promises, partition = d.partition, rows = d.rows, form = d.form
  const has = (/** @type {any} */ object, /** @type {string[]} */ ...keys) => keys.some(k => object && object[k] !== undefined)
  const composed = isObject(d.versions)
  const aims = partition.aims ?? []
  const families = d.intervals?.families ?? []
  const applies = {
    1: has(d, 'csv') || promises.some((/** @type {any} */ p) => p.model === 'delta-disclosure'),
    2: composed || has(d, 'predecessor', 'exposure') || has(rows, 'vacant', 'not_represented_versions') || has(partition, 'draw') || partition.method === 'groups',
    3: has(d, 'parts', 'made_of'),
    4: columns.some((/** @type {any} */ c) => has(c, 'shift', 'bottom', 'top', 'round', 'prefix', 'fold', 'free_text')),
    5: columns.some((/** @type {any} */ c) => has(c, 'leaves')) || d.strata.some((/** @type {any} */ s) => isObject(s) && has(s, 'level'))
      || partition.method === 'hybrid' || partition.method === 'contiguous' || has(d, 'intervals'),
    6: promises.some((/** @type {any} */ p) => ['k-map', 'beta-likeness', 'delta-presence', 'bayes-optimal'].includes(p.model)
        || (p.model === 'p-privacy' && isObject(p.target) && p.target.nearest === 'own'))
      || has(form, 'protects', 'label-tables', 'single-values', 'rows')
      || columns.some((/** @type {any} */ c) => has(c, 'weight') || (c.role === 'sensitive' && c.nulls))
      || has(d, 'words', 'bars', 'window', 'rows_apart', 'rows_per_unit', 'households') || has(partition, 'leave', 'alike') || has(d.intervals, 'grid'),
    7: (d.made_of ?? []).some((/** @type {any} */ m) => has(m, 'first-target')) || promises.some((/** @type {any} */ p) => has(p, 'members'))
      || aims.some((/** @type {any} */ a) => a.kind === 'counts' || a.kind === 'group-by'),
    8: families.some((/** @type {any} */ f) => /^(spread|median|quantile)/.test(f.family)),
    9: composed && has(d, 'parts'),
    10: columns.some((/** @type {any} */ c) => has(c, 'unite')),
    11: has(d, 'rounds'),
    12: has(d, 'policy'),
    13: promises.some((/** @type {any} */ p) => ['km-anonymity', 'lkc-privacy'].includes(p.model)
        || (p.model === 'delta-disclosure' && form.method === 'redistributed')
        || (p.model === 'p-privacy' && has(p.target, 'objective')))
      || has(form, 'fakes-by') || ['top-down', 'local-suppression'].includes(partition.method),
    14: has(form, 'marginals'),
    15: form.method === 'apart',
    16: columns.some((/** @type {any} */ c) => has(c, 'derive')) || (form.method === 'apart' && has(form, 'sensitive'))
      || promises.some((/** @type {any} */ p) => has(p, 'facts') || (form.method !== 'apart' && p.model === 'people')),
  }
  let format = 0
  for (const [number, yes] of Object.entries(applies)) if (yes) format = Math.max(format, Number(number))
  return format
}

/** V4.1, V4.2: before the schema. @param {any} manifest */
export function refuseNewer(manifest) {
  const d = manifest?.sfumato
  const format = isObject(d) ? d.format : undefined
  if (Number.isInteger(format) && format > NEWEST) throw new NotJudged('format-newer', 'V4.2', 'datapackage.json', `format ${format}`)
  must(format !== 0, 'format-wrong', 'V4.1', 'datapackage.json', 'format 0 is written by leaving it out')
}

/** V4.3: after the schema. @param {any} d */
export function checkFormat(d) {
  const lowest = lowestFormat(d)
  must((d.format ?? 0) === lowest, 'format-wrong', 'V4.3', 'datapackage.json', `format ${d.format ?? 0}, the lowest is ${lowest}`)
}

/** Whether a release's layout is n or later. @param {any} d @param {number} n */
export function layoutFrom(d, n) {
  const layout = d.software['sfumato-page'] ?? '1'
  for (let i = 1; i < n; i++) if (layout === String(i)) return false
  return true
}
