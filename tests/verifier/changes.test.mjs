/** Releases made here and changed: what examples do not have. */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync, mkdirSync, writeFileSync, readFileSync, cpSync } from 'node:fs'
import { generateKeyPairSync, sign } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parquetFile, seal, writeRelease } from './tools/build.mjs'
import { verify } from '../../deployments/verifier/modules/release.js'
import { directorySource } from '../../deployments/verifier/modules/node-source.mjs'
import { readTable } from '../../deployments/verifier/modules/parquet.js'
import { INTEGER, TEXT, type } from '../../deployments/verifier/modules/values.js'
import { statement } from '../../deployments/verifier/modules/signatures.js'
import { canonical } from '../../deployments/verifier/modules/canonical-json.js'
import { columnOf } from '../../deployments/verifier/modules/column.js'
import { countValues } from '../../deployments/verifier/modules/grouping.js'
import { distances } from '../../deployments/verifier/modules/shares.js'
import { absolute, add, divide, fraction, subtract, ZERO } from '../../deployments/verifier/modules/fractions.js'

const base = {
  name: 'made', title: 'A release made for a test', unit: 'row', versions: 'disjoint', strata: [],
  partition: { method: 'full-domain', metric: 'ncp', suppression: 0, suppressed: 'drop' }, formats: ['parquet', 'csv'], software: { 'sfumato-page': '9' },
  form: { method: 'generalized' },
}
const rowsOf = n => ({ read: n, dropped_by_filter: 0, dropped_for_nulls: 0, dropped_as_repeats: 0, suppressed: 0, published: n, fakes: 0 })
const k1 = { model: 'k-anonymity', k: 1, 'quasi-identifiers': ['age'] }

/** @param {(folder: string) => any} work */
async function inFolder(work) {
  const folder = mkdtempSync(path.join(tmpdir(), 'made-'))
  try { return await work(folder) } finally { rmSync(folder, { recursive: true }) }
}
const verdictOf = async (folder, options) => { const r = await verify(await directorySource(folder), options); return r.verdict === 'valid' ? 'valid' : r.reasons[0].reason }

/** @param {any[][]} data @param {any[]} columns @param {any} [options] */
const made = (data, columns, options = {}) => inFolder(async folder => {
  const promises = options.promises ?? [k1]
  writeRelease(folder, { ...base, ...options.declaration, columns, promises, rows: rowsOf(data[0].length) }, { microdata: data }, options)
  return verdictOf(folder)
})
const age = { name: 'age', role: 'quasi-identifier', type: 'integer', nulls: false, hierarchy: { intervals: [10] } }
const other = (name, t, more = {}) => ({ name, role: 'insensitive', type: t, nulls: false, ...more })
const ages = n => Array(n).fill('30-39')
const numbers = (n, from = 0) => Array.from({ length: n }, (_, i) => BigInt(i + from))

test('row numbers (F1.4)', async () => {
  assert.equal(await made([ages(20), numbers(20)], [age, other('x', 'integer')]), 'valid')
  assert.equal(await made([ages(21), numbers(21, -5)], [age, other('x', 'integer')]), 'row-number')
  assert.equal(await made([ages(21), numbers(21).map(n => n === 20n ? 21n : n)], [age, other('x', 'integer')]), 'valid')
  assert.equal(await made([ages(21), numbers(21, 16).map(n => `0x${n.toString(16)}`)], [age, other('x', 'string')]), 'row-number')
  assert.equal(await made([ages(21), numbers(21).map(Number)], [age, other('x', 'float')]), 'row-number')
  assert.equal(await made([ages(21), numbers(21)], [age, other('x', 'date')]), 'valid')
})

test('values that cannot be computed with (T1.6, T1.7)', async () => {
  const l = { model: 'l-diversity', variant: 'distinct', l: 1, 'quasi-identifiers': ['age'], sensitive: 'x' }
  const s = t => ({ name: 'x', role: 'sensitive', type: t, nulls: false })
  const skip = { observed: [{ promise: l, groups: 1, observed: { l: 2 } }], promises: [l] }
  assert.equal(await made([ages(2), [1.5, Infinity]], [age, s('float')], skip), 'value-not-finite')
  assert.equal(await made([ages(2), [1e-39, 2]], [age, s('float')], skip), 'value-not-finite')
  assert.equal(await made([ages(2), [1e-20, 1e20]], [age, s('float')], skip), 'value-not-finite')
  assert.equal(await made([ages(2), [1e-9, 1e9]], [age, s('float')], skip), 'valid')
  assert.equal(await made([ages(2), [1, NaN]], [age, s('float')], skip), 'order-wrong')
  assert.equal(await made([ages(2), [-0, 0]], [age, s('float')], { promises: [{ ...l }] }), 'valid', 'the same value, in either order')
  assert.equal(await made([ages(2), [0, -0]], [age, s('float')], { promises: [{ ...l }] }), 'valid')
})

