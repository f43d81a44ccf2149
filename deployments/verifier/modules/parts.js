/** Releases in parts (F9). */
import { must } from './refusal.js'
import { sameJson } from './canonical-json.js'
import { firstCharacters, compareTexts, safe } from './text.js'
import { checkCuts, admits } from './cuts.js'
import { columnsOf, isComposed } from './forms.js'
import { largest, smallest } from './fractions.js'
import { comparesWithAll, isAtMost, judgeCounts } from './promises.js'
import { checkJudged, checkStatement, needsReference } from './observed.js'
import { withOthers } from './joined-counts.js'

const SAME = ['name', 'unit', 'rows_per_unit', 'households', 'versions', 'columns', 'strata', 'partition', 'form', 'formats', 'csv']
const SUMS = ['published', 'suppressed', 'fakes', 'vacant', 'not_represented_versions']

/** @param {unknown} ok @param {string} rule @param {string} where @param {string} [detail] */
const holds = (ok, rule, where, detail) => must(ok, 'parts-wrong', rule, where, detail)

/** F9.3. @param {any} whole @param {any} part */
function samePromise(whole, part) {
  if (!comparesWithAll(whole)) return sameJson(whole, part)
  return whole.model === part.model && sameJson(whole['quasi-identifiers'], part['quasi-identifiers']) && whole.sensitive === part.sensitive
}

/**
 * How many groups a part has over all quasi-identifiers (F9.4).
 * @param {import('./relations.js').Release} release
 */
function groupsOf(release) {
  if (release.groups !== undefined) return release.groups
  const table = /** @type {import('./column.js').Table} */(release.tables.get('microdata'))
  const ranks = columnsOf(release.d, 'quasi-identifier').map((/** @type {any} */ q) => table.column(q.name).ranks)
  const seen = new Set()
  for (let i = 0; i < table.length; i++) seen.add(ranks.map((/** @type {Int32Array} */ r) => r[i]).join())
  return seen.size
}

/**
 * All of F9; the verdicts of the promises of the whole.
 * @param {any} d the declaration of the whole
 * @param {any[]} parts what was found of each part
 * @returns {import('./promises.js').Judgement[]}
 */
export function checkParts(d, parts) {
  holds(d.parts && d.made_of.length > 0, 'F9', 'datapackage.json', 'made_of without parts')
  const quasi = new Set(columnsOf(d, 'quasi-identifier').map((/** @type {any} */ q) => q.name))
  if (d.parts.by !== undefined) holds(quasi.has(d.parts.by), 'F9.1', 'datapackage.json', 'by')
  let groups = 0, targets = 0
  d.made_of.forEach((/** @type {any} */ entry, /** @type {number} */ i) => {
    const p = parts[i], own = p.d, where = `parts/${entry.name}`
    holds(entry.name === String(i + 1).padStart(4, '0'), 'F9.1', where, 'names in another order')
    for (const key of SAME) holds(sameJson(d[key], own[key]), 'F9.2', where, key)
    holds(own.title === `${firstCharacters(d.title, 160)} (part ${i + 1} of ${d.made_of.length})`, 'F9.2', where, 'title')
    holds(own.promises.length === d.promises.length && own.promises.every((/** @type {any} */ q, /** @type {number} */ k) => samePromise(d.promises[k], q)), 'F9.3', where, 'promises')
    holds(entry.digest === own.digest, 'F9.4', where, 'digest')
    holds(entry.rows === own.rows.published && entry.rows <= d.parts.rows, 'F9.4', where, 'rows')
    holds(entry.groups === groupsOf(p.release), 'F9.4', where, 'groups')
    holds(entry['first-group'] === groups && (entry['first-target'] ?? 0) === targets, 'F9.4', where, 'first-group or first-target')
    groups += entry.groups
    targets += p.release.targets?.trees.length ?? 0
    const r = own.rows
    holds(r.read === r.published + r.suppressed + (r.not_represented_versions ?? 0), 'F9.5', where, 'read')
    holds(own.predecessor === undefined || d.predecessor !== undefined, 'F9.6', where, 'predecessor')
  })
  for (const key of SUMS) {
    const sum = parts.reduce((s, p) => s + (p.d.rows[key] ?? 0), 0), stated = d.rows[key] ?? 0
    holds(stated === sum || (key === 'not_represented_versions' && isComposed(d) && stated > sum), 'F9.5', 'datapackage.json', key)
  }
  checkCuts(d)
  checkAdmittedApart(d, parts)
  d.made_of.forEach((/** @type {any} */ entry, /** @type {number} */ i) => checkAdmittedRows(d, entry, parts[i].release))
  if (d.form.method === 'redistributed') {
    const domain = (/** @type {any} */ p) => p.release.targets.domain.map(String).sort(compareTexts).join('\n')
    for (const p of parts) holds(domain(p) === domain(parts[0]), 'F9.10', 'parts', 'domains differ')
  }
  return d.promises.map((/** @type {any} */ promise, /** @type {number} */ i) => judgeWhole(d, promise, i, parts))
}

