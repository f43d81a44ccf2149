import { test } from 'node:test'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { canonical, parseCanonical, depthOf } from '../../deployments/verifier/modules/canonical-json.js'
import { decimalText, exact, fraction, fromDecimal, observedNumber, written } from '../../deployments/verifier/modules/fractions.js'
import { floatText, scaledText, TEXT, textOf, type, valueOf } from '../../deployments/verifier/modules/values.js'
import { labelReader, readSet, setLabel } from '../../deployments/verifier/modules/labels.js'
import { compareTexts, encodeUtf8, safe } from '../../deployments/verifier/modules/text.js'
import { exp, ln, millionths, signOf } from '../../deployments/verifier/modules/reals.js'
import { entropy, isBelow, rounded } from '../../deployments/verifier/modules/entropy.js'
import { fingerprint, isRevoked, readKeys, statement } from '../../deployments/verifier/modules/signatures.js'
import { isSignedBy, sha256 } from '../../deployments/verifier/modules/digests.js'
import { faultOf } from '../../deployments/verifier/modules/json-schema.js'
import { readRuns } from '../../deployments/verifier/modules/runs.js'
import { mostCovered } from '../../deployments/verifier/modules/presence.js'
import { isPlainSpelling } from '../../deployments/verifier/modules/codings.js'
import { admits } from '../../deployments/verifier/modules/cuts.js'
import { checkRowNumbers } from '../../deployments/verifier/modules/order.js'
import { columnOf } from '../../deployments/verifier/modules/column.js'
import schema from '../../deployments/verifier/modules/schema.js'

const reasonOf = work => { try { work(); return undefined } catch (error) { return error.reason } }
const reading = text => reasonOf(() => parseCanonical(encodeUtf8(text)))

test('canonical JSON', () => {
  assert.equal(canonical({ b: 1, a: [true, null, 'ä\n"'], '\u{10000}': 1e21, '\ufb33': 0.000001 }), '{"a":[true,null,"ä\\n\\""],"b":1,"\u{10000}":1e+21,"\ufb33":0.000001}')
  assert.equal(reading('{"a":1,"b":0.1}'), undefined)
  for (const wrong of ['{"b":1,"a":2}', '{"a":1}\n', '{"a": 1}', '{"a":1,"a":1}', '{"a":1.0}', '{"a":-0}', '{"a":9007199254740993}', '{"a":9007199254740992}', '\ufeff{}', '{"a":"\\ud800"}', '{"a":1e400}', '{"a":"\\u00e4"}', '']) {
    assert.equal(reading(wrong), 'manifest-not-canonical', wrong)
  }
  assert.equal(depthOf('[{"[[[":["\\"[["]}]'), 3)
  assert.equal(reading('['.repeat(50) + ']'.repeat(50)), undefined)
  assert.equal(reading('['.repeat(51) + ']'.repeat(51)), 'manifest-not-canonical')
  assert.equal(reasonOf(() => parseCanonical(Uint8Array.of(0x22, 0xff, 0x22))), 'manifest-not-canonical')
})

test('the schema module is the schema', () => {
  assert.deepEqual(schema, JSON.parse(readFileSync(new URL('../../deployments/guide/pages/reference/release-format/datapackage.schema.json', import.meta.url), 'utf8')))
  assert.ok(faultOf({ minLength: 2, type: 'string' }, '😀', schema))
  assert.ok(faultOf({ $ref: '#/$defs/ExactNumber', 'x-above': 0 }, 0, schema))
  assert.equal(faultOf({ $ref: '#/$defs/ExactNumber', 'x-above': 0 }, '0.1', schema), undefined)
})

test('exact numbers (M3.3)', () => {
  assert.deepEqual(exact('0.3'), { n: 3n, d: 10n })
  assert.deepEqual(exact('-12.05'), { n: -241n, d: 20n })
  assert.ok(exact('9007199254740992'))
  for (const wrong of ['1.50', 1.5, '2', '1e3', '00.5', '.5', '9007199254740991', '-0', '-0.0', `0.${'1'.repeat(41)}`, '1'.repeat(41), `0.${'0'.repeat(40)}1`, null, '+0.5']) assert.equal(exact(wrong), undefined, String(wrong))
  assert.ok(exact(`0.${'0'.repeat(39)}1`))
})

test('observed numbers (M6.2)', () => {
  assert.equal(written(fraction(6, 4)), '1.5')
  assert.equal(written(fraction(4, 6)), '2/3')
  assert.equal(written(fraction(2n ** 53n)), '9007199254740992')
  assert.equal(decimalText(fraction(-1, 8)), '-0.125')
  for (const wrong of ['4/6', '2/1', '1/2', '0.50', '1/0', '2']) assert.equal(observedNumber(wrong), undefined, wrong)
  assert.deepEqual(fromDecimal('1e3'), { n: 1000n, d: 1n })
})

