/** Public keys that a reader gives: lines of hexadecimal digits, or JSON. */

const KEY = /^[0-9a-f]{64}$/

/** @param {any} value @param {Set<string>} out */
function collect(value, out) {
  if (Array.isArray(value)) for (const item of value) collect(item, out)
  else if (typeof value === 'string' && KEY.test(value)) out.add(value)
  else if (value && typeof value === 'object') {
    if (typeof value.public === 'string' && KEY.test(value.public)) out.add(value.public)
    if (Array.isArray(value.keys)) collect(value.keys, out)
  }
}

/** @param {string} text @returns {string[]} */
export function readKeyList(text) {
  /** @type {Set<string>} */
  const out = new Set()
  let json
  try { json = JSON.parse(text) } catch { json = undefined }
  if (json !== undefined) collect(json, out)
  else for (const line of text.split(/\r?\n/)) { const word = line.trim().split(/\s+/)[0]; if (KEY.test(word)) out.add(word) }
  if (!out.size) throw new Error('no keys')
  return [...out]
}
