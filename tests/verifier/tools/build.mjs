/** Builds releases for tests: a small Parquet writer, and a sealed manifest around tables. */
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createHash } from 'node:crypto'
import { canonical } from '../../../deployments/verifier/modules/canonical-json.js'
import { plansOf, filesOf, helpTables, columnsOf } from '../../../deployments/verifier/modules/forms.js'
import { entryOf } from '../../../deployments/verifier/modules/resources.js'
import { validationFile } from '../../../deployments/verifier/modules/validation.js'
import { checkPolicy } from '../../../deployments/verifier/modules/policy.js'
import { readTable } from '../../../deployments/verifier/modules/parquet.js'
import { checkRelations } from '../../../deployments/verifier/modules/relations.js'
import { judge, } from '../../../deployments/verifier/modules/promises.js'
import { writtenNumbers } from '../../../deployments/verifier/modules/observed.js'
import { lowestFormat } from '../../../deployments/verifier/modules/formats.js'
import { textOf } from '../../../deployments/verifier/modules/values.js'
import { hierarchyFile } from '../../../deployments/verifier/modules/hierarchies.js'

/** A growing list of bytes, with Thrift's compact protocol. */
class Writer {
  constructor() { this.parts = [] }
  byte(b) { this.parts.push(Uint8Array.of(b)) }
  bytes(b) { this.parts.push(b) }
  varint(n) { n = BigInt(n); const out = []; while (n > 127n) { out.push(Number(n & 127n) | 128); n >>= 7n } out.push(Number(n)); this.bytes(Uint8Array.from(out)) }
  zigzag(n) { n = BigInt(n); this.varint(n >= 0n ? n * 2n : -n * 2n - 1n) }
  /** fields: [id, kind, value]; kinds i32, i64, text, struct, list-struct, list-text, list-i32, bool */
  struct(fields) {
    let last = 0
    for (const [id, kind, value] of fields) {
      if (value === undefined) continue
      const type = kind === 'bool' ? (value ? 1 : 2) : { i32: 5, i64: 6, text: 8, struct: 12, 'list-struct': 9, 'list-text': 9, 'list-i32': 9 }[kind]
      this.byte(((id - last) << 4) | type)
      last = id
      this.value(kind, value)
    }
    this.byte(0)
  }
  value(kind, value) {
    if (kind === 'i32' || kind === 'i64') this.zigzag(value)
    else if (kind === 'text') { const b = typeof value === 'string' ? Buffer.from(value) : value; this.varint(b.length); this.bytes(b) }
    else if (kind === 'struct') this.struct(value)
    else if (kind.startsWith('list-')) {
      const inner = kind.slice(5), type = { struct: 12, text: 8, i32: 5 }[inner]
      if (value.length < 15) this.byte((value.length << 4) | type)
      else { this.byte(0xf0 | type); this.varint(value.length) }
      for (const v of value) this.value(inner, v)
    }
  }
  done() { return Buffer.concat(this.parts) }
}

const PHYSICAL = { integer: 2, timestamp: 2, decimal: 7, float: 5, date: 1, text: 6, boolean: 0 }

/** @param {any} t */
function logical(t) {
  switch (t.kind) {
    case 'text': return [[1, 'struct', []]]
    case 'decimal': return [[5, 'struct', [[1, 'i32', t.scale], [2, 'i32', 38]]]]
    case 'date': return [[6, 'struct', []]]
    case 'timestamp': return [[8, 'struct', [[1, 'bool', false], [2, 'struct', [[2, 'struct', []]]]]]]
    default: return undefined
  }
}

/** @param {any} t @param {any} v */
function plain(t, v) {
  switch (t.kind) {
    case 'integer': case 'timestamp': { const b = Buffer.alloc(8); b.writeBigInt64LE(BigInt(v)); return b }
    case 'date': { const b = Buffer.alloc(4); b.writeInt32LE(Number(v)); return b }
    case 'float': { const b = Buffer.alloc(8); b.writeDoubleLE(v); return b }
    case 'decimal': { const b = Buffer.alloc(16); b.writeBigInt64BE(v >> 64n); b.writeBigUint64BE(BigInt.asUintN(64, v), 8); return b }
    case 'boolean': return Buffer.of(v ? 1 : 0)
    default: { const text = Buffer.from(v), b = Buffer.alloc(4 + text.length); b.writeUInt32LE(text.length); text.copy(b, 4); return b }
  }
}

