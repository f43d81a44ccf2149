/** A report in words. */
import { canonical } from './canonical-json.js'

/** @param {any} promise */
export function promiseName(promise) {
  const kind = promise.variant ?? promise.distance ?? promise.presence
  return promise.model + (kind ? ` (${kind})` : '') + (promise.sensitive ? ` of ${promise.sensitive}` : '')
}

/** @param {any} numbers */
export const numbersText = numbers => Object.entries(numbers).map(([k, v]) => `${k} = ${v}`).join(', ')

/**
 * What a promise asks, without what its name and columns say.
 * @param {any} promise
 */
export function parametersText(promise) {
  const rest = Object.entries(promise).filter(([k]) => !['model', 'variant', 'distance', 'presence', 'sensitive', 'quasi-identifiers', 'reference'].includes(k))
  return rest.map(([k, v]) => `${k} = ${typeof v === 'object' ? canonical(v) : v}`).join(', ')
}

/**
 * @param {import('./release.js').Report} report
 * @returns {string[]} lines
 */
export function describe(report) {
  const lines = [report.verdict.toUpperCase()]
  if (report.title) lines.push(`Title: ${JSON.stringify(report.title)}`)
  if (report.digest) lines.push(`Digest: ${report.digest}`)
  for (const r of report.reasons) lines.push(`Reason: ${r.reason}, rule ${r.rule}${r.where ? ', ' + JSON.stringify(r.where) : ''}${r.detail ? ': ' + r.detail : ''}`)
  if (report.verdict === 'valid') {
    lines.push(`Read: ${report.files} files, ${report.rows} rows`)
    for (const p of report.promises) {
      lines.push(`Promise: ${promiseName(p.promise)}, ${parametersText(p.promise)}; ${p.stated ? 'stated, not measured' : 'measured'} over ${p.groups} groups: ${numbersText(p.observed)}`)
    }
    if (report.signature) lines.push(`Signature: ${report.signature}`)
    lines.push('Valid means that files are whole, agree with each other, and keep every measured promise. It does not say that rows are those of a source.')
  }
  for (const s of report.skipped) lines.push(`Skipped: ${s}`)
  for (const n of report.notes) lines.push(`Note: ${n}`)
  return lines
}
