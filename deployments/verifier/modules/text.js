/** Texts: UTF-8, order by code points, names of files. */

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/**
 * Bytes as text; throws on wrong UTF-8. A byte order mark stays a character.
 * @param {Uint8Array} bytes
 * @returns {string}
 */
export const decodeUtf8 = bytes => strict.decode(bytes)

/**
 * @param {string} text
 * @returns {Uint8Array}
 */
export const encodeUtf8 = text => encoder.encode(text)

/**
 * Compares texts by code points, which is the order of their UTF-8 bytes (T5.1).
 * UTF-16 code units differ from that only where surrogates meet units from U+E000 on.
 * @param {string} a
 * @param {string} b
 * @returns {number}
 */
export function compareTexts(a, b) {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i), y = b.charCodeAt(i)
    if (x !== y) {
      if (x >= 0xd800 && y >= 0xd800) {
        x = x < 0xe000 ? x + 0x2000 : x - 0x800
        y = y < 0xe000 ? y + 0x2000 : y - 0x800
      }
      return x < y ? -1 : 1
    }
  }
  return a.length < b.length ? -1 : 1
}

/** Number of code points. @param {string} text */
export function lengthOf(text) {
  let n = 0
  for (const _ of text) n++
  return n
}

/** The first n code points. @param {string} text @param {number} n */
export function firstCharacters(text, n) {
  if (text.length <= n) return text
  let out = '', i = 0
  for (const c of text) {
    if (i++ >= n) break
    out += c
  }
  return out
}

/** The name of a column as a part of a file name. @param {string} name */
export const safe = name => [...name.toLowerCase()].map(c => /^[a-z0-9]$/.test(c) ? c : '_').join('')

/** @param {Uint8Array} a @param {Uint8Array} b */
export function sameBytes(a, b) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** @param {Uint8Array} bytes */
export const toHex = bytes => Array.from(bytes, b => b.toString(16).padStart(2, '0')).join('')

/** @param {string} hex */
export function fromHex(hex) {
  const out = new Uint8Array(hex.length / 2)
  for (let i = 0; i < out.length; i++) out[i] = parseInt(hex.slice(2 * i, 2 * i + 2), 16)
  return out
}