test('codings and weights (X2)', async () => {
  const check = (column, values) => made([ages(values.length), values], [age, other('x', column.type, column)])
  assert.equal(await check({ type: 'integer', bottom: '20' }, [20n, 21n]), 'valid')
  assert.equal(await check({ type: 'integer', bottom: '20' }, [19n, 21n]), 'value-uncoded')
  assert.equal(await check({ type: 'date', top: '1970-01-03' }, [1n, 2n]), 'valid')
  assert.equal(await check({ type: 'date', top: '1970-01-03' }, [1n, 3n]), 'value-uncoded')
  assert.equal(await check({ type: 'decimal', scale: 2, round: { to: '0.05', ties: 'even' } }, [105n, 110n]), 'valid')
  assert.equal(await check({ type: 'decimal', scale: 2, round: { to: '0.05', ties: 'even' } }, [105n, 112n]), 'value-uncoded')
  assert.equal(await check({ type: 'string', prefix: 2, fold: { below: 3, into: 'other' } }, ['a😀', 'other']), 'valid')
  assert.equal(await check({ type: 'string', prefix: 2 }, ['ab', 'abc']), 'value-uncoded')
  assert.equal(await check({ type: 'string', unite: 'spellings' }, ['A b']), 'value-uncoded')
  assert.equal(await check({ type: 'integer', unite: 'spellings' }, [1n]), 'manifest-schema')
  assert.equal(await check({ type: 'integer', weight: true }, [0n, 1n]), 'weight-not-positive')
})

test('what Parquet files may hide (T4)', () => {
  const fields = [{ name: 'a', type: TEXT, nullable: false }, { name: 'n', type: INTEGER, nullable: true }]
  const columns = [['x', 'y', 'x'], [1n, null, 3n]]
  const bytes8 = n => { const b = Buffer.alloc(8); b.writeBigInt64LE(n); return b }
  const read = options => { try { return readTable(new Uint8Array(parquetFile(fields, columns, options)), 't', 't', 1e6).column('n').at(2) } catch (e) { return e.reason } }
  assert.equal(read({}), 3n)
  assert.equal(read({ dictionary: true, rowsInGroup: 2, rowsInPage: 1, zstd: true }), 3n)
  assert.equal(read({ dictionary: true, extra: { a: ['hidden'] } }), 'value-hidden')
  assert.equal(read({ statistics: { n: [bytes8(1n), bytes8(3n)], a: [Buffer.from('x'), Buffer.from('y')] } }), 3n)
  assert.equal(read({ statistics: { n: [bytes8(0n), bytes8(3n)] } }), 'value-hidden')
  assert.equal(read({ statistics: { a: [Buffer.from('x'), Buffer.from('z')] } }), 'value-hidden')
  assert.equal(read({ metadata: [[[1, 'text', 'k'], [2, 'text', 'v']]] }), 'table-metadata')
  // a file that is cut or changed anywhere is refused or read, and never a fault
  const whole = parquetFile(fields, columns, { dictionary: true, zstd: true })
  for (let i = 0; i < whole.length; i++) {
    for (const change of [b => { b[i] ^= 0x55 }, b => { b[i] = 0xff }]) {
      const copy = new Uint8Array(whole)
      change(copy)
      try { readTable(copy, 't', 't', 1e6) } catch (e) { assert.ok(e.reason, `byte ${i}: ${e.stack}`) }
    }
    try { readTable(new Uint8Array(whole.subarray(0, i)), 't', 't', 1e6); assert.fail('cut') } catch (e) { assert.ok(e.reason, e.stack) }
  }
})

test('kinds of files (D1)', () => inFolder(async folder => {
  const good = path.join(folder, 'good')
  writeRelease(good, { ...base, columns: [age], promises: [k1], rows: rowsOf(3) }, { microdata: [ages(3)] })
  assert.equal(await verdictOf(good), 'valid')
  const changed = async work => { const copy = path.join(folder, 'copy'); cpSync(good, copy, { recursive: true }); work(copy); const v = await verdictOf(copy); rmSync(copy, { recursive: true }); return v }
  assert.equal(await changed(c => symlinkSync('index.html', path.join(c, 'link'))), 'file-kind')
  assert.equal(await changed(c => mkdirSync(path.join(c, 'data/empty'))), 'file-unexpected')
  assert.equal(await changed(c => writeFileSync(path.join(c, 'withdrawal.json'), '{}')), 'withdrawn')
  assert.equal(await changed(c => rmSync(path.join(c, 'datapackage.json'))), 'not-a-release')
  assert.equal(await changed(c => writeFileSync(path.join(c, 'datapackage.json.sig'), '{}')), 'signature-unreadable')
  symlinkSync('good', path.join(folder, 'linked'))
  assert.equal(await verdictOf(path.join(folder, 'linked')), 'valid')
}))

