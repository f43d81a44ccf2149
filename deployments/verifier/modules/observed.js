/** What the manifest states of promises, against what the tables give (M6). */
import { must, refuse } from './refusal.js'
import { compare, exact, observedNumber, written } from './fractions.js'
import { isAtMost, judge } from './promises.js'
import { sameJson } from './canonical-json.js'
import { countsOf } from './grouping.js'

/** Parameters of the verdict of a promise: names of its observed numbers, and what bounds each of them. @param {any} p @returns {Record<string, any>} */
export function verdictParameters(p) {
  switch (p.model) {
    case 'k-anonymity': case 'k-map': return { k: p.k }
    case 'l-diversity':
      if (p.variant !== 'recursive') return { l: p.l }
      // the number of different values of P6.5 is not compared with l
      return { c: p.c, l: undefined, ...(p.negative ? { percent: p.negative.percent } : {}) }
    case 't-closeness': return { t: p.t }
    case 'delta-disclosure': return { delta: p.delta }
    case 'beta-likeness': return { beta: p.beta }
    case 'alpha-k': return { alpha: p.alpha, k: p.k }
    case 'km-anonymity': return { k: p.k }
    case 'lkc-privacy': return { k: p.k, c: p.c }
    case 'ke-anonymity': return { k: p.k, e: p.e }
    case 'alpha-beta': return { alpha: p.alpha, beta: p.beta }
    case 'people': return { k: p.k }
    case 'related-l-diversity': return { l: p.l }
    case 'related-alpha': return { alpha: p.alpha }
    case 'p-privacy': return { tolerance: p.tolerance }
    case 'delta-presence': return { min: p.min, max: p.max }
    default: return { rho2: p.rho2 }
  }
}

/** Whether a promise is about a reference that nobody has here (M6.3). @param {any} p */
export const needsReference = p => p.model === 'delta-presence' || p.model === 'bayes-optimal'

/**
 * M6.3: a statement by itself.
 * @param {any} promise
 * @param {any} observed
 * @param {string} where
 */
export function checkStatement(promise, observed, where) {
  const bounds = verdictParameters(promise)
  const holds = (/** @type {unknown} */ ok, /** @type {string} */ detail) => must(ok, 'statement-wrong', 'M6.3', where, detail)
  holds(Object.keys(observed).sort().join() === Object.keys(bounds).sort().join(), 'other numbers than the verdict has')
  for (const [name, value] of Object.entries(observed)) {
    holds(typeof value === 'number' || /^[0-9]+([./][0-9]+)?$/.test(String(value)), `${name} is no number`)
    const number = observedNumber(value)
    holds(number && number.n >= 0n, `${name} is not in its one form`)
    if (bounds[name] === undefined) continue
    const c = compare(/** @type {any} */(number), /** @type {any} */(exact(bounds[name])))
    holds(isAtMost(promise, name) ? c <= 0 : c >= 0, `${name} does not keep the promise`)
  }
}

/** Observed numbers as the manifest has them (M6.2). @param {import('./promises.js').Judgement} verdict */
export function writtenNumbers(verdict) {
  return Object.fromEntries(Object.entries(verdict.observed).map(([k, v]) => [k, v === 'infinite' ? v : written(v)]))
}

/**
 * Judges all promises of a release and compares what was observed.
 * @param {import('./relations.js').Release} release
 * @returns {import('./promises.js').Judgement[]}
 */
export function checkPromises(release) {
  const { d } = release
  return d.promises.map((/** @type {any} */ promise, /** @type {number} */ i) => {
    const where = `promise ${i + 1}, ${promise.model}`, entry = d.observed[i]
    if (!needsReference(promise)) {
      const verdict = judge(release, promise)
      checkJudged(verdict, promise, entry, where)
      return verdict
    }
    must(entry && sameJson(entry.promise, promise), 'observed-wrong', 'M6.1', where)
    const groups = countsOf(release, promise).groups
    must(entry.groups === groups, 'statement-wrong', 'M6.3', where, 'another number of groups')
    checkStatement(promise, entry.observed, where)
    return { groups, kept: true, stated: true, observed: {} }
  })
}

/**
 * @param {import('./promises.js').Judgement} verdict
 * @param {any} promise
 * @param {any} entry of `observed`
 * @param {string} where
 */
export function checkJudged(verdict, promise, entry, where) {
  if (verdict.unmeasurable) refuse('promise-unmeasurable', 'P1.6', where, verdict.unmeasurable)
  must(verdict.kept, 'promise-broken', 'P1.6', where)
  must(entry && sameJson(entry.promise, promise), 'observed-wrong', 'M6.1', where, 'another promise')
  must(entry.groups === verdict.groups, 'observed-wrong', 'M6.1', where, 'another number of groups')
  must(sameJson(entry.observed, writtenNumbers(verdict)), 'observed-wrong', 'M6.1', where, 'other numbers')
}

/** M6.4. @param {any} d @returns {boolean} whether there are statements about people */
export function checkPeople(d) {
  must(d.observed.length === d.promises.length, 'observed-wrong', 'M6.1', 'observed')
  let any = false
  d.observed.forEach((/** @type {any} */ entry, /** @type {number} */ i) => {
    const stated = entry.people ?? entry.households
    if (!stated) return
    any = true
    checkStatement(d.promises[i], stated, `promise ${i + 1}, people`)
  })
  return any
}
