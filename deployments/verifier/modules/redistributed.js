/** Promises in `redistributed`, which are about targets and imbalances (P4, P5.4, P6.6, P7.2, P8.1, P9.4, P13). */
import { absolute, add, compare, divide, exact, fraction, gcd, largest, multiply, ONE, subtract, ZERO } from './fractions.js'
import { entropyVerdict } from './promises.js'
import { belowPower, isBelowLog } from './shares.js'
import { isNumeric } from './values.js'
import { levelsOf } from './hierarchies.js'
import { sumsBy } from './relations.js'

/** @typedef {import('./fractions.js').Fraction} Fraction */
/** @typedef {import('./promises.js').Judgement} Judgement */

const MOST_DENOMINATOR = 2n ** 40n
const param = (/** @type {unknown} */ v) => /** @type {Fraction} */(exact(v))

/**
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @returns {Judgement}
 */
export function judgeRedistributed(release, promise) {
  const targets = /** @type {import('./targets.js').Targets} */(release.targets), groups = /** @type {number} */(release.groups)
  /** @type {Judgement} */
  const verdict = { groups, kept: groups > 0, observed: {} }
  const unmeasurable = (/** @type {string} */ why) => ({ ...verdict, kept: false, unmeasurable: why })
  const shares = targets.trees.map(t => t.leaves.map(l => l.p))
  switch (promise.model) {
    case 'p-privacy': {
      const most = imbalance(release, targets, groups)
      verdict.observed.tolerance = most
      verdict.kept = most !== 'infinite' && compare(most, param(promise.tolerance)) <= 0
      return verdict
    }
    case 'l-diversity': {
      if (promise.variant === 'distinct') {
        const l = Math.min(...shares.map(list => list.filter(p => p.n > 0n).length))
        verdict.observed.l = fraction(l)
        verdict.kept = l >= promise.l
        return verdict
      }
      if (promise['dont-care'] || promise.negative) return unmeasurable('dont-care or negative')
      /** @type {bigint[][]} */
      const counts = []
      for (const list of shares) {
        const positive = list.filter(p => p.n > 0n)
        const denominator = positive.reduce((m, p) => m / gcd(m, p.d) * p.d, 1n)
        if (denominator > MOST_DENOMINATOR) return unmeasurable('a denominator above 2^40')
        counts.push(positive.map(p => p.n * (denominator / p.d)).sort((a, b) => a < b ? 1 : a > b ? -1 : 0))
      }
      if (promise.variant === 'entropy') return entropyVerdict(counts.map(kept => ({ kept, free: [] })), param(promise.l), verdict)
      let worst = ZERO
      for (const list of counts) {
        const rest = list.slice(Math.max(0, promise.l - 1)).reduce((s, c) => s + c, 0n)
        if (rest === 0n) return unmeasurable('a group without rare values')
        worst = largest(worst, fraction(list[0], rest))
      }
      verdict.observed = { c: worst, l: fraction(Math.min(...counts.map(l => l.length))) }
      verdict.kept = compare(worst, param(promise.c)) < 0
      return verdict
    }
    case 't-closeness': {
      const all = means(release, targets, shares)
      const list = shares.map(p => distance(targets, promise.distance, p, all))
      if (list.some(x => !x)) return unmeasurable('values without an order or a hierarchy')
      verdict.observed.t = /** @type {Fraction[]} */(list).reduce(largest)
      verdict.kept = compare(verdict.observed.t, param(promise.t)) <= 0
      return verdict
    }
    case 'delta-disclosure': {
      const all = means(release, targets, shares)
      let most = ONE
      for (const list of shares) {
        for (let i = 0; i < list.length; i++) {
          if (all[i].n <= 0n) continue
          if (list[i].n <= 0n) return { ...verdict, kept: false, observed: { delta: 'infinite' } }
          const x = divide(list[i], all[i])
          most = largest(most, largest(x, divide(ONE, x)))
        }
      }
      const { kept, delta } = belowPower(most, param(promise.delta))
      return { ...verdict, kept: verdict.kept && kept, observed: { delta } }
    }
    case 'beta-likeness': {
      const all = means(release, targets, shares), beta = param(promise.beta)
      let most = ZERO
      for (const list of shares) {
        list.forEach((p, i) => {
          if (p.n <= 0n) return
          if (all[i].n <= 0n) { verdict.kept = false; return }
          const gain = subtract(divide(p, all[i]), ONE)
          most = largest(most, gain)
          if (compare(gain, beta) > 0) verdict.kept = false
          if (promise.variant === 'enhanced' && gain.n > 0n && !isBelowLog(gain, all[i])) verdict.kept = false
        })
      }
      verdict.observed.beta = most
      return verdict
    }
    default: return unmeasurable('a promise that this form does not have')
  }
}