/** Packed bits of one width, padded to a multiple of 8 values. @param {number[]} list @param {number} width */
function packed(list, width) {
  const groups = Math.ceil(list.length / 8), out = Buffer.alloc(groups * width)
  list.forEach((v, i) => { for (let b = 0; b < width; b++) if (v & (1 << b)) { const bit = i * width + b; out[bit >> 3] |= 1 << (bit & 7) } })
  const head = new Writer()
  head.varint(groups * 2 + 1)
  return Buffer.concat([head.done(), out])
}

/** A page or chunk as a Zstandard frame of raw blocks. @param {Buffer} data */
function rawFrame(data) {
  const head = Buffer.alloc(4 + 1 + 8)
  head.writeUInt32LE(0xfd2fb528)
  head[4] = 0xe0 // single segment, 8 bytes of content size
  head.writeBigUInt64LE(BigInt(data.length), 5)
  const out = [head]
  for (let i = 0; i === 0 || i < data.length; i += 131072) {
    const part = data.subarray(i, i + 131072), h = (part.length << 3) | (i + 131072 >= data.length ? 1 : 0)
    out.push(Buffer.of(h & 255, (h >> 8) & 255, h >> 16), part)
  }
  return Buffer.concat(out)
}

/**
 * A Parquet file. Options: dictionary, statistics (name → [min, max] bytes), metadata, rowsInGroup, rowsInPage, zstd, extra (hidden dictionary values by column).
 * @param {{name: string, type: any, nullable: boolean}[]} fields
 * @param {any[][]} columns
 * @param {any} [options]
 */
export function parquetFile(fields, columns, options = {}) {
  const rows = columns[0].length, size = options.rowsInGroup ?? 1048576
  const parts = [Buffer.from('PAR1')]
  let offset = 4
  const put = b => { parts.push(b); offset += b.length }
  const codec = options.zstd || options.compress ? 6 : 0
  const page = (kind, body, header) => {
    const packedBody = options.compress ? options.compress(body) : options.zstd ? rawFrame(body) : body
    const w = new Writer()
    w.struct([[1, 'i32', kind], [2, 'i32', body.length], [3, 'i32', packedBody.length], ...header])
    put(w.done())
    put(packedBody)
  }
  const groups = []
  for (let from = 0; from === 0 || from < rows; from += size) {
    const to = Math.min(rows, from + size)
    const chunks = fields.map((f, c) => {
      const start = offset
      const list = columns[c].slice(from, to)
      let dictionary, codes
      if (options.dictionary && f.type.kind !== 'boolean') {
        const known = new Map()
        codes = list.map(v => { if (v === null) return -1; const k = Object.is(v, -0) ? '-0' : v; if (!known.has(k)) known.set(k, known.size); return known.get(k) })
        dictionary = [...known.keys()].map(k => k === '-0' ? -0 : k).concat(options.extra?.[f.name] ?? [])
        page(2, Buffer.concat(dictionary.map(v => plain(f.type, v))), [[7, 'struct', [[1, 'i32', dictionary.length], [2, 'i32', 0]]]])
      }
      const dataStart = offset
      const step = options.rowsInPage ?? 20000
      for (let p = 0; p === 0 || p < list.length; p += step) {
        const part = list.slice(p, p + step)
        const pieces = []
        if (f.nullable) {
          const levels = packed(part.map(v => v === null ? 0 : 1), 1), h = Buffer.alloc(4)
          h.writeUInt32LE(levels.length)
          pieces.push(h, levels)
        }
        if (codes) {
          const width = Math.max(1, Math.ceil(Math.log2(dictionary.length)))
          pieces.push(Buffer.of(width), packed(codes.slice(p, p + step).filter(x => x >= 0), width))
        } else if (f.type.kind === 'boolean') pieces.push(packed(part.filter(v => v !== null).map(Number), 1).subarray(1 + 0, undefined))
        else pieces.push(...part.filter(v => v !== null).map(v => plain(f.type, v)))
        page(0, Buffer.concat(pieces), [[5, 'struct', [[1, 'i32', part.length], [2, 'i32', codes ? 8 : 0], [3, 'i32', 3], [4, 'i32', 3]]]])
      }
      const s = options.statistics?.[f.name]
      return [[2, 'i64', start], [3, 'struct', [[1, 'i32', PHYSICAL[f.type.kind]], [2, 'list-i32', [0, 3, 8]], [3, 'list-text', [f.name]], [4, 'i32', codec],
        [5, 'i64', list.length], [6, 'i64', offset - start], [7, 'i64', offset - start], [9, 'i64', dataStart], [11, 'i64', dictionary ? start : undefined],
        [12, 'struct', s && [[5, 'text', s[1]], [6, 'text', s[0]]]]]]]
    })
    groups.push([[1, 'list-struct', chunks], [2, 'i64', 0], [3, 'i64', to - from]])
  }
  const foot = new Writer()
  foot.struct([[1, 'i32', 2],
    [2, 'list-struct', [[[4, 'text', 'schema'], [5, 'i32', fields.length]], ...fields.map(f => [[1, 'i32', PHYSICAL[f.type.kind]], [2, 'i32', f.type.kind === 'decimal' ? 16 : undefined],
      [3, 'i32', f.nullable ? 1 : 0], [4, 'text', f.name], [10, 'struct', logical(f.type)]])]],
    [3, 'i64', rows], [4, 'list-struct', groups], [5, 'list-struct', options.metadata]])
  const bytes = foot.done(), end = Buffer.alloc(8)
  end.writeUInt32LE(bytes.length)
  end.write('PAR1', 4)
  return Buffer.concat([...parts, bytes, end])
}

