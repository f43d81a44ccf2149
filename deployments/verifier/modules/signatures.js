/** Signatures, keys and trust (S1 to S3). */
import { canonical, depthOf, DEEPEST } from './canonical-json.js'
import { decodeUtf8, encodeUtf8, fromHex } from './text.js'
import { isSignedBy, sha256 } from './digests.js'
import { must, refuse } from './refusal.js'

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/, KEY = /^[0-9a-f]{64}$/, SIGNATURE = /^[0-9a-f]{128}$/

/** @param {any} value @param {string[]} needed @param {string[]} [optional] */
export function hasKeys(value, needed, optional = []) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const keys = Object.keys(value)
  return needed.every(k => keys.includes(k)) && keys.every(k => needed.includes(k) || optional.includes(k))
}

/** @param {any} key */
export const isKey = key => hasKeys(key, ['name', 'public']) && isName(key.name) && typeof key.public === 'string' && KEY.test(key.public)
/** @param {any} name */
export const isName = name => typeof name === 'string' && name.length <= 63 && NAME.test(name)
/** @param {any} x */
export const isSignature = x => typeof x === 'string' && SIGNATURE.test(x)
/** A public key by itself (S2.1). @param {any} x */
export const isPublic = x => typeof x === 'string' && KEY.test(x)

/**
 * JSON of at most 50 levels.
 * @param {Uint8Array} bytes
 * @param {string} reason
 * @param {string} rule
 * @param {string} where
 */
export function parseJson(bytes, reason, rule, where) {
  try {
    const text = decodeUtf8(bytes)
    if (depthOf(text) > DEEPEST) throw new Error('too deep')
    return JSON.parse(text)
  } catch { return refuse(reason, rule, where, 'not JSON') }
}

/** The bytes that are signed (S1.2). @param {string} kind @param {any} object */
export const statement = (kind, object) => encodeUtf8(`sfumato ${kind}\n${canonical(object)}`)

/** S1.5. @param {string} publicKey */
export const fingerprint = async publicKey => (await sha256(fromHex(publicKey))).slice(0, 32)

/**
 * Reads a signature file (S1.1).
 * @param {Uint8Array} bytes
 * @param {string} where
 */
export function readSignature(bytes, where) {
  const s = parseJson(bytes, 'signature-unreadable', 'S1.1', where)
  must(hasKeys(s, ['key', 'signature'], ['format']) && (s.format === undefined || s.format === 1) && isKey(s.key) && isSignature(s.signature),
    'signature-unreadable', 'S1.1', where)
  return s
}

/**
 * Reads `keys.json` (S2.1), and finds out which rotations and revocations hold (S2.2).
 * @param {Uint8Array} bytes
 */
export async function readKeys(bytes) {
  const k = parseJson(bytes, 'record-unreadable', 'S2.1', 'keys.json')
  const list = (/** @type {any} */ x, /** @type {(item: any) => boolean} */ ok) => x === undefined || (Array.isArray(x) && x.every(ok))
  must(hasKeys(k, ['line'], ['format', 'keys', 'rotations', 'revocations']) && isName(k.line) && (k.format === undefined || k.format === 1)
    && list(k.keys, isKey)
    && list(k.rotations, r => hasKeys(r, ['old', 'new', 'signature']) && isPublic(r.old) && isPublic(r.new) && isSignature(r.signature))
    && list(k.revocations, r => hasKeys(r, ['key', 'by', 'signature']) && isPublic(r.key) && isPublic(r.by) && isSignature(r.signature)),
  'record-unreadable', 'S2.1', 'keys.json')
  const rotations = [], revocations = []
  for (const r of k.rotations ?? []) {
    if (await isSignedBy(r.old, r.signature, statement('rotation', { new: r.new, old: r.old }))) rotations.push({ old: r.old, new: r.new })
  }
  for (const r of k.revocations ?? []) {
    if (await isSignedBy(r.by, r.signature, statement('revocation', { by: r.by, key: r.key }))) revocations.push(r)
  }
  return { rotations, revocations, names: k.keys ?? [], claims: (k.rotations?.length ?? 0) + (k.revocations?.length ?? 0) }
}

/** @typedef {Awaited<ReturnType<typeof readKeys>>} Keys */

/** Keys that are reached from a key by rotations, itself among them (S2.4). @param {Keys} keys @param {string} from */
function reached(keys, from) {
  const seen = new Set([from]), open = [from]
  while (open.length) {
    const now = open.pop()
    for (const r of keys.rotations) if (r.old === now && !seen.has(r.new)) { seen.add(r.new); open.push(r.new) }
  }
  return seen
}

/** S2.4. @param {Keys} keys @param {string} key */
export function isRevoked(keys, key) {
  const later = reached(keys, key)
  return keys.revocations.some(r => r.key === key && later.has(r.by))
}

/**
 * S2.3, S3.2: trusted keys and their successors.
 * @param {Keys} keys
 * @param {string[]} trusted
 * @param {(key: string) => boolean} revoked
 */
export function trustedKeys(keys, trusted, revoked) {
  const out = new Set(trusted)
  for (const first of trusted) {
    const line = new Set([first])
    let now = first
    while (!revoked(now)) {
      const next = new Set(keys.rotations.filter(r => r.old === now).map(r => r.new))
      if (next.size !== 1) break
      const [only] = next
      if (line.has(only)) break
      line.add(only)
      out.add(only)
      now = only
    }
  }
  return out
}
