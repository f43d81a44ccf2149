/** SHA-256 and Ed25519 by WebCrypto. */
import { fromHex, toHex } from './text.js'

/** Whether this place has WebCrypto at all: browsers have it only in secure contexts. */
export const hasCrypto = () => Boolean(globalThis.crypto?.subtle)

/** @param {Uint8Array} bytes @returns {Promise<string>} 64 hexadecimal digits */
export async function sha256(bytes) {
  return toHex(new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', /** @type {any} */(bytes))))
}

/**
 * Whether a key signed bytes; undefined where this place's WebCrypto has no Ed25519.
 * @param {string} publicKey 64 hexadecimal digits
 * @param {string} signature 128 hexadecimal digits
 * @param {Uint8Array} message
 * @returns {Promise<boolean | undefined>}
 */
export async function isSignedBy(publicKey, signature, message) {
  const subtle = globalThis.crypto.subtle
  if (!await hasEd25519()) return undefined
  try {
    const key = await subtle.importKey('raw', fromHex(publicKey), 'Ed25519', false, ['verify'])
    return await subtle.verify('Ed25519', key, fromHex(signature), /** @type {any} */(message))
  } catch { return false }
}

/** A key of RFC 8032, to find out whether Ed25519 is there. */
const PROBE = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
/** @type {boolean | undefined} */
let known

export async function hasEd25519() {
  if (known === undefined) {
    try {
      await globalThis.crypto.subtle.importKey('raw', fromHex(PROBE), 'Ed25519', false, ['verify'])
      known = true
    } catch { known = false }
  }
  return known
}
