/**
 * Random numbers of a seed, the same that NumPy's `default_rng` gives.
 *
 * Source: O'Neill, PCG: a family of simple fast space-efficient statistically good algorithms for random
 * number generation (2014), XSL RR 128/64; seeds are spread as by NumPy's SeedSequence.
 */

const POOL = 4;
const LIMBS = 6; // of 22 bits, the lowest first, and of 18 bits
const LIMB = 2 ** 22;
const LAST = 2 ** 18;
const [U, V, W, X, Y, Z] = limbsOf(0x2360ed051fc65da44385df649fccf645n);

/**
 * @param {number} start
 * @param {number} factor
 * @returns {(number: number) => number} a hash of 32 bits, which changes from call to call
 */
function hashing(start, factor) {
  let constant = start;
  return (number) => {
    const mixed = number ^ constant;
    constant = Math.imul(constant, factor);
    const hash = Math.imul(mixed, constant);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
}

/** @param {number} seed below 2 ** 32 @returns {number[]} eight numbers of 32 bits */
function spread(seed) {
  const hash = hashing(0x43b0d7e5, 0x931e8875);
  const pool = Array.from({ length: POOL }, (_, place) => hash(place ? 0 : seed));
  for (let from = 0; from < POOL; from += 1) {
    for (let to = 0; to < POOL; to += 1) {
      if (from !== to) {
        const mixed = Math.imul(0xca01f9dd, pool[to]) - Math.imul(0x4973f715, hash(pool[from]));
        pool[to] = (mixed ^ (mixed >>> 16)) >>> 0;
      }
    }
  }
  const last = hashing(0x8b51f9dd, 0x58f38ded);
  return Array.from({ length: 2 * POOL }, (_, place) => last(pool[place % POOL]));
}

/**
 * @param {number} seed below 2 ** 32
 * @returns {() => number} the next number, from 0 to below 1
 */
export function randomNumbers(seed) {
  const words = spread(seed).map(BigInt);
  /** @param {number[]} places of words, the highest first */
  const joined = (places) => places.reduce((number, place) => (number << 32n) | words[place], 0n);
  const increment = limbsOf((joined([5, 4, 7, 6]) << 1n) | 1n);
  const state = limbsOf(joined([1, 0, 3, 2]) + ((joined([5, 4, 7, 6]) << 1n) | 1n));
  const step = () => {
    const a = state[0];
    const b = state[1];
    const c = state[2];
    const d = state[3];
    const e = state[4];
    const f = state[5];
    let sum = 0;
    sum = Math.floor(sum / LIMB) + increment[0] + a * U;
    state[0] = sum - Math.floor(sum / LIMB) * LIMB;
    sum = Math.floor(sum / LIMB) + increment[1] + a * V + b * U;
    state[1] = sum - Math.floor(sum / LIMB) * LIMB;
    sum = Math.floor(sum / LIMB) + increment[2] + a * W + b * V + c * U;
    state[2] = sum - Math.floor(sum / LIMB) * LIMB;
    sum = Math.floor(sum / LIMB) + increment[3] + a * X + b * W + c * V + d * U;
    state[3] = sum - Math.floor(sum / LIMB) * LIMB;
    sum = Math.floor(sum / LIMB) + increment[4] + a * Y + b * X + c * W + d * V + e * U;
    state[4] = sum - Math.floor(sum / LIMB) * LIMB;
    sum = Math.floor(sum / LIMB) + increment[5] + a * Z + b * Y + c * X + d * W + e * V + f * U;
    state[5] = sum - Math.floor(sum / LAST) * LAST;
  };
  step();
  return () => {
    step();
    const low = (state[0] | (state[1] << 22)) ^ ((state[2] >>> 20) | (state[3] << 2) | (state[4] << 24));
    const high = ((state[1] >>> 10) | (state[2] << 12)) ^ ((state[4] >>> 8) | (state[5] << 14));
    const turn = state[5] >>> 12;
    const first = turn & 32 ? high : low;
    const second = turn & 32 ? low : high;
    const by = turn & 31;
    // shifts by 32 would shift by 0
    const bottom = by ? (first >>> by) | (second << (32 - by)) : first;
    const top = by ? (second >>> by) | (first << (32 - by)) : second;
    return ((top >>> 0) * 2 ** 21 + (bottom >>> 11)) / 2 ** 53;
  };
}

/** @param {bigint} number @returns {Float64Array} its lowest 128 bits */
function limbsOf(number) {
  const bits = BigInt.asUintN(128, number);
  return Float64Array.from({ length: LIMBS }, (_, place) => Number((bits >> BigInt(22 * place)) % BigInt(LIMB)));
}
