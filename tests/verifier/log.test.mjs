/** Merkle trees and the log of a line: published vectors, the specification's example, and lines made here. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { canonical } from '../../deployments/verifier/modules/canonical-json.js'
import { checkContinues, checkLog, headIncludes, listingOf, OtherLine, readHead, readLog } from '../../deployments/verifier/modules/log.js'
import { consistencyPath, includes, inclusionPath, isConsistent, leafOf, rootOf } from '../../deployments/verifier/modules/merkle.js'
import { statement } from '../../deployments/verifier/modules/signatures.js'
import { encodeUtf8, fromHex, toHex } from '../../deployments/verifier/modules/text.js'

const ENTRIES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(fromHex)
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125', 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7', '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef', 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
const PAGE = readFileSync(new URL('../../deployments/guide/pages/reference/release-format/log.md', import.meta.url), 'utf8')
const row = name => new RegExp(`^${name} +(\\S.*)$`, 'm').exec(PAGE)[1]
const reasonOf = async work => { try { await work(); return undefined } catch (error) { return error.reason ?? error.constructor.name } }
const leavesOf = n => Promise.all(Array.from({ length: n }, (_, i) => leafOf(encodeUtf8(`entry ${i}`))))
const flip = hash => (hash[0] === '0' ? '1' : '0') + hash.slice(1)

test('roots of Certificate Transparency', async () => {
  const leaves = await Promise.all(ENTRIES.map(leafOf))
  for (let n = 0; n <= 8; n++) assert.equal(await rootOf(leaves.slice(0, n)), ROOTS[n])
  assert.deepEqual(await inclusionPath(leaves, 5), [
    'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b', 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0', ROOTS[4]])
  assert.deepEqual(await consistencyPath(leaves, 6), [
    '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a', 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0', ROOTS[4]])
})

test('every proof verifies, and no altered one', async () => {
  for (let n = 1; n <= 20; n++) {
    const leaves = await leavesOf(n), tree = { size: n, root: await rootOf(leaves) }
    for (let i = 0; i < n; i++) {
      const path = await inclusionPath(leaves, i)
      assert.ok(await includes(tree, leaves[i], i, path))
      assert.ok(!await includes(tree, leaves[i], i, [...path, ROOTS[0]]))
      assert.ok(!await includes(tree, flip(leaves[i]), i, path))
      for (let j = 0; j < path.length; j++) {
        assert.ok(!await includes(tree, leaves[i], i, path.with(j, flip(path[j]))))
        assert.ok(!await includes(tree, leaves[i], i, path.toSpliced(j, 1)))
      }
      const earlier = { size: i + 1, root: await rootOf(leaves.slice(0, i + 1)) }, proof = await consistencyPath(leaves, i + 1)
      assert.ok(await isConsistent(earlier, tree, proof))
      assert.ok(!await isConsistent({ ...earlier, root: flip(earlier.root) }, tree, proof))
      assert.ok(!await isConsistent(earlier, tree, [...proof, ROOTS[0]]))
      for (let j = 0; j < proof.length; j++) assert.ok(!await isConsistent(earlier, tree, proof.with(j, flip(proof[j]))))
    }
  }
})

test('the example of the specification (L9)', async () => {
  const log = await readLog(encodeUtf8(row('log.json')), 'wages')
  assert.deepEqual(log.leaves, [0, 1, 2].map(i => row(`leaf ${i}`)))
  assert.equal(log.head.root, row('root'))
  assert.deepEqual(await inclusionPath(log.leaves, 1), row('inclusion 1').split(' '))
  assert.deepEqual(await consistencyPath(log.leaves, 2), row('consistency').split(' '))
  const head = readHead(encodeUtf8(row('head file')))
  assert.ok(await headIncludes(head, '0'.repeat(64)))
  assert.ok(!await headIncludes(head, '1'.repeat(64)))
  assert.ok(!await headIncludes({ ...head, root: flip(head.root) }, '0'.repeat(64)))
  assert.equal(await reasonOf(() => checkContinues(log, readHead(encodeUtf8(row('earlier'))))), undefined)
  assert.equal(await reasonOf(() => readLog(encodeUtf8(row('log.json')), 'other')), 'log-wrong')
})

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const KEY = { name: 'town', public: toHex(new Uint8Array(publicKey.export({ format: 'der', type: 'spki' })).slice(-32)) }
const digestOf = text => createHash('sha256').update(text).digest('hex')
const release = (n, salt = '') => ({ kind: 'release', version: `000${n}`, digest: digestOf(`${salt}${n}`), time: `day ${n}` })

/** A head of entries, signed or not. */
async function headOf(entries, signed = false) {
  const root = await rootOf(await Promise.all(entries.map(e => leafOf(encodeUtf8(canonical(e))))))
  const head = { format: 1, line: 'wages', size: entries.length, root }
  if (!signed) return head
  const signature = sign(null, statement('head', { line: 'wages', root, size: entries.length }), privateKey).toString('hex')
  return { ...head, key: KEY, signature }
}

