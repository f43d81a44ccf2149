/** Reads Parquet files exactly: raw values, strict counts, nothing hidden (T1.1, T4). */
import { deserializeTCompactProtocol } from '../vendor/hyparquet/thrift.js'
import { readPlain } from '../vendor/hyparquet/plain.js'
import { CompressionCodecs, Encodings, PageTypes, ParquetTypes } from '../vendor/hyparquet/constants.js'
import { unpack } from './zstd.js'
import { readRuns } from './runs.js'
import { Chunk, Collector } from './chunk.js'
import { Column, Table } from './column.js'
import { Refusal, must, refuse } from './refusal.js'
import { decodeUtf8 } from './text.js'
import { type } from './values.js'

/** @typedef {{name: string, physical: string, length: number, optional: boolean, logical: any, converted: number | undefined, id: unknown}} Element */

const MAGIC = 0x31524150

/**
 * Reads the footer.
 * @param {Uint8Array} bytes
 * @param {string} where
 */
export function footer(bytes, where) {
  return guarded(where, () => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    must(bytes.length >= 12 && view.getUint32(0, true) === MAGIC && view.getUint32(bytes.length - 4, true) === MAGIC, 'table-unreadable', 'T4.1', where, 'no Parquet file')
    const size = view.getUint32(bytes.length - 8, true)
    must(size <= bytes.length - 12, 'table-unreadable', 'T4.1', where, 'the footer is longer than the file')
    const start = bytes.length - 8 - size
    const part = new DataView(bytes.buffer, bytes.byteOffset + start, size)
    const raw = deserializeTCompactProtocol({ view: part, offset: 0 })
    const [root, ...rest] = /** @type {any[]} */(raw.field_2)
    must(root.field_5 === rest.length && rest.every(e => e.field_1 !== undefined && !e.field_5), 'table-schema', 'T1.3', where, 'nested columns')
    /** @type {Element[]} */
    const elements = rest.map(e => ({
      name: decodeUtf8(e.field_4), physical: ParquetTypes[e.field_1], length: e.field_2, optional: e.field_3 === 1,
      repeated: e.field_3 === 2, logical: e.field_10, converted: e.field_6, id: e.field_9,
      scale: e.field_7, precision: e.field_8,
    }))
    return { elements, rows: Number(raw.field_3), groups: /** @type {any[]} */(raw.field_4), metadata: raw.field_5, start }
  })
}

/**
 * The type of a column (T1.1), or undefined for one that no table may have.
 * @param {any} e
 * @returns {import('./values.js').Type | undefined}
 */
export function columnType(e) {
  const l = e.logical
  if (e.repeated) return undefined
  switch (e.physical) {
    case 'INT64':
      if (!l) return e.converted === undefined || e.converted === 18 ? type('integer') : undefined
      if (l.field_10) return l.field_10.field_1 === 64 && l.field_10.field_2 ? type('integer') : undefined
      if (l.field_8) return l.field_8.field_1 === false && l.field_8.field_2?.field_2 ? type('timestamp') : undefined
      return undefined
    case 'FIXED_LEN_BYTE_ARRAY':
      return e.length === 16 && l?.field_5 && l.field_5.field_2 === 38 ? type('decimal', l.field_5.field_1 ?? 0) : undefined
    case 'DOUBLE': return l || e.converted !== undefined ? undefined : type('float')
    case 'INT32': return l?.field_6 ? type('date') : undefined
    case 'BYTE_ARRAY': return l?.field_1 ? type('text') : undefined
    case 'BOOLEAN': return l || e.converted !== undefined ? undefined : type('boolean')
    default: return undefined
  }
}

/** The type of a field of the manifest for any column of a help table (M5.8). @param {any} e */
export function looseFieldType(e) {
  const t = columnType(e), l = e.logical
  if (t) return { integer: 'integer', decimal: 'number', float: 'number', date: 'date', timestamp: 'datetime', boolean: 'boolean', text: 'string' }[t.kind]
  if (l?.field_5 || e.physical === 'FLOAT' || e.physical === 'DOUBLE') return 'number'
  if (l?.field_6) return 'date'
  if (l?.field_8) return 'datetime'
  if (l?.field_1) return 'string'
  return e.physical === 'INT32' || e.physical === 'INT64' ? 'integer' : e.physical === 'BOOLEAN' ? 'boolean' : 'string'
}

