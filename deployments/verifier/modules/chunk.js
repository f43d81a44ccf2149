/** Gathers the values of a column, and looks for values in files that no row has (T4.4). */
import { must } from './refusal.js'
import { decodeUtf8, encodeUtf8 } from './text.js'

/** @param {Uint8Array} bytes big-endian two's complement */
function bigInteger(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 16)
  return (view.getBigInt64(0) << 64n) | view.getBigUint64(8)
}

/**
 * A raw value of Parquet as a value.
 * @param {import('./values.js').Type} t
 * @param {any} raw
 */
function toValue(t, raw) {
  switch (t.kind) {
    case 'date': return BigInt(raw)
    case 'decimal': return bigInteger(raw)
    case 'text': return decodeUtf8(raw)
    default: return raw
  }
}

/**
 * Bytes of a statistic as a value; undefined if they are none.
 * @param {import('./values.js').Type} t
 * @param {Uint8Array} bytes
 */
function fromStatistic(t, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  switch (t.kind) {
    case 'integer': case 'timestamp': return bytes.length === 8 ? view.getBigInt64(0, true) : undefined
    case 'date': return bytes.length === 4 ? BigInt(view.getInt32(0, true)) : undefined
    case 'float': return bytes.length === 8 ? view.getFloat64(0, true) : undefined
    case 'decimal': return bytes.length === 16 ? bigInteger(bytes) : undefined
    case 'boolean': return bytes.length === 1 ? bytes[0] !== 0 : undefined
    default: try { return decodeUtf8(bytes) } catch { return undefined }
  }
}

/** All values of a column: a code for each row, −1 for a null. */
export class Collector {
  /** @param {import('./values.js').Type} t @param {number} rows */
  constructor(t, rows) {
    this.type = t
    this.codes = new Int32Array(rows)
    this.rows = 0
    /** @type {any[]} */
    this.values = []
    /** @type {Map<any, number>} */
    this.known = new Map()
  }

  /** @param {any} raw */
  codeOf(raw) {
    const value = toValue(this.type, raw)
    const key = this.keyOf(value)
    let code = this.known.get(key)
    if (code === undefined) {
      code = this.values.length
      this.known.set(key, code)
      this.values.push(value)
    }
    return code
  }

  /** @param {any} value */
  keyOf(value) {
    if (typeof value === 'bigint') {
      const n = Number(value)
      return Number.isSafeInteger(n) ? n : value
    }
    return Object.is(value, -0) ? '-0' : value
  }
}

/** One column chunk while its pages are read. */
export class Chunk {
  /** @param {import('./values.js').Type} t @param {Collector} collector */
  constructor(t, collector) {
    this.type = t
    this.collector = collector
    this.from = collector.rows
    /** @type {any} */
    this.dictionary = undefined
    /** @type {Uint8Array[]} */
    this.statistics = []
  }

  /** @param {any} raw */
  setDictionary(raw) {
    this.dictionary = raw
    this.codes = Int32Array.from(raw, r => this.collector.codeOf(r))
    this.used = new Uint8Array(raw.length)
  }

  /**
   * @param {Uint32Array} indices
   * @param {Uint32Array | undefined} levels
   * @param {number} count
   */
  addIndices(indices, levels, count) {
    const { collector } = this
    const codes = /** @type {Int32Array} */(this.codes), used = /** @type {Uint8Array} */(this.used)
    let row = collector.rows
    if (row + count > collector.codes.length) throw new Error('more rows than the file states')
    for (let i = 0, j = 0; i < count; i++, row++) {
      if (levels && !levels[i]) { collector.codes[row] = -1; continue }
      const index = indices[j++]
      if (index >= codes.length) throw new Error('an index outside the dictionary')
      used[index] = 1
      collector.codes[row] = codes[index]
    }
    collector.rows = row
  }

  /**
   * @param {any} values
   * @param {Uint32Array | undefined} levels
   * @param {number} count
   */
  addPlain(values, levels, count) {
    const { collector } = this
    let row = collector.rows
    if (row + count > collector.codes.length) throw new Error('more rows than the file states')
    for (let i = 0, j = 0; i < count; i++, row++) {
      collector.codes[row] = levels && !levels[i] ? -1 : collector.codeOf(values[j++])
    }
    collector.rows = row
  }

  /** Statistics of a chunk or page: new and old fields of minimum and maximum. @param {any} s */
  addStatistics(s) {
    if (s) for (const bytes of [s.field_1, s.field_2, s.field_5, s.field_6]) if (bytes) this.statistics.push(bytes)
  }

  /** A column index. @param {any} index */
  addIndex(index) {
    const empty = index.field_1
    for (const list of [index.field_2, index.field_3]) {
      list.forEach((/** @type {Uint8Array} */ bytes, /** @type {number} */ i) => { if (!empty[i]) this.statistics.push(bytes) })
    }
  }

  /** T4.4 for this chunk. @param {string} at */
  finish(at) {
    if (this.used) must(!this.used.includes(0), 'value-hidden', 'T4.4', at, 'a dictionary has a value that no row has')
    if (!this.statistics.length) return
    const mine = this.collector.codes.subarray(this.from, this.collector.rows)
    const seen = new Set()
    for (const bytes of this.statistics) {
      const value = fromStatistic(this.type, bytes)
      const key = bytes.join()
      if (seen.has(key)) continue
      seen.add(key)
      if (value !== undefined && this.holds(mine, value)) continue
      must(this.type.kind === 'text' && this.begins(mine, bytes), 'value-hidden', 'T4.4', at, 'statistics have a value that no row has')
    }
  }

  /** @param {Int32Array} codes @param {any} value */
  holds(codes, value) {
    const keys = this.type.kind === 'float' && value === 0 ? ['-0', 0] : [this.collector.keyOf(value)]
    return keys.some(key => {
      const code = this.collector.known.get(key)
      return code !== undefined && codes.includes(code)
    })
  }

  /** Whether some value begins with these bytes. @param {Int32Array} codes @param {Uint8Array} bytes */
  begins(codes, bytes) {
    for (const code of new Set(codes)) {
      if (code < 0) continue
      const text = encodeUtf8(this.collector.values[code])
      if (text.length > bytes.length && bytes.every((b, i) => text[i] === b)) return true
    }
    return false
  }
}
