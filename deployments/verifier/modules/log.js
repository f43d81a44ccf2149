/** The log of a line (L): its entries, its head, what lies beside it, and earlier heads. */
import { canonical, parseCanonical } from './canonical-json.js'
import { hasEd25519, isSignedBy } from './digests.js'
import { consistencyPath, includes, isConsistent, leafOf, rootOf } from './merkle.js'
import { must, refuse } from './refusal.js'
import { fingerprint, hasKeys, isKey, isName, isPublic, isRevoked, isSignature, parseJson, readKeys, statement, trustedKeys } from './signatures.js'
import { encodeUtf8 } from './text.js'

const FILE = 'log.json', MOST = 16777216, MOST_SIZE = 2 ** 32
const DIGEST = /^[0-9a-f]{64}$/, NUMBER = /^[0-9]{1,64}$/

/** A head of another line: an error of the caller (L5.4). */
export class OtherLine extends Error {}

/** @param {any} x */
const isDigest = x => typeof x === 'string' && DIGEST.test(x)
/** @param {any} x */
const isTime = x => typeof x === 'string' && [...x].length <= 64
/** @param {any} x */
const isNumber = x => typeof x === 'string' && NUMBER.test(x)
/** @param {any} x @param {(item: any) => boolean} ok */
const isList = (x, ok) => Array.isArray(x) && x.every(ok)
/** @param {any} r */
const isRotation = r => isPublic(r.old) && isPublic(r.new) && isSignature(r.signature)
/** @param {any} r */
const isRevocation = r => isPublic(r.key) && isPublic(r.by) && isSignature(r.signature)
/** @param {any} v */
const isVersion = v => hasKeys(v, ['digest', 'time', 'withdrawn']) && isDigest(v.digest) && isTime(v.time) && typeof v.withdrawn === 'boolean'
/** @param {any} e */
const isOfVersion = e => isNumber(e.version) && isDigest(e.digest) && isTime(e.time)

/** L2.1, L2.2: other keys of each kind, and whether an entry is one. @type {Record<string, [string[], (e: any) => boolean]>} */
const KINDS = {
  release: [['version', 'digest', 'time'], isOfVersion],
  withdrawal: [['version', 'digest', 'time'], isOfVersion],
  key: [['name', 'public'], e => isName(e.name) && isPublic(e.public)],
  rotation: [['old', 'new', 'signature'], isRotation],
  revocation: [['key', 'by', 'signature'], isRevocation],
  adopted: [['time', 'versions', 'keys', 'rotations', 'revocations'], e => isTime(e.time)
    && hasKeys(e.versions, [], Object.keys(Object(e.versions))) && Object.entries(e.versions).every(([n, v]) => isNumber(n) && isVersion(v))
    && isList(e.keys, isKey)
    && isList(e.rotations, r => hasKeys(r, ['old', 'new', 'signature']) && isRotation(r))
    && isList(e.revocations, r => hasKeys(r, ['key', 'by', 'signature']) && isRevocation(r))],
}

/** @param {any} e */
function isEntry(e) {
  if (typeof e !== 'object' || e === null || !Object.hasOwn(KINDS, e.kind)) return false
  const [keys, ok] = KINDS[e.kind]
  return hasKeys(e, ['kind', ...keys]) && ok(e)
}

/** L3.2. @param {any} h @param {string[]} [more] */
const isHead = (h, more = []) => hasKeys(h, ['format', 'line', 'size', 'root'], ['key', 'signature', ...more]) && h.format === 1 && isName(h.line)
  && Number.isInteger(h.size) && h.size >= 1 && h.size < MOST_SIZE && isDigest(h.root)
  && (h.key === undefined) === (h.signature === undefined) && (h.key === undefined || (isKey(h.key) && isSignature(h.signature)))

/**
 * Reads a head that a reader wrote (L6.1); throws where it is none.
 * @param {Uint8Array} bytes
 */
export function readHead(bytes) {
  const h = parseJson(bytes, 'unreadable', 'L6.1', 'head'), p = h?.inclusion
  must(isHead(h, ['inclusion']), 'unreadable', 'L6.1', 'head')
  must(p === undefined || (hasKeys(p, ['entry', 'index', 'path']) && isEntry(p.entry) && Number.isInteger(p.index) && p.index >= 0 && isList(p.path, isDigest)), 'unreadable', 'L6.1', 'head')
  return h
}

/** L3.1. @param {any} entry */
const leafOfEntry = entry => leafOf(encodeUtf8(canonical(entry)))