/** The files beside a line, as a source; a file may be changed. */
async function line(entries, { signed = false, change = {}, keys } = {}) {
  const versions = {}
  for (const e of entries) {
    if (e.kind === 'release') versions[e.version] = { digest: e.digest, time: e.time, status: 'published' }
    if (e.kind === 'withdrawal') versions[e.version].status = 'withdrawn'
  }
  const files = { 'releases.json': { versions }, 'log.json': { format: 1, entries, head: await headOf(entries, signed) }, ...(keys ? { 'keys.json': keys } : {}), ...change }
  return { beside: async name => (files[name] === undefined ? undefined : files[name] === null ? null : encodeUtf8(canonical(files[name]))) }
}
async function verdict(source, options = {}) {
  const report = { notes: [] }
  const reason = await reasonOf(async () => checkLog(await source, { name: 'wages', digest: digestOf('1') }, options, report))
  return reason ?? report
}
const two = [release(1), release(2)], three = [...two, release(3)]

test('a log with the files beside it (L4)', async () => {
  const report = await verdict(line(two))
  assert.deepEqual(report.log, { size: 2, root: (await headOf(two)).root, signed: false, earlier: [] })
  assert.match(report.notes.join(), /not signed.*You gave no earlier head/)
  const version = { digest: digestOf('1'), time: 'day 1', status: 'published' }
  const record = versions => ({ change: { 'releases.json': { versions } } })
  assert.equal(await verdict(line(two, record({ '0001': version }))), 'log-differs', 'left out')
  assert.equal(await verdict(line([release(1)], record({ '0001': version, '0002': version }))), 'log-differs', 'no entry')
  assert.equal(await verdict(line([release(1)], record({ '0001': { ...version, digest: digestOf('x') } }))), 'log-differs')
  assert.equal(await verdict(line([release(1)], record({ '0001': { ...version, time: 'later' } }))), 'log-differs')
  const withdrawal = { ...release(1), kind: 'withdrawal' }
  assert.equal(await verdict(line([release(1), withdrawal], record({ '0001': version }))), 'log-differs', 'put back')
  assert.equal((await verdict(line([release(1), withdrawal]))).log.size, 2)
  assert.equal((await verdict(line([release(1)], record({ '0001': { ...version, status: 'withdrawn' } })))).log.size, 1, 'counts at once')
  assert.equal(await verdict(line(two, { change: { 'releases.json': undefined } })), 'log-differs')
  assert.equal(await verdict(line(two, { change: { 'log.json': null } })), 'record-unreadable')
})

test('keys and rotations have entries (L4.3)', async () => {
  const rotation = { old: KEY.public, new: '1'.repeat(64), signature: '2'.repeat(128) }, entries = [{ kind: 'key', ...KEY }, release(1)]
  const keys = { line: 'wages', keys: [KEY] }
  assert.equal((await verdict(line(entries, { keys }))).log.size, 2)
  assert.equal(await verdict(line(entries)), 'log-differs', 'the key is left out')
  assert.equal(await verdict(line(entries, { keys: { ...keys, rotations: [rotation] } })), 'log-differs')
  assert.equal((await verdict(line([...entries, { kind: 'rotation', ...rotation }], { keys: { ...keys, rotations: [rotation] } }))).log.size, 3)
  const revocation = { key: KEY.public, by: KEY.public, signature: '2'.repeat(128) }
  assert.equal(await verdict(line([...entries, { kind: 'revocation', ...revocation }], { keys })), 'log-differs')
  assert.equal((await verdict(line(entries, { keys: { ...keys, revocations: [revocation] } }))).log.size, 2, 'counts at once')
})

