/** Promises that compare a group with all rows (P7 to P9), where tables have counts. */
import { compare, fraction, nearly, ZERO } from './fractions.js'
import { ln, millionths, signOf } from './reals.js'
import { isNumeric } from './values.js'
import { levelsOf } from './hierarchies.js'

/** @typedef {import('./grouping.js').Counts} Counts */
/** @typedef {import('./fractions.js').Fraction} Fraction */

const big = BigInt

/**
 * The largest equal distance of a group (P7).
 * @param {Counts} c
 * @param {number} g
 */
function equalDistance(c, g) {
  // Σ over values of the group; the other values add n N(v) each
  const n = big(c.sizes[g]), N = big(c.total)
  let sum = 0n, inside = 0n
  for (let i = c.start[g]; i < c.start[g + 1]; i++) {
    const all = big(c.totals[c.values[i]]), x = N * big(c.counts[i]) - n * all
    sum += x < 0n ? -x : x
    inside += all
  }
  return fraction(sum + n * (N - inside), 2n * N * n)
}

/**
 * Distances of all groups by the order of values. Between two values of a group its own sum stands still, so the sum over
 * all values in between follows from sums of sums; where the sign changes is found by halving.
 * @param {Counts} c
 * @returns {Fraction[]}
 */
function orderedDistances(c) {
  const values = []
  for (let r = 1; r < c.totals.length; r++) if (c.totals[r] > 0) values.push(r)
  const m = values.length
  if (m < 2) return Array(c.groups).fill(ZERO)
  const place = new Int32Array(c.totals.length)
  values.forEach((r, i) => { place[r] = i })
  const P = new Array(m), S = new Array(m + 1) // P: running totals; S[i]: sum of P before i
  S[0] = 0n
  for (let i = 0, sum = 0n; i < m; i++) { sum += big(c.totals[values[i]]); P[i] = sum; S[i + 1] = S[i] + sum }
  const N = big(c.total)
  const out = []
  for (let g = 0; g < c.groups; g++) {
    const n = big(c.sizes[g])
    let sum = 0n, own = 0n, from = 0
    const add = (/** @type {number} */ to) => { // places from ≤ i < to
      if (from >= to) return
      const level = N * own
      let low = from, high = to // first place where n P > level
      while (low < high) { const mid = (low + high) >> 1; if (n * P[mid] > level) high = mid; else low = mid + 1 }
      sum += level * big(low - from) - n * (S[low] - S[from]) + n * (S[to] - S[low]) - level * big(to - low)
    }
    for (let i = c.start[g]; i < c.start[g + 1]; i++) {
      const at = place[c.values[i]]
      add(at)
      from = at
      own += big(c.counts[i])
    }
    add(m)
    out.push(fraction(sum, big(m - 1) * N * n))
  }
  return out
}

/**
 * The same counts with values replaced by labels.
 * @param {Counts} c
 * @param {(rank: number) => number} labelOf
 * @param {number} labels
 * @returns {Counts}
 */
function relabelled(c, labelOf, labels) {
  const totals = new Float64Array(labels), start = new Int32Array(c.groups + 1)
  /** @type {number[]} */
  const values = [], counts = []
  for (let r = 0; r < c.totals.length; r++) if (c.totals[r] > 0) totals[labelOf(r)] += c.totals[r]
  for (let g = 0; g < c.groups; g++) {
    const mine = new Map()
    for (let i = c.start[g]; i < c.start[g + 1]; i++) { const l = labelOf(c.values[i]); mine.set(l, (mine.get(l) ?? 0) + c.counts[i]) }
    for (const [l, n] of mine) { values.push(l); counts.push(n) }
    start[g + 1] = values.length
  }
  return { ...c, start, values: Int32Array.from(values), counts: Float64Array.from(counts), totals }
}

/**
 * Distances of all groups (P7); undefined where they cannot be measured.
 * @param {Counts} c
 * @param {string} kind
 * @param {any} column the declared column
 * @returns {Fraction[] | undefined}
 */