test('signatures and records (S1 to S4)', () => inFolder(async line => {
  const folder = path.join(line, '0001')
  const manifest = writeRelease(folder, { ...base, columns: [age], promises: [k1], rows: rowsOf(3) }, { microdata: [ages(3)] })
  const digest = manifest.sfumato.digest
  const key = () => { const { publicKey, privateKey } = generateKeyPairSync('ed25519'); return { public: Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url').toString('hex'), sign: (kind, object) => sign(null, statement(kind, object), privateKey).toString('hex') } }
  const [a, b, c] = [key(), key(), key()]
  const put = (name, value) => writeFileSync(path.join(line, name), typeof value === 'string' ? value : canonical(value))
  const signBy = k => put('0001/datapackage.json.sig', { format: 1, key: { name: 'someone', public: k.public }, signature: k.sign('release', { digest }) })
  assert.equal(await verdictOf(folder, { keys: [a.public] }), 'signature-missing')
  signBy(a)
  assert.equal(await verdictOf(folder), 'valid')
  assert.equal(await verdictOf(folder, { keys: [a.public] }), 'valid')
  assert.equal(await verdictOf(folder, { keys: [b.public] }), 'key-not-trusted')
  assert.equal(await verdictOf(folder, { revoked: [a.public] }), 'key-revoked')
  put('0001/datapackage.json.sig', { key: { name: 'someone', public: b.public }, signature: a.sign('release', { digest }) })
  assert.equal(await verdictOf(folder), 'signature-wrong')
  signBy(b)
  const rotation = (x, y) => ({ old: x.public, new: y.public, signature: x.sign('rotation', { new: y.public, old: x.public }) })
  const revocation = (k, by) => ({ key: k.public, by: by.public, signature: by.sign('revocation', { by: by.public, key: k.public }) })
  const keys = more => put('keys.json', { format: 1, line: 'made', keys: [], rotations: [], revocations: [], ...more })
  keys({ rotations: [rotation(a, b)] })
  assert.equal(await verdictOf(folder, { keys: [a.public] }), 'valid')
  keys({ rotations: [rotation(a, b), rotation(a, c)] })
  assert.equal(await verdictOf(folder, { keys: [a.public] }), 'key-not-trusted', 'two successors are none')
  keys({ rotations: [rotation(b, c)], revocations: [revocation(b, c)] })
  assert.equal(await verdictOf(folder), 'key-revoked')
  keys({ revocations: [revocation(b, c)] })
  assert.equal(await verdictOf(folder), 'valid', 'a stranger revokes nothing')
  put('keys.json', '[]')
  assert.equal(await verdictOf(folder), 'record-unreadable')
  rmSync(path.join(line, 'keys.json'))
  put('releases.json', { versions: { '0001': { status: 'withdrawn', digest: '0'.repeat(64) } } })
  assert.equal(await verdictOf(folder), 'valid')
  put('releases.json', { versions: { '0001': { status: 'withdrawn', digest } } })
  assert.equal(await verdictOf(folder), 'withdrawn')
  put('releases.json', { versions: { '0001': { status: 'published' } } })
  assert.equal(await verdictOf(folder), 'record-unreadable')
  rmSync(path.join(line, 'releases.json'))
  symlinkSync('nowhere', path.join(line, 'releases.json'))
  assert.equal(await verdictOf(folder), 'record-unreadable')
}))

test('ordered distances are those of the definition (P7)', () => {
  let seed = 7
  const random = n => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff; return (seed >>> 8) % n }
  for (let round = 0; round < 50; round++) {
    const rows = 4 + random(30), groups = 1 + random(3)
    const groupOf = Int32Array.from({ length: rows }, (_, i) => i < groups ? i : random(groups)), values = Array.from({ length: rows }, () => BigInt(random(9)))
    const counts = countValues(groupOf, groups, columnOf('v', INTEGER, values), undefined)
    const all = [...new Set(values)].sort((x, y) => x < y ? -1 : 1)
    const found = distances(counts, 'ordered', {})
    for (let g = 0; g < groups; g++) {
      const n = groupOf.filter(x => x === g).length
      let run = ZERO, sum = ZERO
      for (const v of all) {
        run = add(run, subtract(fraction(values.filter((x, i) => x === v && groupOf[i] === g).length, n), fraction(values.filter(x => x === v).length, rows)))
        sum = add(sum, absolute(run))
      }
      assert.deepEqual(found[g], all.length < 2 ? ZERO : divide(sum, fraction(all.length - 1)))
    }
  }
})

test('a manifest that is sealed again keeps its digest rule', () => inFolder(async folder => {
  writeRelease(folder, { ...base, columns: [age], promises: [k1], rows: rowsOf(3) }, { microdata: [ages(3)] })
  const file = path.join(folder, 'datapackage.json'), m = JSON.parse(readFileSync(file, 'utf8'))
  m.sfumato.form['single-values'] = 'plain'
  m.sfumato.format = 6
  writeFileSync(file, canonical(m))
  assert.equal(await verdictOf(folder), 'digest-wrong')
  writeFileSync(file, canonical(seal(m)))
  assert.equal(await verdictOf(folder), 'valid')
  void type
}))