test('entries fit each other (L2.3)', async () => {
  const adopted = { kind: 'adopted', time: 't', versions: { '0001': { digest: digestOf('1'), time: 'day 1', withdrawn: false } }, keys: [], rotations: [], revocations: [] }
  assert.equal(listingOf([adopted, release(2)]).versions.size, 2)
  const withdrawal = { ...release(1), kind: 'withdrawal' }
  const key = { kind: 'key', ...KEY }
  for (const wrong of [[release(1), release(1)], [withdrawal], [release(1), adopted], [release(1), withdrawal, withdrawal], [release(1), { ...withdrawal, digest: digestOf('2') }], [key, key]]) {
    const log = { format: 1, entries: wrong, head: await headOf(wrong) }
    assert.equal(await verdict(line([release(1)], { change: { 'log.json': log } })), 'log-wrong')
  }
  for (const wrong of [{ ...release(1), more: 1 }, { ...release(1), kind: 'other' }, { ...release(1), version: 'x' }, { ...adopted, keys: undefined }, null]) {
    const log = { format: 1, entries: [wrong], head: await headOf([release(1)]) }
    assert.equal(await verdict(line([release(1)], { change: { 'log.json': log } })), 'record-unreadable')
  }
})

test('heads: signatures and trust (L3.4, L3.5)', async () => {
  const entries = [{ kind: 'key', ...KEY }, release(1)], keys = { line: 'wages', keys: [KEY] }
  assert.match((await verdict(line(entries, { keys, signed: true }), { keys: [KEY.public] })).notes.join(), /which you trust/)
  assert.equal(await verdict(line(entries, { keys, signed: true }), { keys: ['1'.repeat(64)] }), 'key-not-trusted')
  assert.equal(await verdict(line(entries, { keys, signed: true }), { revoked: [KEY.public] }), 'key-revoked')
  assert.equal(await verdict(line(entries, { keys }), { keys: [KEY.public] }), 'signature-missing')
  const log = { format: 1, entries, head: { ...await headOf(entries, true), signature: '0'.repeat(128) } }
  assert.equal(await verdict(line(entries, { keys, change: { 'log.json': log } })), 'signature-wrong')
})

test('earlier heads (L5)', async () => {
  for (const signed of [false, true]) {
    const earlier = await headOf(two, signed)
    assert.deepEqual((await verdict(line(three), { heads: [earlier] })).log.earlier, [2])
    assert.deepEqual((await verdict(line(two), { heads: [earlier] })).log.earlier, [2])
    assert.equal(await verdict(line([release(1)]), { heads: [earlier] }), 'log-rolled-back')
    for (const fork of [[release(1), release(2, 'x')], [release(1), release(2, 'x'), release(3)], [release(1, 'x'), release(2)], [release(2), release(1)]]) {
      assert.equal(await verdict(line(fork), { heads: [earlier] }), 'log-forked')
    }
    assert.equal(await verdict(line(three), { heads: [await headOf([release(1)]), await headOf([release(1, 'x')])] }), 'log-forked')
    assert.equal(await verdict(line(two, { change: { 'log.json': undefined } }), { heads: [earlier] }), 'log-missing')
  }
  assert.equal(await verdict(line(three), { heads: [{ ...await headOf(two, true), signature: '0'.repeat(128) }] }), 'signature-wrong')
  assert.equal(await verdict(line(three), { heads: [{ ...await headOf(two), line: 'other' }] }), OtherLine.name)
  const leaves = await Promise.all(two.map(e => leafOf(encodeUtf8(canonical(e)))))
  const head = { ...await headOf(two), inclusion: { entry: two[0], index: 0, path: await inclusionPath(leaves, 0) } }
  const alone = { beside: async () => undefined }
  assert.match((await verdict(alone, { heads: [head] })).notes.join(), /includes it/)
  assert.match((await verdict(alone)).notes.join(), /was not checked/)
})

test('what is no head is no head (L6.1)', async () => {
  const head = await headOf(two)
  assert.deepEqual(readHead(encodeUtf8(JSON.stringify(head))), head)
  for (const wrong of [{ ...head, size: 0 }, { ...head, size: 1.5 }, { ...head, size: 2 ** 32 }, { ...head, root: 'x' }, { ...head, key: KEY }, { ...head, more: 1 }, { ...head, format: 2 }, { ...head, inclusion: {} }, [], null]) {
    assert.equal(await reasonOf(() => readHead(encodeUtf8(JSON.stringify(wrong)))), 'unreadable')
  }
})
