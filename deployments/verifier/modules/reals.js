/**
 * Logarithms and powers with bounds (P1.9). Fixed-point numbers of BigInt with `bits` binary places; every result
 * is within 2^-(bits - GUARD) of the real one, for arguments as they occur here.
 */

/** Places that rounding errors may take. */
export const GUARD = 40n

/** @type {Map<bigint, bigint>} */
const LN2 = new Map()

/** atanh(1/k) in fixed point. @param {bigint} k @param {bigint} bits */
function inverseAtanh(k, bits) {
  let term = (1n << bits) / k, sum = term, i = 3n
  const square = k * k
  while (term) { term /= square; sum += term / i; i += 2n }
  return sum
}

/** ln 2. @param {bigint} bits */
function ln2(bits) {
  let found = LN2.get(bits)
  if (found === undefined) LN2.set(bits, found = 2n * inverseAtanh(3n, bits))
  return found
}

/** @param {bigint} n */
const bitLength = n => n.toString(16).length * 4 - Math.clz32(parseInt(n.toString(16)[0], 16)) + 28

/**
 * ln(n/d) for n, d > 0.
 * @param {bigint} n
 * @param {bigint} d
 * @param {bigint} bits
 */
export function ln(n, d, bits) {
  // x = n/d = m × 2^k with m in [1/2, 2); ln m = 2 atanh((m−1)/(m+1))
  const k = BigInt(bitLength(n) - bitLength(d))
  if (k >= 0n) d <<= k
  else n <<= -k
  const z = ((n - d) << bits) / (n + d)
  const square = (z * z) >> bits
  let term = z, sum = z, i = 3n
  while (term) {
    term = (term * square) >> bits
    if (term === -1n) break
    sum += term / i
    i += 2n
  }
  return 2n * sum + k * ln2(bits)
}

/**
 * e^x for a fixed-point x; the result is fixed-point too.
 * @param {bigint} x
 * @param {bigint} bits
 */
export function exp(x, bits) {
  const l = ln2(bits)
  let k = x / l
  if (x < 0n && x % l) k--
  const r = (x - k * l) >> 8n // e^r, then squared eight times
  let term = 1n << bits, sum = term, i = 1n
  while (term) {
    term = ((term * r) >> bits) / i
    sum += term
    i++
  }
  for (let j = 0; j < 8; j++) sum = (sum * sum) >> bits
  return k >= 0n ? sum << k : sum >> -k
}

/**
 * Decides the sign of a real number that is never 0: computes it with more and more digits.
 * @param {(bits: bigint) => bigint} compute the number in fixed point
 * @returns {number} −1 or 1; 0 if 4000 bits do not decide it
 */
export function signOf(compute) {
  for (let bits = 128n; bits <= 4096n; bits *= 2n) {
    const value = compute(bits)
    const slack = 1n << GUARD
    if (value > slack) return 1
    if (value < -slack) return -1
  }
  return 0
}

/**
 * Rounds a real number to 6 decimals, half to even.
 * @param {(bits: bigint) => bigint} compute the number in fixed point
 * @returns {bigint} millionths
 */
export function millionths(compute) {
  for (let bits = 160n; ; bits *= 2n) {
    const slack = 1n << (GUARD + 8n), value = compute(bits)
    const round = (/** @type {bigint} */ v) => {
      const scaled = v * 1000000n, unit = 1n << bits
      let q = scaled / unit
      let r = scaled % unit
      if (r < 0n) { q--; r += unit }
      if (2n * r > unit || (2n * r === unit && q % 2n)) q++
      return q
    }
    const low = round(value - slack), high = round(value + slack)
    if (low === high) return low
    // no more than a tie can be left: half to even
    if (bits > 2000n) return low % 2n ? high : low
  }
}
