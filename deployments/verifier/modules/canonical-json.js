/** Canonical JSON: RFC 8785 (M1). */
import { decodeUtf8, encodeUtf8, sameBytes } from './text.js'
import { must, refuse } from './refusal.js'

export const DEEPEST = 50

/**
 * Writes a value by RFC 8785. Numbers are written as ECMAScript writes them, as the RFC says.
 * @param {any} value
 * @returns {string}
 */
export function canonical(value) {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new Error('a number that JSON cannot have')
    return Object.is(value, -0) ? '0' : String(value)
  }
  if (Array.isArray(value)) return '[' + value.map(canonical).join(',') + ']'
  const keys = Object.keys(value).filter(k => value[k] !== undefined).sort()
  return '{' + keys.map(k => JSON.stringify(k) + ':' + canonical(value[k])).join(',') + '}'
}

/**
 * How deep objects and arrays are nested in a JSON text; looked at before it is parsed.
 * @param {string} text
 * @returns {number}
 */
export function depthOf(text) {
  let depth = 0, deepest = 0, inside = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (inside) {
      if (c === 92) i++
      else if (c === 34) inside = false
    } else if (c === 34) inside = true
    else if (c === 123 || c === 91) { if (++depth > deepest) deepest = depth }
    else if (c === 125 || c === 93) depth--
  }
  return deepest
}

/**
 * Calls back with every text (keys too) and number of a value.
 * @param {any} value
 * @param {(leaf: string | number) => void} visit
 */
function walk(value, visit) {
  if (typeof value === 'string' || typeof value === 'number') visit(value)
  else if (Array.isArray(value)) for (const item of value) walk(item, visit)
  else if (value && typeof value === 'object') {
    for (const key of Object.keys(value)) { visit(key); walk(value[key], visit) }
  }
}

/**
 * Reads bytes that must be canonical JSON (M1).
 * @param {Uint8Array} bytes
 * @param {string} [reason]
 * @param {string} [where]
 * @returns {any}
 */
export function parseCanonical(bytes, reason = 'manifest-not-canonical', where = 'datapackage.json') {
  let text, value
  try { text = decodeUtf8(bytes) } catch { refuse(reason, 'M1.1', where, 'not UTF-8') }
  must(depthOf(text) <= DEEPEST, reason, 'M1.2', where, 'nested too deep')
  try { value = JSON.parse(text) } catch { refuse(reason, 'M1.1', where, 'not JSON') }
  walk(value, leaf => {
    if (typeof leaf === 'string') must(leaf.isWellFormed(), reason, 'M1.3', where, 'an unpaired surrogate')
    else must(Number.isFinite(leaf) && (!Number.isInteger(leaf) || Number.isSafeInteger(leaf)), reason, 'M1.2', where, 'a number out of range')
  })
  must(sameBytes(encodeUtf8(canonical(value)), bytes), reason, 'M1.1', where, 'other bytes than canonical JSON')
  return value
}

/**
 * Whether two JSON values are the same.
 * @param {any} a
 * @param {any} b
 */
export function sameJson(a, b) {
  if (a === b) return true
  if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') return false
  return canonical(a) === canonical(b)
}