/** F9.11: the values that groups of two parts admit. @param {any} d @param {any[]} parts */
function checkAdmittedApart(d, parts) {
  if (!d.promises.some((/** @type {any} */ p) => p.model === 'alpha-beta' && p.presence === 'combined')) return
  const admitted = parts.map(p => columnsOf(d, 'quasi-identifier').map((/** @type {any} */ q) => {
    const column = p.release.tables.get(`at_${safe(q.name)}`).column(q.name)
    return new Set(column.codes.some((/** @type {number} */ c) => c < 0) ? [...column.texts, null] : column.texts)
  }))
  admitted.forEach((a, i) => admitted.slice(0, i).forEach(b => {
    holds(a.some((/** @type {Set<any>} */ set, /** @type {number} */ q) => [...set].every(v => !b[q].has(v))), 'F9.11', 'parts', 'two parts that admit a value of every quasi-identifier in common')
  }))
}

/** F9.9. @param {any} d @param {any} entry @param {import('./relations.js').Release} release */
function checkAdmittedRows(d, entry, release) {
  const table = release.tables.get({ permuted: 'microdata', split: 'qit', redistributed: 'qit' }[/** @type {'split'} */(d.form.method)] ?? '')
  if (!table) return
  const tests = entry.where.map((/** @type {any[]} */ cut) => cut.map(share => {
    const column = d.columns.find((/** @type {any} */ c) => c.name === share.column)
    const c = table.has(share.column) ? table.column(share.column) : undefined
    if (!c) return undefined
    const ok = c.values.map(v => admits(share, column, v)), missing = admits(share, column, null)
    return (/** @type {number} */ row) => c.codes[row] < 0 ? missing : ok[c.codes[row]]
  }).filter(Boolean))
  for (let row = 0; row < table.length; row++) {
    holds(tests.some((/** @type {any[]} */ cut) => cut.every(test => test(row))), 'F9.9', `parts/${entry.name}`, 'a row that no cut admits')
  }
}

/**
 * F9.12, P1.7.
 * @param {any} d
 * @param {any} promise
 * @param {number} i
 * @param {any[]} parts
 * @returns {import('./promises.js').Judgement}
 */
function judgeWhole(d, promise, i, parts) {
  const where = `promise ${i + 1}, ${promise.model}`, entry = d.observed[i]
  if (needsReference(promise)) {
    must(entry && sameJson(entry.promise, promise), 'observed-wrong', 'M6.1', where)
    const groups = parts.reduce((s, p) => s + p.verdicts[i].groups, 0)
    must(entry.groups === groups, 'statement-wrong', 'M6.3', where, 'another number of groups')
    checkStatement(promise, entry.observed, where)
    return { groups, kept: true, stated: true, observed: {} }
  }
  /** @type {import('./promises.js').Judgement[]} */
  let verdicts = parts.map(p => p.verdicts[i])
  if (comparesWithAll(promise)) {
    if (d.form.method === 'redistributed') must(false, 'promise-unmeasurable', 'P1.7', where, 'compares groups with all rows of parts')
    verdicts = withOthers(parts.map(p => p.release), promise).map((c, k) => judgeCounts(parts[k].release, promise, c.counts, c.own))
  }
  /** @type {import('./promises.js').Judgement} */
  const whole = { groups: 0, kept: true, observed: {} }
  for (const v of verdicts) {
    whole.groups += v.groups
    whole.kept &&= v.kept
    whole.unmeasurable ??= v.unmeasurable
    for (const [name, x] of Object.entries(v.observed)) {
      const before = whole.observed[name], most = isAtMost(promise, name)
      if (before === undefined) whole.observed[name] = x
      else if (before === 'infinite' || x === 'infinite') whole.observed[name] = most ? 'infinite' : before === 'infinite' ? x : before
      else whole.observed[name] = most ? largest(before, x) : smallest(before, x)
    }
  }
  checkJudged(whole, promise, entry, where)
  return whole
}