/**
 * w(v): the mean of the leaves' P over all rows of `qit` (P7.2).
 * @param {import('./relations.js').Release} release
 * @param {import('./targets.js').Targets} targets
 * @param {Fraction[][]} shares
 */
function means(release, targets, shares) {
  const qit = /** @type {import('./order.js').Grouped} */(release.grouped.get('qit'))
  const rows = new Array(shares.length).fill(0)
  const ofGroup = /** @type {Int32Array} */(targets.ofGroup)
  for (let g = 0; g < ofGroup.length; g++) rows[ofGroup[g]] += qit.size(g)
  const N = BigInt(qit.table.length)
  return targets.domain.map((_, i) => shares.reduce((sum, list, k) => add(sum, multiply(list[i], fraction(rows[k], N))), ZERO))
}

/**
 * @param {import('./targets.js').Targets} targets
 * @param {string} kind
 * @param {Fraction[]} p
 * @param {Fraction[]} w
 * @returns {Fraction | undefined}
 */
function distance(targets, kind, p, w) {
  const total = (/** @type {Fraction[]} */ list) => list.reduce(add, ZERO)
  if (kind === 'equal') return multiply(total(p.map((x, i) => absolute(subtract(x, w[i])))), fraction(1n, 2n))
  if (kind === 'ordered') {
    if (!isNumeric(targets.type)) return undefined
    let sum = ZERO, run = ZERO, m = 0
    p.forEach((x, i) => {
      if (w[i].n <= 0n) return
      m++
      run = add(run, subtract(x, w[i]))
      sum = add(sum, absolute(run))
    })
    return divide(sum, fraction(Math.max(m - 1, 1)))
  }
  if (!targets.column.hierarchy) return undefined
  const levels = levelsOf(targets.column)
  let sum = ZERO
  for (const level of levels) {
    /** @type {Map<string, Fraction>} */
    const differences = new Map()
    for (let i = 0; i < p.length; i++) {
      const label = level(targets.domain[i])
      if (label === undefined) return undefined
      differences.set(label, add(differences.get(label) ?? ZERO, subtract(p[i], w[i])))
    }
    sum = add(sum, multiply(total([...differences.values()].map(absolute)), fraction(1n, 2n)))
  }
  return divide(sum, fraction(levels.length))
}

/**
 * P13.1: the largest abs(s(v) − n)/n. s(v) changes only at ends of nodes that `st` shows.
 * @param {import('./relations.js').Release} release
 * @param {import('./targets.js').Targets} targets
 * @param {number} groups
 * @returns {Fraction | 'infinite'}
 */
function imbalance(release, targets, groups) {
  const st = /** @type {import('./order.js').Grouped} */(release.grouped.get('st')), sums = sumsBy(st, 'count')
  const ofGroup = /** @type {Int32Array} */(targets.ofGroup)
  const positives = targets.trees.map(tree => {
    const before = new Int32Array(tree.leaves.length + 1)
    tree.leaves.forEach((l, i) => { before[i + 1] = before[i] + (l.p.n > 0n ? 1 : 0) })
    return before
  })
  let most = ZERO
  for (let g = 0; g < groups; g++) {
    const n = fraction(BigInt(sums[g])), before = positives[ofGroup[g]], size = targets.domain.length
    /** @type {Map<number, Fraction>} */
    const steps = new Map()
    for (const { node, count } of /** @type {any} */(targets.shown)[g]) {
      if (node.p.n === 0n) return 'infinite'
      const x = divide(fraction(count), node.p)
      steps.set(node.low, add(steps.get(node.low) ?? ZERO, x))
      steps.set(node.high + 1, subtract(steps.get(node.high + 1) ?? ZERO, x))
    }
    const ends = [...new Set([0, ...steps.keys(), size])].sort((a, b) => a - b)
    let s = ZERO
    for (let i = 0; i + 1 < ends.length; i++) {
      s = add(s, steps.get(ends[i]) ?? ZERO)
      if (before[ends[i + 1]] > before[ends[i]]) most = largest(most, divide(absolute(subtract(s, n)), n))
    }
  }
  return most
}