/**
 * Turns what a malformed file does to a reader into a refusal.
 * @template T
 * @param {string} where
 * @param {() => T} work
 * @returns {T}
 */
function guarded(where, work) {
  try { return work() } catch (error) {
    if (error instanceof Refusal) throw error
    return refuse('table-unreadable', 'T4.1', where, 'cannot be read as Parquet')
  }
}

/**
 * Reads a whole table.
 * @param {Uint8Array} bytes
 * @param {string} name
 * @param {string} where the path of the file
 * @param {number} mostRows
 * @returns {Table}
 */
export function readTable(bytes, name, where, mostRows) {
  const foot = footer(bytes, where)
  must(foot.metadata === undefined || foot.metadata.length === 0, 'table-metadata', 'T4.2', where)
  for (const e of foot.elements) must(e.id === undefined, 'table-metadata', 'T4.2', `${where}, column ${e.name}`, 'a field id')
  if (foot.rows > mostRows) refuse('too-large', 'T4.6', where)
  return guarded(where, () => {
    const columns = foot.elements.map((element, i) => {
      const t = columnType(element)
      if (!t) refuse('table-schema', 'T1.1', `${where}, column ${element.name}`, 'a type that no table has')
      const at = `${where}, column ${element.name}`
      const collector = new Collector(t, foot.rows)
      for (const group of foot.groups) {
        const chunk = group.field_1[i]
        must(chunk && Number(chunk.field_3.field_5) === Number(group.field_3), 'table-unreadable', 'T4.3', at, 'chunk and row group differ')
        must(group.field_1.length === foot.elements.length, 'table-unreadable', 'T4.3', where, 'a row group without all columns')
        must(!chunk.field_1, 'table-unreadable', 'T4.1', at, 'a chunk in another file')
        must(chunk.field_3.field_3.length === 1 && decodeUtf8(chunk.field_3.field_3[0]) === element.name, 'table-unreadable', 'T4.1', at)
        must(!chunk.field_3.field_8?.length, 'table-metadata', 'T4.2', at)
        readChunk(bytes, foot.start, chunk, element, t, collector, at)
      }
      must(collector.rows === foot.rows, 'table-unreadable', 'T4.3', at, 'rows of row groups do not add up')
      return new Column(element.name, t, element.optional, collector.codes, collector.values)
    })
    return new Table(name, columns, foot.rows)
  })
}

/**
 * Reads the pages of a column chunk into a collector.
 * @param {Uint8Array} bytes
 * @param {number} end where the footer begins
 * @param {any} chunk
 * @param {Element} element
 * @param {import('./values.js').Type} t
 * @param {Collector} collector
 * @param {string} at
 */
