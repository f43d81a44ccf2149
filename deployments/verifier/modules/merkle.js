/** Merkle trees of RFC 9162, section 2.1: roots and proofs (L3.1, L5.2, L6.2). Hashes are 64 hexadecimal digits. */
import { sha256 } from './digests.js'
import { fromHex } from './text.js'

/** @typedef {{size: number, root: string}} Tree */

/** @param {number} first @param {Uint8Array[]} parts */
async function hash(first, ...parts) {
  const bytes = new Uint8Array(1 + parts.reduce((n, p) => n + p.length, 0))
  bytes[0] = first
  let at = 1
  for (const part of parts) { bytes.set(part, at); at += part.length }
  return sha256(bytes)
}

/** @param {Uint8Array} entry */
export const leafOf = entry => hash(0, entry)
/** @param {string} left @param {string} right */
export const nodeOf = (left, right) => hash(1, fromHex(left), fromHex(right))

/**
 * MTH: the largest power of two below n is on the left.
 * @param {string[]} leaves
 * @returns {Promise<string>}
 */
export async function rootOf(leaves) {
  if (leaves.length === 0) return sha256(new Uint8Array())
  // roots of full trees, from the largest to the smallest, as a binary counter has them
  const /** @type {{size: number, root: string}[]} */ full = []
  for (const leaf of leaves) {
    let tree = { size: 1, root: leaf }
    while (full.length && full[full.length - 1].size === tree.size) {
      const before = /** @type {Tree} */(full.pop())
      tree = { size: 2 * tree.size, root: await nodeOf(before.root, tree.root) }
    }
    full.push(tree)
  }
  let { root } = /** @type {Tree} */(full.pop())
  while (full.length) root = await nodeOf(/** @type {Tree} */(full.pop()).root, root)
  return root
}

/** The largest power of two below n. @param {number} n */
const halfOf = n => { let k = 1; while (2 * k < n) k *= 2; return k }

/** PATH(m, D[n]). @param {string[]} leaves @param {number} m @returns {Promise<string[]>} */
export async function inclusionPath(leaves, m) {
  if (leaves.length <= 1) return []
  const k = halfOf(leaves.length), left = leaves.slice(0, k), right = leaves.slice(k)
  return m < k ? [...await inclusionPath(left, m), await rootOf(right)] : [...await inclusionPath(right, m - k), await rootOf(left)]
}

/** PROOF(m, D[n]), for 0 < m <= n. @param {string[]} leaves @param {number} m @returns {Promise<string[]>} */
export const consistencyPath = (leaves, m) => subproof(leaves, m, true)

/** @param {string[]} leaves @param {number} m @param {boolean} whole @returns {Promise<string[]>} */
async function subproof(leaves, m, whole) {
  if (m === leaves.length) return whole ? [] : [await rootOf(leaves)]
  const k = halfOf(leaves.length), left = leaves.slice(0, k), right = leaves.slice(k)
  return m <= k ? [...await subproof(left, m, whole), await rootOf(right)] : [...await subproof(right, m - k, false), await rootOf(left)]
}

/** Both numbers one level up: numbers reach 2^32, so no bit operations. @param {number} n */
const up = n => Math.floor(n / 2)

/**
 * Whether a path proves that a leaf is in a tree (RFC 9162, 2.1.3.2).
 * @param {Tree} tree
 * @param {string} leaf
 * @param {number} index
 * @param {string[]} path
 */
export async function includes(tree, leaf, index, path) {
  if (index < 0 || index >= tree.size) return false
  let fn = index, sn = tree.size - 1, r = leaf
  for (const p of path) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      r = await nodeOf(p, r)
      while (fn % 2 === 0 && fn !== 0) { fn = up(fn); sn = up(sn) }
    } else r = await nodeOf(r, p)
    fn = up(fn)
    sn = up(sn)
  }
  return sn === 0 && r === tree.root
}

/**
 * Whether a path proves that the later tree begins with the earlier one (RFC 9162, 2.1.4.2).
 * @param {Tree} earlier
 * @param {Tree} later
 * @param {string[]} path
 */
export async function isConsistent(earlier, later, path) {
  if (earlier.size < 1 || earlier.size > later.size) return false
  if (earlier.size === later.size) return path.length === 0 && earlier.root === later.root
  if (path.length === 0) return false
  const hashes = Number.isInteger(Math.log2(earlier.size)) ? [earlier.root, ...path] : path
  let fn = earlier.size - 1, sn = later.size - 1
  while (fn % 2 === 1) { fn = up(fn); sn = up(sn) }
  let [fr] = hashes, sr = fr
  for (const c of hashes.slice(1)) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      fr = await nodeOf(c, fr)
      sr = await nodeOf(c, sr)
      while (fn % 2 === 0 && fn !== 0) { fn = up(fn); sn = up(sn) }
    } else sr = await nodeOf(sr, c)
    fn = up(fn)
    sn = up(sn)
  }
  return sn === 0 && fr === earlier.root && sr === later.root
}