/** Whether an entry has a release. @param {any} entry @param {string} digest */
const has = (entry, digest) => (entry.kind === 'release' && entry.digest === digest)
  || (entry.kind === 'adopted' && Object.values(entry.versions).some(v => v.digest === digest))

/**
 * What entries add up to (L2.3).
 * @param {any[]} entries
 */
export function listingOf(entries) {
  /** @type {Map<string, {digest: string, time: string, withdrawn: boolean}>} */
  const versions = new Map()
  const lists = { key: new Set(), rotation: new Set(), revocation: new Set() }
  const add = (/** @type {Set<string>} */ set, /** @type {any} */ part) => { const text = canonical(part); if (set.has(text)) return false; set.add(text); return true }
  entries.forEach((entry, position) => {
    const { kind, ...rest } = entry
    let fits = false
    if (kind === 'adopted') {
      fits = position === 0
      for (const [n, v] of Object.entries(rest.versions)) versions.set(n, v)
      rest.keys.forEach((/** @type {any} */ k) => add(lists.key, k))
      rest.rotations.forEach((/** @type {any} */ r) => add(lists.rotation, r))
      rest.revocations.forEach((/** @type {any} */ r) => add(lists.revocation, r))
    } else if (kind === 'release') {
      fits = !versions.has(rest.version)
      versions.set(rest.version, { digest: rest.digest, time: rest.time, withdrawn: false })
    } else if (kind === 'withdrawal') {
      const v = versions.get(rest.version)
      fits = v !== undefined && v.digest === rest.digest && !v.withdrawn
      if (v) versions.set(rest.version, { ...v, withdrawn: true })
    } else fits = add(lists[/** @type {'key' | 'rotation' | 'revocation'} */(kind)], rest)
    must(fits, 'log-wrong', 'L2.3', FILE, `entry ${position} does not fit those before it`)
  })
  return { versions, ...lists }
}

/** L1 to L3.3. @param {Uint8Array} bytes @param {string} line */
export async function readLog(bytes, line) {
  const log = parseCanonical(bytes, 'record-unreadable', FILE)
  must(hasKeys(log, ['format', 'entries', 'head']) && log.format === 1 && isList(log.entries, isEntry) && log.entries.length && isHead(log.head), 'record-unreadable', 'L1.1', FILE)
  const leaves = []
  for (const entry of log.entries) leaves.push(await leafOfEntry(entry))
  must(log.head.size === leaves.length && log.head.root === await rootOf(leaves), 'log-wrong', 'L3.3', FILE, 'the head of other entries')
  must(log.head.line === line, 'log-wrong', 'L3.3', FILE, 'the log of another line')
  return { ...log, leaves, listing: listingOf(log.entries) }
}

/** L4. @param {import('./release.js').Source} source @param {ReturnType<typeof listingOf>} listing */
async function checkAgreement(source, listing) {
  const parse = async (/** @type {string} */ name, /** @type {string} */ rule) => {
    const bytes = await source.beside(name, MOST)
    must(bytes !== null, 'record-unreadable', rule, name)
    return bytes ? parseJson(bytes, 'record-unreadable', rule, name) : {}
  }
  const versions = (await parse('releases.json', 'S4.2')).versions ?? {}, keys = await parse('keys.json', 'S2.1')
  for (const [n, v] of listing.versions) {
    const there = Object.hasOwn(versions, n) ? versions[n] : undefined
    must(there, 'log-differs', 'L4.1', 'releases.json', `version ${n} is left out`)
    must(there.digest === v.digest && there.time === v.time, 'log-differs', 'L4.1', 'releases.json', `version ${n} is another one`)
    must(!v.withdrawn || there.status === 'withdrawn', 'log-differs', 'L4.1', 'releases.json', `version ${n} was withdrawn`)
  }
  for (const n of Object.keys(versions)) must(listing.versions.has(n), 'log-differs', 'L4.2', 'releases.json', `version ${n} has no entry`)
  const offered = (/** @type {any[]} */ list) => new Set((list ?? []).map(canonical))
  const rotations = offered(keys.rotations)
  const missing = [...[...listing.key].filter(k => !offered(keys.keys).has(k)), ...[...listing.rotation].filter(r => !rotations.has(r)), ...[...listing.revocation].filter(r => !offered(keys.revocations).has(r))]
  must(missing.length === 0, 'log-differs', 'L4.3', 'keys.json', 'something is left out')
  must([...rotations].every(r => listing.rotation.has(r)), 'log-differs', 'L4.3', 'keys.json', 'a rotation has no entry')
}