const quote = t => `"${t.replaceAll('"', '""')}"`

/** A CSV file (T3), as the writer's own words. */
export function csvFile(fields, columns) {
  const lines = [fields.map(f => quote(f.name)).join(',')]
  for (let i = 0; i < columns[0].length; i++) lines.push(fields.map((f, c) => columns[c][i] === null ? '' : f.type.kind === 'text' ? quote(columns[c][i]) : textOf(f.type, columns[c][i])).join(','))
  return Buffer.from(lines.join('\n') + '\n')
}

/**
 * Writes a release. `tables`: by name, lists of values by column. Observed numbers and derived files are computed.
 * @param {string} directory
 * @param {any} declaration without digest and observed
 * @param {Record<string, any[][]>} data
 * @param {any} [options] for Parquet; help: files of sql/ by name; observed: instead of computing
 */
export function writeRelease(directory, declaration, data, options = {}) {
  const d = { ...declaration, observed: [], digest: '' }
  const plans = plansOf(d), tables = new Map(), files = new Map()
  for (const plan of plans) {
    const bytes = parquetFile(plan.fields, data[plan.name], options)
    files.set(`data/${plan.name}.parquet`, bytes)
    if (d.formats.includes('csv')) files.set(`data/${plan.name}.csv`, csvFile(plan.fields, data[plan.name]))
    tables.set(plan.name, readTable(new Uint8Array(bytes), plan.name, plan.name, 1e9))
  }
  const release = { d, plans, tables, grouped: new Map() }
  if (!options.observed) checkRelations(release)
  d.observed = options.observed ?? d.promises.map(promise => { const v = judge(release, promise); return { promise, groups: v.groups, observed: writtenNumbers(v) } })
  const format = lowestFormat(d)
  if (format) d.format = format
  for (const c of d.columns) if (Array.isArray(c.hierarchy)) files.set(`hierarchies/${c.name}.csv`, Buffer.from(hierarchyFile(c.hierarchy)))
  for (const name of helpTables(d)) files.set(`sql/${name}.parquet`, options.help(release, name))
  files.set('validation.json', Buffer.from(validationFile(d, tables, checkPolicy(d, tables))))
  files.set('index.html', Buffer.from('<!doctype html>'))
  files.set('sql/duckdb.sql', Buffer.from('-- nothing\n'))
  const resources = filesOf(d).filter(p => p !== 'datapackage.json').map(p => {
    const bytes = files.get(p)
    const content = { bytes: new Uint8Array(bytes), table: tables.get(p.replace(/^data\//, '').replace(/\.[a-z]+$/, '')), width: d.columns.find(c => p === `hierarchies/${c.name}.csv`)?.hierarchy[0].length }
    return { ...entryOf(d, p, new Set(), () => content), bytes: bytes.length, hash: 'sha256:' + createHash('sha256').update(bytes).digest('hex') }
  })
  const manifest = { $schema: 'https://datapackage.org/profiles/2.0/datapackage.json', name: d.name, title: d.title, resources, sfumato: d }
  seal(manifest)
  files.set('datapackage.json', Buffer.from(canonical(manifest)))
  for (const [p, bytes] of files) {
    mkdirSync(path.dirname(path.join(directory, p)), { recursive: true })
    writeFileSync(path.join(directory, p), bytes)
  }
  return manifest
}

/** Writes the digest into a manifest (M2.2). */
export function seal(manifest) {
  manifest.sfumato.digest = ''
  manifest.sfumato.digest = createHash('sha256').update(canonical(manifest)).digest('hex')
  return manifest
}

export { columnsOf }
