/** What lies beside a release, and its signature (S1 to S4). */
import { must, refuse } from './refusal.js'
import { hasEd25519, isSignedBy } from './digests.js'
import { fingerprint, isRevoked, parseJson, readKeys, readSignature, statement, trustedKeys } from './signatures.js'

const MOST = 16777216

/**
 * S4.2, S4.3.
 * @param {import('./release.js').Source} source
 * @param {string} digest
 * @param {import('./release.js').Report} report
 */
export async function checkRecord(source, digest, report) {
  const bytes = await source.beside('releases.json', MOST)
  if (bytes === undefined) { report.notes.push('There is no releases.json beside the release: a withdrawal would not be known.'); return }
  must(bytes, 'record-unreadable', 'S4.2', 'releases.json')
  const record = parseJson(/** @type {Uint8Array} */(bytes), 'record-unreadable', 'S4.2', 'releases.json')
  const versions = record?.versions
  const isObject = (/** @type {any} */ x) => typeof x === 'object' && x !== null && !Array.isArray(x)
  must(isObject(record) && isObject(versions) && Object.values(versions).every(v => isObject(v) && typeof v.status === 'string' && typeof v.digest === 'string'),
    'record-unreadable', 'S4.2', 'releases.json')
  const entry = source.name !== undefined && Object.hasOwn(versions, source.name) ? versions[source.name] : undefined
  if (entry?.status === 'withdrawn' && entry.digest === digest) refuse('withdrawn', 'S4.3', 'releases.json')
  if (!entry || entry.digest !== digest) report.notes.push('releases.json has no entry of this version, and says nothing of it.')
}

/**
 * S1 to S3.
 * @param {import('./release.js').Source} source
 * @param {string} digest
 * @param {{keys?: string[], revoked?: string[]}} options
 * @param {import('./release.js').Report} report
 */
export async function checkSignature(source, digest, options, report) {
  const file = 'datapackage.json.sig'
  const record = await source.beside('keys.json', MOST)
  must(record !== null, 'record-unreadable', 'S2.1', 'keys.json')
  const signed = source.files.has(file)
  if (!await hasEd25519()) {
    if (record) await readKeys(/** @type {Uint8Array} */(record))
    if (signed) readSignature(await source.read(file, MOST), file)
    if (signed || options.keys?.length || record) refuse('unreadable', 'V1.3', file, 'this place has no Ed25519 (WebCrypto): signatures and revocations cannot be verified here')
    report.signature = 'The release is not signed.'
    return
  }
  const keys = record ? await readKeys(record) : { rotations: [], revocations: [], names: [], claims: 0 }
  if (!signed) {
    must(!options.keys?.length, 'signature-missing', 'S3.5', file)
    report.signature = 'The release is not signed.'
    return
  }
  const s = readSignature(await source.read(file, MOST), file)
  must(await isSignedBy(s.key.public, s.signature, statement('release', { digest })), 'signature-wrong', 'S1.4', file)
  const revoked = (/** @type {string} */ key) => Boolean(options.revoked?.includes(key)) || isRevoked(keys, key)
  must(!revoked(s.key.public), 'key-revoked', 'S3.1', file)
  const print = await fingerprint(s.key.public)
  if (options.keys?.length) {
    must(trustedKeys(keys, options.keys, revoked).has(s.key.public), 'key-not-trusted', 'S3.3', file)
    report.signature = `Signed by the key ${print} of ${s.key.name}, which you trust.`
  } else report.signature = `Signed by the key ${print}, called ${s.key.name} by its owner. You named no trusted keys: that tells you that one key signed, not whose.`
}
