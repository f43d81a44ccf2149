/** How each promise is measured and decided (P2 to P12, P17, P18), where tables have counts. */
import { compare, exact, fraction, fromDecimal, largest, smallest, subtract, ZERO } from './fractions.js'
import { countsOf, weightSums } from './grouping.js'
import { entropy, isBelow, rounded } from './entropy.js'
import { disclosure, distances, likeness } from './shares.js'
import { isNumeric, numberOf, textOf } from './values.js'
import { overCombinations } from './combinations.js'
import { presence } from './presence.js'
import { judgeRedistributed } from './redistributed.js'
import { aboutRelated, judgeRelated } from './related.js'

/** @typedef {import('./grouping.js').Counts} Counts */
/** @typedef {import('./fractions.js').Fraction} Fraction */
/**
 * @typedef {object} Judgement
 * @property {number} groups
 * @property {boolean} kept
 * @property {string} [unmeasurable] why it cannot be measured
 * @property {boolean} [stated] whether numbers are the publisher's (M6.3)
 * @property {Record<string, Fraction | 'infinite'>} observed
 */

/** Numbers of a verdict that are *at most*; all others are *at least* (P). @type {Record<string, string[]>} */
const AT_MOST = {
  't-closeness': ['t'], 'delta-disclosure': ['delta'], 'beta-likeness': ['beta'], 'alpha-k': ['alpha'],
  'alpha-beta': ['alpha', 'beta'], 'p-privacy': ['tolerance'], 'delta-presence': ['max'], 'bayes-optimal': ['rho2'], 'l-diversity': ['c'],
  'lkc-privacy': ['c'], 'related-alpha': ['alpha'],
}

/** Whether a number of an observation must not be larger than promised. @param {any} promise @param {string} name */
export const isAtMost = (promise, name) => (AT_MOST[promise.model] ?? []).includes(name)

/** Promises that compare groups with all rows (P1.7). @param {any} promise */
export const comparesWithAll = promise => ['t-closeness', 'delta-disclosure', 'beta-likeness'].includes(promise.model)

/** @param {unknown} value @returns {Fraction} */
const param = value => {
  const f = exact(value)
  if (!f) throw new Error('no exact number')
  return f
}

/**
 * The ranks that the texts of a list mean; 0 is a missing value and is never meant (P1.5).
 * @param {string[]} list
 * @param {import('./column.js').Column} column
 * @param {Float64Array} totals
 * @returns {(number | undefined)[]} one for each text
 */
export function meantRanks(list, column, totals) {
  const t = column.type
  const numbers = list.map(text => fromDecimal(text.trim().replaceAll('_', '')))
  const byNumber = isNumeric(t) && !(totals[0] > 0) && numbers.some(n => n)
  const ranks = new Map()
  for (let r = 1; r < totals.length; r++) {
    if (!(totals[r] > 0)) continue
    const v = column.valueOfRank(r)
    if (byNumber) {
      if (t.kind === 'float' && !Number.isFinite(v)) continue
      const f = numberOf(t, v)
      ranks.set(`${f.n}/${f.d}`, r)
    } else ranks.set(textOf(t, v), r)
  }
  return list.map((text, i) => {
    if (!byNumber) return ranks.get(text)
    const n = numbers[i]
    return n ? ranks.get(`${n.n}/${n.d}`) : undefined
  })
}

/**
 * Judges a promise on the tables of a release (P1.6).
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @returns {Judgement}
 */
export function judge(release, promise) {
  if (release.d.form.method === 'redistributed') return judgeRedistributed(release, promise)
  if (release.d.form.method === 'apart' && aboutRelated(promise)) return judgeRelated(release, promise)
  const counts = countsOf(release, promise)
  return judgeCounts(release, promise, counts)
}

/**
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @param {Counts} c
 * @param {number} [own] how many of the groups are the part's own (P1.7)
 * @returns {Judgement}
 */
