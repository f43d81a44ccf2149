/** Files of a release in a browser: chosen from disk, or by HTTP. */
import { NotJudged, refuse } from './refusal.js'
import { decodeUtf8 } from './text.js'

/** A file that is larger than a verifier reads (D1.5, T4.6). @param {string} name @returns {never} */
function tooLarge(name) {
  if (name.endsWith('datapackage.json')) return refuse('manifest-not-canonical', 'D1.5', name, 'too large')
  if (name.endsWith('datapackage.json.sig')) return refuse('signature-unreadable', 'D1.5', name, 'too large')
  throw new NotJudged('too-large', 'T4.6', name)
}

/**
 * Versions in chosen files: folders with a `datapackage.json`, in the chosen directory itself or directly below it.
 * @param {{path: string}[]} files paths without the name of the chosen directory
 * @returns {string[]} folders, '' for the directory itself
 */
export function versionsIn(files) {
  const out = []
  for (const { path } of files) {
    const found = /^(?:([^/]+)\/)?(?:datapackage|withdrawal)\.json$/.exec(path)
    if (found) out.push(found[1] ?? '')
  }
  if (out.includes('')) return ['']
  return [...new Set(out)].sort()
}

/**
 * @param {{path: string, file: Blob}[]} files
 * @param {string} folder
 * @param {string} chosen the name of the chosen directory
 * @returns {import('./release.js').Source}
 */
export function pickedSource(files, folder, chosen) {
  const prefix = folder ? folder + '/' : ''
  const blobs = new Map(), line = new Map()
  for (const { path, file } of files) {
    if (path.startsWith(prefix)) blobs.set(path.slice(prefix.length), file)
    if (folder && !path.includes('/')) line.set(path, file)
  }
  const read = async (/** @type {Blob} */ blob, /** @type {string} */ name, /** @type {number} */ most) => {
    if (blob.size > most) tooLarge(name)
    try { return new Uint8Array(await blob.arrayBuffer()) } catch { return refuse('unreadable', 'V1.3', name, 'cannot be read') }
  }
  const blind = ['links, devices and empty directories: a browser does not show them (D1)']
  if (!folder) blind.push('releases.json, keys.json and log.json beside the release: choose the directory of the line to have them read (S2, S4, L)')
  return {
    name: folder || chosen, empty: [], blind,
    files: new Map([...blobs].map(([path, blob]) => [path, { kind: 'file', size: blob.size }])),
    read: (path, most) => read(blobs.get(path), path, most),
    beside: async (name, most) => {
      const blob = line.get(name)
      if (!blob) return undefined
      return blob.size > most ? null : new Uint8Array(await blob.arrayBuffer())
    },
  }
}

/** @param {URL} url @param {number} most @returns {Promise<Uint8Array | undefined | null>} undefined: not there; null: cannot be read */
async function get(url, most) {
  /** @type {Response} */
  let response
  try { response = await fetch(url, { credentials: 'omit', cache: 'no-store', referrerPolicy: 'no-referrer' }) } catch { return null }
  if (response.status === 404 || response.status === 410) return undefined
  if (!response.ok || !response.body) return null
  const reader = response.body.getReader(), pieces = []
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > most) { await reader.cancel(); throw new RangeError('too large') }
    pieces.push(value)
  }
  const out = new Uint8Array(size)
  let at = 0
  for (const piece of pieces) { out.set(piece, at); at += piece.length }
  return out
}

/**
 * @param {string} address of the release's directory
 * @returns {Promise<import('./release.js').Source>}
 */
export async function httpSource(address) {
  const root = new URL(address.endsWith('/') ? address : address + '/')
  if (root.protocol !== 'https:' && root.protocol !== 'http:') throw new Error('Only http and https addresses can be read.')
  const at = (/** @type {string} */ path) => new URL(path.split('/').map(encodeURIComponent).join('/'), root)
  const files = new Map(), read = async (/** @type {string} */ path, /** @type {number} */ most) => {
    const size = files.get(path)?.size
    try {
      const bytes = await get(at(path), size === undefined ? most : Math.min(most, size))
      if (bytes) return bytes
    } catch (error) { if (error instanceof RangeError) { if (size !== undefined && size < most) refuse('hash-differs', 'M5.2', path, 'another size'); tooLarge(path) } }
    return refuse('file-missing', 'D2.1', path, 'the server does not give it')
  }
  const optional = async (/** @type {string} */ name) => {
    let bytes
    try { bytes = await get(at(name), 16777216) } catch { bytes = null }
    if (bytes !== undefined) files.set(name, { kind: 'file', size: bytes?.length })
  }
  await optional('withdrawal.json')
  await optional('datapackage.json.sig')
  const manifest = await get(at('datapackage.json'), 67108864).catch(() => tooLarge('datapackage.json'))
  if (manifest === null) throw new Error('The address cannot be read: the server refuses, or does not allow other pages to read (CORS).')
  if (manifest) {
    files.set('datapackage.json', { kind: 'file', size: manifest.length })
    /** @type {any} */
    let listed
    try { listed = JSON.parse(decodeUtf8(manifest)).resources } catch { listed = [] }
    for (const r of Array.isArray(listed) ? listed : []) {
      if (typeof r?.path === 'string' && !/(^|\/)(\.{0,2})(\/|$)/.test(r.path)) files.set(r.path, { kind: 'file', size: Number.isSafeInteger(r.bytes) ? r.bytes : 0 })
    }
  }
  const folders = root.pathname.split('/').filter(Boolean)
  return {
    name: folders.length ? decodeURIComponent(folders[folders.length - 1]) : undefined, files, empty: [], read,
    beside: async (name, most) => {
      if (!folders.length) return undefined
      try { return await get(new URL('../' + name, root), most) } catch { return null }
    },
    blind: ['files that the manifest does not list, links and empty directories: a web server does not show them (D1, D2)'],
  }
}

/**
 * The versions of the line in whose directory this page's folder lies, the latest first.
 * @param {string} page the address of the page
 * @returns {Promise<{name: string, versions: {number: string, status: string}[]} | undefined>} undefined where there is no line
 */
export async function lineBeside(page) {
  const url = new URL('../releases.json', page)
  // at the top of a server nothing is above the page
  if (!/^https?:$/.test(url.protocol) || new URL(page).pathname.split('/').length < 3) return undefined
  try {
    const bytes = await get(url, 16777216)
    const { name, versions } = bytes && JSON.parse(decodeUtf8(bytes))
    const numbers = Object.keys(versions).filter(number => /^[0-9]+$/.test(number)).sort().reverse()
    return numbers.length ? { name: String(name), versions: numbers.map(number => ({ number, status: String(versions[number]?.status) })) } : undefined
  } catch { return undefined }
}
