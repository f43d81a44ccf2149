/** Entropy of groups (P5): with doubles first, and with as many digits as decide it. */
import { exp, ln, millionths, signOf } from './reals.js'
import { fraction, nearly } from './fractions.js'

/**
 * @typedef {object} Shape counts of one group: of values that matter, and of values that do not (dont-care), ascending
 * @property {bigint[]} kept
 * @property {bigint[]} free
 */

/**
 * Moves counts of `dont-care` values over as P5.3 says.
 * @param {Shape} shape
 * @returns {{kept: bigint[], left: number}}
 */
export function settle({ kept, free }) {
  const out = [...kept], rest = [...free]
  while (rest.length && out.length) {
    const d = rest[0]
    const total = out.reduce((s, c) => s + c, 0n)
    // ln d ≤ M, where M = Σ c ln c / Σ c; equal only where both choices give the same entropy
    const double = Math.log(Number(d)) - out.reduce((s, c) => s + Number(c) * Math.log(Number(c)), 0) / Number(total)
    let sign = Math.abs(double) > 1e-9 * Math.max(1, Math.log(Number(d))) ? Math.sign(double) : undefined
    if (sign === undefined) sign = out.every(c => c === d) ? 0 : signOf(bits => ln(d, 1n, bits) - out.reduce((s, c) => s + c * ln(c, 1n, bits), 0n) / total)
    if (sign > 0) break
    out.push(/** @type {bigint} */(rest.shift()))
  }
  return { kept: out, left: rest.length }
}

/**
 * Entropy as a double; Infinity if no value matters.
 * @param {Shape} shape
 */
export function entropy(shape) {
  if (!shape.kept.length) return Infinity
  const { kept, left } = settle(shape)
  let n = 0, sum = 0
  for (const c of kept) { const x = Number(c); n += x; sum += x * Math.log(x) }
  return left ? Math.log(n + left * Math.exp(sum / n)) - sum / n : Math.log(n) - sum / n
}

/**
 * Entropy in fixed point.
 * @param {Shape} shape
 * @returns {(bits: bigint) => bigint}
 */
export function entropyWith(shape) {
  const { kept, left } = settle(shape)
  /** @type {Map<bigint, bigint>} */
  const times = new Map()
  for (const c of kept) times.set(c, (times.get(c) ?? 0n) + 1n)
  const n = kept.reduce((s, c) => s + c, 0n)
  return bits => {
    let sum = 0n
    for (const [c, k] of times) sum += k * c * ln(c, 1n, bits)
    const m = sum / n
    if (!left) return ln(n, 1n, bits) - m
    const inner = (n << bits) + BigInt(left) * exp(m, bits)
    return ln(inner, 1n << bits, bits) - m
  }
}

/**
 * Whether a group breaks the promise: H < ln L − 10^−9 (P5.1).
 * @param {Shape} shape
 * @param {import('./fractions.js').Fraction} l
 */
export function isBelow(shape, l) {
  const h = entropy(shape)
  if (h === Infinity) return false
  const bound = Math.log(nearly(l)) - 1e-9
  if (Math.abs(h - bound) > 1e-8 * Math.max(1, Math.abs(h), Math.abs(bound))) return h < bound
  const precise = entropyWith(shape)
  return signOf(bits => precise(bits) - ln(l.n, l.d, bits) + (1n << bits) / 1000000000n) < 0
}

/** e^H rounded to 6 decimals (P5.2). @param {Shape} shape */
export function rounded(shape) {
  const precise = entropyWith(shape)
  return fraction(millionths(bits => exp(precise(bits), bits)), 1000000n)
}