export function judgeCounts(release, promise, c, own = c.groups) {
  const d = release.d
  const declared = d.columns.find((/** @type {any} */ x) => x.name === promise.sensitive)
  /** @type {Judgement} */
  const verdict = { groups: own, kept: c.groups > 0, observed: {} }
  const least = (/** @type {Float64Array} */ list) => { let m = Infinity; for (const x of list) if (x < m) m = x; return m }
  const unmeasurable = (/** @type {string} */ why) => ({ ...verdict, kept: false, unmeasurable: why })
  if (!c.groups) return unmeasurable('no group')
  switch (promise.model) {
    case 'k-anonymity': case 'people': {
      const k = least(c.live)
      verdict.observed.k = fraction(k)
      verdict.kept = k >= promise.k
      return verdict
    }
    case 'k-map': {
      const weight = /** @type {import('./column.js').Table} */(release.tables.get('microdata')).column(promise.weight)
      const sums = weightSums(c, weight)
      if (!sums) return unmeasurable('weights are not numbers without missing values')
      if (c.live.some((n, g) => n !== c.sizes[g])) return unmeasurable('groups with vacant rows')
      const k = sums.reduce(smallest)
      verdict.observed.k = k
      verdict.kept = compare(k, fraction(promise.k)) >= 0 && weight.values.every((/** @type {bigint} */ w) => w > 0n)
      return verdict
    }
    case 'l-diversity':
      if (promise.variant === 'distinct') {
        const l = leastDifferent(c)
        verdict.observed.l = fraction(l)
        verdict.kept = l >= promise.l
        return verdict
      }
      return promise.variant === 'entropy' ? judgeEntropy(promise, c, verdict) : judgeRecursive(promise, c, verdict)
    case 't-closeness': {
      const all = distances(c, promise.distance, declared)
      if (!all) return unmeasurable('values without an order or a hierarchy')
      verdict.observed.t = all.reduce(largest)
      verdict.kept = compare(verdict.observed.t, param(promise.t)) <= 0
      return verdict
    }
    case 'delta-disclosure': {
      const { kept, delta } = disclosure(c, param(promise.delta))
      return { ...verdict, kept, observed: { delta } }
    }
    case 'beta-likeness': {
      const { kept, beta } = likeness(c, param(promise.beta), promise.variant === 'enhanced')
      return { ...verdict, kept, observed: { beta } }
    }
    case 'alpha-k': {
      const only = promise.values && new Set(meantRanks(promise.values, c.column, c.totals).filter(r => r !== undefined))
      const alpha = largestShare(c, only), k = least(c.live)
      verdict.observed = { alpha, k: fraction(k) }
      verdict.kept = k >= promise.k && compare(alpha, param(promise.alpha)) <= 0
      return verdict
    }
    case 'km-anonymity': {
      const { k } = overCombinations(rowsOf(release), promise['quasi-identifiers'], promise.m, undefined, undefined)
      return { ...verdict, kept: k >= promise.k, observed: { k: fraction(k) } }
    }
    case 'lkc-privacy': {
      const only = promise.values && new Set(meantRanks(promise.values, c.column, c.totals).filter(r => r !== undefined))
      const seen = overCombinations(rowsOf(release), promise['quasi-identifiers'], promise.l, c.column, only)
      const kept = seen.k >= promise.k && compare(seen.c, param(promise.c)) <= 0
      return { ...verdict, kept, observed: { k: fraction(seen.k), c: seen.c } }
    }
    case 'ke-anonymity': {
      if (!isNumeric(c.column.type) || c.totals[0] > 0) return unmeasurable('values that are no numbers, or missing')
      /** @type {Fraction | undefined} */
      let e
      let hint = Infinity
      for (let g = 0; g < c.groups; g++) {
        const low = c.column.valueOfRank(c.values[c.start[g]]), high = c.column.valueOfRank(c.values[c.start[g + 1] - 1])
        const near = Number(high) - Number(low)
        if (near > hint * 1.000001 + 1e-9) continue // a double is enough to see that it is not the least
        const range = subtract(numberOf(c.column.type, high), numberOf(c.column.type, low))
        if (!e || compare(range, e) < 0) { e = range; hint = near }
      }
      const k = leastDifferent(c)
      verdict.observed = { k: fraction(k), e: /** @type {Fraction} */(e) }
      verdict.kept = k >= promise.k && compare(/** @type {Fraction} */(e), param(promise.e)) >= 0
      return verdict
    }
    case 'alpha-beta': {
      const beta = largestShare(c, undefined)
      const alpha = presence(release, promise)
      if (!alpha) return unmeasurable('the search for the largest presence was given up')
      verdict.observed = { alpha, beta }
      verdict.kept = compare(alpha, param(promise.alpha)) <= 0 && compare(beta, param(promise.beta)) <= 0
      return verdict
    }
    default: return unmeasurable('a promise that this form does not have')
  }
}

/** @param {import('./relations.js').Release} release @returns {import('./column.js').Table} */
const rowsOf = release => /** @type {import('./column.js').Table} */(release.tables.get('microdata'))

/** @param {Counts} c */
function leastDifferent(c) {
  let least = Infinity
  for (let g = 0; g < c.groups; g++) least = Math.min(least, c.start[g + 1] - c.start[g])
  return least
}