/** L3.4 to L3.6, in words. @param {any} head @param {import('./release.js').Source} source @param {import('./release.js').Options} options */
async function checkHead(head, source, options) {
  if (!head.key) {
    must(!options.keys?.length, 'signature-missing', 'L3.5', FILE)
    return 'Its head is not signed: whoever can write there can begin another log.'
  }
  await checkHeadSignature(head)
  const bytes = await source.beside('keys.json', MOST)
  must(bytes !== null, 'record-unreadable', 'S2.1', 'keys.json')
  const keys = bytes ? await readKeys(bytes) : { rotations: [], revocations: [], names: [], claims: 0 }
  const revoked = (/** @type {string} */ key) => Boolean(options.revoked?.includes(key)) || isRevoked(keys, key)
  must(!revoked(head.key.public), 'key-revoked', 'L3.5', FILE)
  must(!options.keys?.length || trustedKeys(keys, options.keys, revoked).has(head.key.public), 'key-not-trusted', 'L3.5', FILE)
  return `Its head is signed by the key ${await fingerprint(head.key.public)}${options.keys?.length ? ', which you trust' : ''}.`
}

/** L3.4. @param {any} head */
async function checkHeadSignature(head) {
  if (!head.key) return
  if (!await hasEd25519()) refuse('unreadable', 'V1.3', FILE, 'this place has no Ed25519 (WebCrypto): heads cannot be verified here')
  const { line, root, size } = head
  must(await isSignedBy(head.key.public, head.signature, statement('head', { line, root, size })), 'signature-wrong', 'L3.4', FILE)
}

/** L6.2. @param {any} head @param {string} digest */
export async function headIncludes(head, digest) {
  const p = head.inclusion
  return Boolean(p) && has(p.entry, digest) && includes(head, await leafOfEntry(p.entry), p.index, p.path)
}

/** L5.1, L5.2. @param {{head: any, leaves: string[]}} log @param {any} earlier */
export async function checkContinues(log, earlier) {
  must(earlier.size <= log.head.size, 'log-rolled-back', 'L5.1', FILE, `${log.head.size} entries, and the earlier head has ${earlier.size}`)
  const path = await consistencyPath(log.leaves, earlier.size)
  must(await isConsistent(earlier, log.head, path), 'log-forked', 'L5.2', FILE, `it does not begin with the ${earlier.size} entries of the earlier head`)
}

/**
 * L, after everything else.
 * @param {import('./release.js').Source} source
 * @param {any} d the declaration
 * @param {import('./release.js').Options} options
 * @param {import('./release.js').Report} report
 */
export async function checkLog(source, d, options, report) {
  const heads = options.heads ?? []
  for (const head of heads) {
    if (head.line !== d.name) throw new OtherLine()
    await checkHeadSignature(head)
  }
  const bytes = await source.beside(FILE, MOST)
  must(bytes !== null, 'record-unreadable', 'L1.1', FILE)
  const notes = report.notes
  if (bytes === undefined) {
    for (const head of heads) {
      must(await headIncludes(head, d.digest), 'log-missing', 'L5.3', FILE)
      notes.push(`There is no log.json beside the release; the head of ${head.size} entries includes it. ${await checkHead(head, source, options)}`)
    }
    if (!heads.length) notes.push('There is no log.json beside the release: whether versions were left out, put back or rewritten was not checked.')
    return
  }
  const log = await readLog(/** @type {Uint8Array} */(bytes), d.name)
  const author = await checkHead(log.head, source, options)
  await checkAgreement(source, log.listing)
  for (const head of heads) await checkContinues(log, head)
  report.log = { size: log.head.size, root: log.head.root, signed: Boolean(log.head.key), earlier: heads.map((/** @type {any} */ h) => h.size) }
  notes.push(`The line's log has ${log.head.size === 1 ? '1 entry' : `${log.head.size} entries`}. ${author}`)
  notes.push(heads.length ? `It continues ${heads.map((/** @type {any} */ h) => `the head of ${h.size} entries`).join(' and ')}.`
    : 'You gave no earlier head (node verify.mjs --head FILE): whether versions were left out, put back or rewritten before now was not checked.')
  if (!log.entries.some((/** @type {any} */ e) => has(e, d.digest))) notes.push('The log has no entry of this release, and says nothing of it.')
}