test('values as texts (T2)', () => {
  assert.equal(scaledText(150n, 2), '1.50')
  assert.equal(scaledText(0n, 2), '0.00')
  assert.equal(scaledText(100000n, 12), '1.00000E-7')
  assert.equal(scaledText(0n, 12), '0E-12')
  assert.equal(scaledText(-1n, 6), '-0.000001')
  assert.equal(scaledText(-1n, 7), '-1E-7')
  for (const [v, text] of [[1, '1'], [100, '100'], [-0, '-0'], [1.5e300, '1.5e+300'], [1e-7, '1e-7'], [1e10, '1e+10'], [9999999999, '9999999999'], [1e-6, '0.000001'], [0.1 + 0.2, '0.30000000000000004'], [-Infinity, '-inf'], [5e-324, '5e-324'], [123456.789, '123456.789']]) {
    assert.equal(floatText(v), text)
    assert.ok(Object.is(valueOf(type('float'), text), v), text)
  }
  assert.equal(textOf(type('date'), -719162n), '0001-01-01')
  assert.equal(textOf(type('date'), 0n), '1970-01-01')
  assert.equal(textOf(type('date'), 11016n), '2000-02-29')
  assert.equal(textOf(type('timestamp'), -1n), '1969-12-31 23:59:59.999999')
  assert.equal(valueOf(type('timestamp'), '1969-12-31 23:59:59.999999'), -1n)
  assert.equal(valueOf(type('date'), '2001-02-29'), undefined)
  assert.equal(valueOf(type('integer'), '-0'), undefined)
  assert.equal(valueOf(type('integer'), '9223372036854775808'), undefined)
  assert.equal(valueOf(type('decimal', 2), '1.5'), undefined)
  assert.equal(valueOf(type('decimal', 2), '1.50'), 150n)
})

test('order of texts is that of code points', () => {
  assert.ok(compareTexts('\uffff', '\u{10000}') < 0)
  assert.ok(compareTexts('a', 'ab') < 0)
  assert.equal(safe('Hours per-Week É'), 'hours_per_week__')
})

test('labels (F6)', () => {
  const reader = (column, form = 'generalized') => labelReader({ name: 'c', nulls: false, ...column }, form)
  const age = reader({ type: 'integer', hierarchy: { intervals: [5, 10] } })
  for (const good of ['*', '7', '-3', '30-39', '-5 to -1', '-10 to -1', '0-4']) assert.ok(age(good), good)
  for (const bad of ['31-40', '30-38', '-5--1', '-5 to 4', '030-039', '', '30-39 or null', '+5', '-0']) assert.equal(age(bad), undefined, bad)
  const born = reader({ type: 'date', hierarchy: { dates: ['month', 'quarter', 'decade', 'century'] } })
  for (const good of ['1987-03', '1990s', '19xx', '2000-02-29', '1987-Q4', '0000s', '00xx']) assert.ok(born(good), good)
  for (const bad of ['1987', '1987-13', '1987-Q5', '2001-02-29', '199s', '1987-00']) assert.equal(born(bad), undefined, bad)
  const code = reader({ type: 'string', hierarchy: { prefixes: [4, 2] } })
  for (const good of ['13***', '1305*', '13056', '']) assert.ok(code(good), good)
  assert.deepEqual(code('13056'), { values: ['13056'] })
  assert.deepEqual(code('13***'), {})
  const size = reader({ type: 'decimal', scale: 2, nulls: true })
  for (const good of ['1.00', '[1.00, 2.50]', '[1.00, 2.50] or null', '1.00 or null']) assert.ok(size(good), good)
  for (const bad of ['[2.50, 1.00]', '[1.00, 1.00]', '1.0', 'null', '[1.00,2.50]']) assert.equal(size(bad), undefined, bad)
  assert.equal(reader({ type: 'decimal', scale: 2 })('1.00 or null'), undefined)
  const town = reader({ type: 'string', nulls: true })
  for (const good of ['Alton', '{Alton, "a, b"} or null', '{"*"}', '{"a"}', '{"{"}', '{""}', '{"x or null"}']) if (good !== '{"a"}') assert.ok(town(good), good)
  for (const bad of ['{b, a}', '{a, a}', '{}', '{a,b}', '{"a", "b"}', '{"a"}', '']) assert.equal(town(bad), undefined, bad)
  assert.deepEqual(readSet('a, b'), { texts: ['a, b'], missing: false }, 'plain (F6.6)')
  assert.equal(setLabel(['\u0001"', 'x\n'], true), '{"\\u0001\\"", x\n} or null')
  const treated = reader({ type: 'boolean' })
  assert.ok(treated('true') && treated('{false, true}'))
  assert.equal(treated('maybe'), undefined)
  assert.ok(reader({ type: 'decimal', scale: 1 }, 'suppressed')('1.5'))
  assert.equal(reader({ type: 'decimal', scale: 1 }, 'suppressed')('[1.5, 2.0]'), undefined)
})

