/** What a promise may be about (P1.1). */
import { must } from './refusal.js'
import { columnsOf, hasLabels, isComposed } from './forms.js'
import { aboutValues } from './grouping.js'
import { aboutRelated, checkFacts } from './related.js'

const LABELS = ['generalized', 'suppressed'], EXACT = ['permuted', 'split']
/** @type {Record<string, string[]>} */
const FORMS = {
  'k-anonymity': LABELS, 'k-map': LABELS, 'alpha-k': LABELS, 'km-anonymity': LABELS, 'lkc-privacy': LABELS, 'delta-presence': LABELS, 'bayes-optimal': LABELS,
  'l-diversity': [...LABELS, ...EXACT, 'ambiguous', 'redistributed'],
  't-closeness': [...LABELS, ...EXACT, 'redistributed'], 'beta-likeness': [...LABELS, ...EXACT, 'redistributed'],
  'delta-disclosure': [...LABELS, ...EXACT, 'redistributed'], 'ke-anonymity': [...LABELS, ...EXACT, 'ambiguous'],
  people: ['apart', ...EXACT], 'related-l-diversity': ['apart'], 'related-alpha': ['apart'],
  'alpha-beta': ['ambiguous'], 'p-privacy': ['redistributed'],
}

/** Promises about facts of people (P1.1). */
const OF_FACTS = ['l-diversity', 't-closeness', 'beta-likeness', 'delta-disclosure', 'ke-anonymity', 'alpha-k']

/** @param {any} d */
export function checkScope(d) {
  const of = (/** @type {string} */ role) => new Set(columnsOf(d, role).map((/** @type {any} */ c) => c.name))
  const Q = of('quasi-identifier'), S = of('sensitive')
  const weights = new Set(d.columns.filter((/** @type {any} */ c) => c.weight).map((/** @type {any} */ c) => c.name))
  const facts = new Set(d.columns.filter((/** @type {any} */ c) => c.derive !== undefined).map((/** @type {any} */ c) => c.name))
  const grouped = new Set(), protectedColumns = new Set()
  d.promises.forEach((/** @type {any} */ p, /** @type {number} */ i) => {
    const where = `promise ${i + 1}, ${p.model}`
    const holds = (/** @type {unknown} */ ok, /** @type {string} */ detail) => must(ok, 'promise-scope', 'P1.1', where, detail)
    const ofFact = d.form.method === 'apart' && !aboutRelated(p)
    holds(ofFact ? OF_FACTS.includes(p.model) : FORMS[p.model].includes(d.form.method), `not for the form ${d.form.method}`)
    if (p.model === 'people' && d.form.method !== 'apart') holds(p.numbers === 'hidden' && !isComposed(d), 'numbers of rows, or composed versions, in one table')
    if (ofFact) holds(facts.has(p.sensitive) && !p.known, 'not about a fact')
    else if (aboutRelated(p) && aboutValues(p)) holds(d.form.columns.includes(p.sensitive), 'not about a related column')
    if (p.model === 'km-anonymity' || p.model === 'lkc-privacy') {
      holds(!isComposed(d) && d.parts === undefined, 'not for composed versions, nor for parts')
    }
    for (const names of [p['quasi-identifiers'], p.known ?? []]) holds(new Set(names).size === names.length, 'a column twice')
    for (const q of p['quasi-identifiers']) { holds(Q.has(q), `${q} is no quasi-identifier`); grouped.add(q) }
    if (aboutValues(p)) {
      holds(p.sensitive !== undefined && S.has(p.sensitive), 'no sensitive column')
      protectedColumns.add(p.sensitive)
    }
    if (p.model === 'k-map') holds(p.weight !== undefined && weights.has(p.weight), 'no column of weights')
    if (p.known) {
      holds(p.known.every((/** @type {string} */ k) => S.has(k) && k !== p.sensitive), 'known')
      holds(hasLabels(d) || d.form.sensitive === 'together', 'known in columns that were shuffled by themselves')
    }
  })
  checkFacts(d)
  for (const q of Q) must(grouped.has(q), 'promise-scope', 'P1.1', `column ${q}`, 'a quasi-identifier of no promise')
  for (const s of columnsOf(d, 'sensitive')) {
    must(protectedColumns.has(s.name) || s.unprotected !== undefined, 'promise-scope', 'P1.1', `column ${s.name}`, 'a sensitive column without a promise')
  }
}