function readChunk(bytes, end, chunk, element, t, collector, at) {
  const meta = chunk.field_3
  const codec = CompressionCodecs[meta.field_4], total = Number(meta.field_5)
  must(ParquetTypes[meta.field_1] === element.physical, 'table-unreadable', 'T4.1', at, 'another type than the schema')
  must(codec === 'ZSTD' || codec === 'UNCOMPRESSED', 'table-unreadable', 'T4.1', at, `compression ${codec}`)
  const offsets = [meta.field_9, meta.field_11].filter(o => o !== undefined).map(Number).filter(o => o > 0)
  // a chunk without values may have no pages, and then its offsets mean nothing (T4.1)
  const first = total === 0 && Number(meta.field_7) === 0 ? end : Math.min(...offsets)
  const stop = first + Number(meta.field_7)
  must(first >= 4 && stop <= end, 'table-unreadable', 'T4.1', at, 'a chunk outside the file')
  const view = new DataView(bytes.buffer, bytes.byteOffset, stop)
  const reader = { view, offset: first }
  const state = new Chunk(t, collector)
  let seen = 0
  while (reader.offset < stop) {
    const header = deserializeTCompactProtocol(reader)
    const kind = PageTypes[header.field_1], size = header.field_3, plainSize = header.field_2
    must(size >= 0 && plainSize >= 0 && reader.offset + size <= stop, 'table-unreadable', 'T4.1', at, 'a page outside its chunk')
    const body = bytes.subarray(reader.offset, reader.offset + size)
    reader.offset += size
    if (kind === 'DICTIONARY_PAGE') {
      must(!state.dictionary && !seen, 'table-unreadable', 'T4.1', at, 'a second dictionary')
      const page = codec === 'ZSTD' ? unpack(body, plainSize) : body
      must(page.length === plainSize, 'table-unreadable', 'T4.3', at)
      const source = { view: new DataView(page.buffer, page.byteOffset, page.byteLength), offset: 0 }
      const count = header.field_7.field_1
      must(count <= page.length, 'table-unreadable', 'T4.3', at)
      state.setDictionary(plainValues(source, element, count, at))
      must(source.offset === page.length, 'table-unreadable', 'T4.3', at, 'a dictionary page with other values than it states')
    } else if (kind === 'DATA_PAGE') {
      const page = codec === 'ZSTD' ? unpack(body, plainSize) : body
      must(page.length === plainSize, 'table-unreadable', 'T4.3', at)
      const count = header.field_5.field_1
      must(count >= 0 && seen + count <= total, 'table-unreadable', 'T4.3', at, 'pages have more values than the chunk')
      readPage(page, count, Encodings[header.field_5.field_2], header.field_5, element, state, at)
      state.addStatistics(header.field_5.field_5)
      seen += count
    } else refuse('table-unreadable', 'T4.1', at, `a page of kind ${kind}`)
  }
  must(seen === total, 'table-unreadable', 'T4.3', at, 'pages have fewer values than the chunk')
  state.addStatistics(meta.field_12)
  if (chunk.field_6 !== undefined && Number(chunk.field_7) > 0) {
    const from = Number(chunk.field_6), index = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    const found = deserializeTCompactProtocol({ view: index, offset: from })
    state.addIndex(found)
  }
  state.finish(at)
}

/**
 * @param {{view: DataView, offset: number}} source
 * @param {Element} element
 * @param {number} count
 * @param {string} at
 */
function plainValues(source, element, count, at) {
  const values = readPlain(source, /** @type {any} */(element.physical), count, element.length)
  must(source.offset <= source.view.byteLength, 'table-unreadable', 'T4.3', at, 'a page that is too short')
  return values
}

/**
 * Reads a data page of version 1.
 * @param {Uint8Array} page
 * @param {number} count
 * @param {string} encoding
 * @param {any} header
 * @param {Element} element
 * @param {Chunk} state
 * @param {string} at
 */
function readPage(page, count, encoding, header, element, state, at) {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
  let offset = 0, present = count
  /** @type {Uint32Array | undefined} */
  let levels
  if (element.optional) {
    must(Encodings[header.field_3] === 'RLE', 'table-unreadable', 'T4.1', at, 'levels of another encoding')
    const size = view.getUint32(0, true)
    must(4 + size <= page.length, 'table-unreadable', 'T4.3', at)
    levels = readRuns(page.subarray(4, 4 + size), 1, count)
    offset = 4 + size
    present = 0
    for (const level of levels) present += level
  }
  const rest = page.subarray(offset)
  if (encoding === 'PLAIN') {
    const source = { view: new DataView(rest.buffer, rest.byteOffset, rest.byteLength), offset: 0 }
    const values = plainValues(source, element, present, at)
    must(source.offset === rest.length, 'table-unreadable', 'T4.3', at, 'a page with more values than it states')
    state.addPlain(values, levels, count)
  } else if (encoding === 'RLE_DICTIONARY' || encoding === 'PLAIN_DICTIONARY') {
    must(state.dictionary, 'table-unreadable', 'T4.1', at, 'no dictionary')
    const width = present ? rest[0] : 0
    must(width <= 32, 'table-unreadable', 'T4.1', at)
    state.addIndices(present ? readRuns(rest.subarray(1), width, present) : new Uint32Array(0), levels, count)
  } else if (encoding === 'RLE' && element.physical === 'BOOLEAN') {
    const size = new DataView(rest.buffer, rest.byteOffset, rest.byteLength).getUint32(0, true)
    must(4 + size <= rest.length, 'table-unreadable', 'T4.3', at)
    state.addPlain(Array.from(readRuns(rest.subarray(4, 4 + size), 1, present), b => b === 1), levels, count)
  } else refuse('table-unreadable', 'T4.1', at, `encoding ${encoding}`)
}