test('logarithms with bounds (P1.9)', () => {
  const close = (fixed, bits, number) => assert.ok(Math.abs(Number(fixed >> (bits - 60n)) / 2 ** 60 - number) < 1e-14 * Math.max(1, Math.abs(number)), String(number))
  for (const [n, d] of [[2n, 1n], [1n, 3n], [1000003n, 7n], [10n ** 40n, 3n], [3n, 2n]]) close(ln(n, d, 256n), 256n, Math.log(Number(n) / Number(d)))
  for (const x of [0, 1, -1, 3.25, -7.5, 13]) close(exp(BigInt(x * 4) * (1n << 254n), 256n), 256n, Math.exp(x))
  assert.equal(signOf(bits => ln(2n, 1n, bits) - (6931471805599453n << bits) / 10n ** 16n), 1)
  assert.equal(signOf(bits => ln(2n, 1n, bits) - (6931471805599454n << bits) / 10n ** 16n), -1)
  assert.equal(millionths(bits => (5n << bits) / 10000000n), 0n, 'half to even')
  assert.equal(millionths(bits => (15n << bits) / 10000000n), 2n)
})

test('entropy (P5) and the example by hand', () => {
  const shape = { kept: [1n, 2n], free: [] }
  assert.equal(written(rounded(shape)), '1.889882')
  const uniform = { kept: [2n, 2n, 2n], free: [] }
  assert.equal(written(rounded(uniform)), 3)
  assert.equal(isBelow(uniform, fraction(3)), false)
  assert.equal(isBelow(uniform, fraction(30000001, 10000000)), true)
  assert.equal(isBelow(uniform, fraction(3000000002n, 1000000000n)), false, '2·10^-9/3 is within the tolerance of 10^-9')
  assert.equal(isBelow(uniform, fraction(3000000004n, 1000000000n)), true)
  assert.equal(entropy({ kept: [], free: [1n] }), Infinity)
})

test('presence (P12)', () => {
  const third = fraction(1, 3)
  assert.deepEqual(mostCovered([third, third], [[[1, 2, 3], [2, 4, 5]], [[1, 2, 3], [1, 2, 4]]]), fraction(2, 3))
  assert.deepEqual(mostCovered([third, third], [[[1], [2]], [[1], [1]]]), third)
})

test('a signature (E4)', async () => {
  const key = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'
  const signature = 'd9bc3e92b15bc5cb4791f28410b1fbd75050f10a1f26e41f5fc7cea239d66549db0f2fbd6d0e1629aea9a2e569050693cfece0be374237e33748927d7149600a'
  assert.equal(await isSignedBy(key, signature, statement('release', { digest: '0'.repeat(64) })), true)
  assert.equal(await isSignedBy(key, signature, statement('release', { digest: '1' + '0'.repeat(63) })), false)
  assert.equal(await fingerprint(key), '21fe31dfa154a261626bf854046fd227')
  assert.equal(await sha256(new Uint8Array(0)), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})

test('runs and packed bits', () => {
  assert.deepEqual([...readRuns(Uint8Array.of(3, 0x88, 0xc6, 0xfa), 3, 8)], [0, 1, 2, 3, 4, 5, 6, 7])
  assert.deepEqual([...readRuns(Uint8Array.of(8, 5, 4, 7), 3, 6)], [5, 5, 5, 5, 7, 7])
  assert.throws(() => readRuns(Uint8Array.of(8, 5), 3, 6))
  assert.throws(() => readRuns(Uint8Array.of(0, 5), 3, 6))
})

test('codings and cuts', () => {
  for (const good of ['a b', 'straße', '']) assert.ok(isPlainSpelling(good), good)
  for (const bad of ['a  b', ' a', 'A', 'a\tb', 'a\u00a0b', 'a\u200bb', 'ﬁ']) assert.ok(!isPlainSpelling(bad), bad)
  const age = { type: 'integer' }
  assert.ok(admits({ below: '40', null: true }, age, null) && admits({ below: '40', null: true }, age, 39n) && !admits({ below: '40', null: true }, age, 40n))
  assert.ok(admits({ null: false }, age, 1n) && !admits({ null: true }, age, 1n))
})

test('the rotation and the revocation of E4, and keys of another shape (S2.1)', async () => {
  const page = readFileSync(new URL('../../deployments/guide/pages/reference/release-format/examples.md', import.meta.url), 'utf8')
  const written = JSON.parse(/^keys\.json +(.*)$/m.exec(page)[1])
  const keys = await readKeys(encodeUtf8(JSON.stringify(written)))
  const { old, new: next } = written.rotations[0]
  assert.ok(isRevoked(keys, old))
  assert.ok(!isRevoked(keys, next))
  written.rotations[0].new = { name: 'second', public: next }
  await assert.rejects(readKeys(encodeUtf8(JSON.stringify(written))), error => error.reason === 'record-unreadable')
})

test('whole numbers that number rows (F1.4)', () => {
  const of = first => [first, ...Array.from({ length: 20 }, (_, i) => String(i))]
  const check = first => reasonOf(() => checkRowNumbers({ length: 21, columns: [columnOf('n', TEXT, of(first))] }, [], 'table'))
  assert.equal(check('0xFFFFFFFFFFFFFFFF'), 'row-number')
  assert.equal(check('-1'), 'row-number')
  assert.equal(check('0x0000000000000000014'), undefined)
  assert.equal(check('21'), undefined)
})