export function distances(c, kind, column) {
  const each = (/** @type {Counts} */ x) => Array.from({ length: x.groups }, (_, g) => equalDistance(x, g))
  if (kind === 'equal') return each(c)
  if (c.totals[0] > 0) return undefined
  if (kind === 'ordered') return isNumeric(c.column.type) ? orderedDistances(c) : undefined
  if (!column.hierarchy) return undefined
  const levels = levelsOf(column), sums = Array(c.groups).fill(ZERO)
  for (const level of levels) {
    const numbers = new Map(), labelOf = new Int32Array(c.totals.length)
    for (let r = 1; r < c.totals.length; r++) {
      if (!(c.totals[r] > 0)) continue
      const label = level(c.column.valueOfRank(r))
      if (label === undefined) return undefined
      if (!numbers.has(label)) numbers.set(label, numbers.size)
      labelOf[r] = numbers.get(label)
    }
    each(relabelled(c, r => labelOf[r], numbers.size)).forEach((x, g) => { sums[g] = fraction(sums[g].n * x.d + x.n * sums[g].d, sums[g].d * x.d) })
  }
  return sums.map(s => fraction(s.n, s.d * big(levels.length)))
}

/**
 * P8: whether all ratios are below e^δ, and the largest ratio.
 * @param {Counts} c
 * @param {Fraction} delta
 * @returns {{kept: boolean, delta: Fraction | 'infinite'}}
 */
export function disclosure(c, delta) {
  let different = 0
  for (const n of c.totals) if (n > 0) different++
  /** @type {Fraction} */
  let most = fraction(1n)
  const N = big(c.total)
  for (let g = 0; g < c.groups; g++) {
    if (c.start[g + 1] - c.start[g] < different) return { kept: false, delta: 'infinite' }
    for (let i = c.start[g]; i < c.start[g + 1]; i++) {
      const x = fraction(big(c.counts[i]) * N, big(c.totals[c.values[i]]) * big(c.sizes[g]))
      const r = x.n < x.d ? { n: x.d, d: x.n } : x
      if (compare(r, most) > 0) most = r
    }
  }
  return belowPower(most, delta)
}

/**
 * P8: whether the largest ratio is below e^delta, and its logarithm to 6 decimals.
 * @param {Fraction} most
 * @param {Fraction} delta
 */
export function belowPower(most, delta) {
  const kept = signOf(bits => ln(most.n, most.d, bits) - (delta.n << bits) / delta.d) < 0
  return { kept, delta: fraction(millionths(bits => ln(most.n, most.d, bits)), 1000000n) }
}

/**
 * P9.2: whether a gain g > 0 is below −ln p.
 * @param {Fraction} gain
 * @param {Fraction} p
 */
export function isBelowLog(gain, p) {
  const double = nearly(gain) + Math.log(nearly(p))
  if (Math.abs(double) > 1e-9 * Math.max(1, nearly(gain))) return double < 0
  return signOf(bits => (gain.n << bits) / gain.d + ln(p.n, p.d, bits)) < 0
}

/**
 * P9: the largest gain, and whether no value breaks the promise.
 * @param {Counts} c
 * @param {Fraction} beta
 * @param {boolean} enhanced
 */
export function likeness(c, beta, enhanced) {
  let most = ZERO, kept = true
  const N = big(c.total)
  for (let g = 0; g < c.groups; g++) {
    for (let i = c.start[g]; i < c.start[g + 1]; i++) {
      const all = big(c.totals[c.values[i]])
      const gain = fraction(big(c.counts[i]) * N - big(c.sizes[g]) * all, big(c.sizes[g]) * all)
      if (compare(gain, most) > 0) most = gain
      if (compare(gain, beta) > 0) kept = false
      if (enhanced && gain.n > 0n && !isBelowLog(gain, fraction(all, N))) kept = false
    }
  }
  return { kept, beta: most }
}