/** The largest n(v)/n (P10, P12.1). @param {Counts} c @param {Set<number> | undefined} only */
function largestShare(c, only) {
  let n = 0, d = 1
  for (let g = 0; g < c.groups; g++) {
    let most = 0
    for (let i = c.start[g]; i < c.start[g + 1]; i++) if (c.counts[i] > most && (!only || only.has(c.values[i]))) most = c.counts[i]
    // compared exactly: products of whole numbers, as BigInt where doubles would not be exact
    const size = c.sizes[g], a = most * d, b = n * size
    if (a < 2 ** 53 && b < 2 ** 53 ? a > b : BigInt(most) * BigInt(d) > BigInt(n) * BigInt(size)) { n = most; d = size }
  }
  return fraction(n, d)
}

/** @param {any} promise @param {Counts} c @param {Judgement} verdict @returns {Judgement} */
function judgeEntropy(promise, c, verdict) {
  const l = param(promise.l), free = new Set(promise['dont-care'] ? meantRanks(promise['dont-care'], c.column, c.totals).filter(r => r !== undefined) : [])
  /** @type {Map<string, import('./entropy.js').Shape>} shapes of groups, each once */
  const shapes = new Map()
  for (let g = 0; g < c.groups; g++) {
    const kept = [], loose = []
    for (let i = c.start[g]; i < c.start[g + 1]; i++) (free.has(c.values[i]) ? loose : kept).push(c.counts[i])
    kept.sort((a, b) => a - b)
    loose.sort((a, b) => a - b)
    const key = `${kept.join()};${loose.join()}`
    if (!shapes.has(key)) shapes.set(key, { kept: kept.map(BigInt), free: loose.map(BigInt) })
  }
  return entropyVerdict([...shapes.values()], l, verdict)
}

/**
 * @param {import('./entropy.js').Shape[]} shapes
 * @param {Fraction} l
 * @param {Judgement} verdict
 * @returns {Judgement}
 */
export function entropyVerdict(shapes, l, verdict) {
  const doubles = shapes.map(entropy), least = doubles.reduce((a, b) => Math.min(a, b), Infinity)
  verdict.kept = !shapes.some(s => isBelow(s, l))
  if (least === Infinity) verdict.observed.l = 'infinite'
  else {
    const near = shapes.filter((_, i) => doubles[i] <= least + 1e-8)
    verdict.observed.l = near.map(rounded).reduce(smallest)
  }
  return verdict
}

/** @param {any} promise @param {Counts} c @param {Judgement} verdict @returns {Judgement} */
function judgeRecursive(promise, c, verdict) {
  const L = promise.l, C = param(promise.c), list = promise['dont-care']
  const free = new Set(list ? meantRanks(list, c.column, c.totals).filter(r => r !== undefined) : [])
  const negative = promise.negative ? meantRanks(promise.negative.values, c.column, c.totals) : []
  /** @type {Fraction} */
  let worst = ZERO
  /** @type {Fraction | undefined} */
  let percent
  for (let g = 0; g < c.groups; g++) {
    const from = c.start[g], to = c.start[g + 1]
    const counts = Array.from(c.counts.subarray(from, to)).sort((a, b) => b - a)
    let most = counts[0], rest = sumFrom(counts, L)
    if (list) {
      most = 0
      for (let i = from; i < to; i++) if (!free.has(c.values[i]) && c.counts[i] > most) most = c.counts[i]
      let y = 1
      for (let i = from; i < to; i++) if (free.has(c.values[i]) && c.counts[i] > most) y++
      if (y >= L) rest = sumFrom(counts, L - 1) - most
    }
    if (most > 0) {
      if (compare(fraction(most), fraction(C.n * BigInt(rest), C.d)) >= 0) verdict.kept = false
      if (rest === 0) return { ...verdict, kept: false, unmeasurable: 'a group without rare values' }
      worst = largest(worst, fraction(most, Math.max(rest, 1)))
    }
    if (promise.negative) {
      let few = Infinity
      for (const rank of negative) {
        let n = 0
        for (let i = from; i < to; i++) if (c.values[i] === rank) n = c.counts[i]
        few = Math.min(few, n)
      }
      const share = fraction(100n * BigInt(few), BigInt(c.sizes[g]))
      if (compare(share, param(promise.negative.percent)) < 0) verdict.kept = false
      percent = percent ? smallest(percent, share) : share
    }
  }
  verdict.observed = { c: worst, l: fraction(leastDifferent(c)) }
  if (percent) verdict.observed.percent = percent
  return verdict
}

/** r_L + … (P6.1), 0 where L is beyond the list. @param {number[]} counts descending @param {number} L */
export function sumFrom(counts, L) {
  let sum = 0
  for (let i = Math.max(0, L - 1); i < counts.length; i++) sum += counts[i]
  return sum
}
