/** Columns and tables in memory: each value as a number of a dictionary, ranked by T5. */
import { compareValues, textOf } from './values.js'

/** A column of a table. Equal values (T5.1) have equal ranks; a null has rank 0. */
export class Column {
  /**
   * @param {string} name
   * @param {import('./values.js').Type} type
   * @param {boolean} nullable
   * @param {Int32Array} codes place of each row's value in `values`, −1 for a null
   * @param {any[]} values the different values, bit by bit
   */
  constructor(name, type, nullable, codes, values) {
    this.name = name
    this.type = type
    this.nullable = nullable
    this.codes = codes
    this.values = values
  }

  get length() { return this.codes.length }

  /** Ranks by code: 1 for the smallest value, and one more for each larger one. */
  get rankOfCode() {
    if (this._rankOfCode) return this._rankOfCode
    const order = Int32Array.from(this.values.keys())
    const t = this.type, values = this.values
    if (t.kind === 'integer' && values.every(v => v >= -9007199254740991n && v <= 9007199254740991n)) {
      const numbers = Float64Array.from(values, Number)
      order.sort((a, b) => numbers[a] - numbers[b])
    } else order.sort((a, b) => compareValues(t, values[a], values[b]))
    const ranks = new Int32Array(values.length)
    /** @type {number[]} */
    const codeOf = [-1]
    for (let i = 0, rank = 0; i < order.length; i++) {
      if (!i || compareValues(t, values[order[i - 1]], values[order[i]]) !== 0) { rank++; codeOf.push(order[i]) }
      ranks[order[i]] = rank
    }
    this._codeOfRank = codeOf
    return this._rankOfCode = ranks
  }

  /** Ranks by row. */
  get ranks() {
    if (this._ranks) return this._ranks
    const byCode = this.rankOfCode, out = new Int32Array(this.codes.length)
    for (let i = 0; i < out.length; i++) out[i] = this.codes[i] < 0 ? 0 : byCode[this.codes[i]]
    return this._ranks = out
  }

  /** How many ranks there are, the 0 of nulls among them. */
  get rankCount() {
    this.rankOfCode
    return /** @type {number[]} */(this._codeOfRank).length
  }

  /** The value of a rank; null for 0. @param {number} rank */
  valueOfRank(rank) {
    this.rankOfCode
    return rank === 0 ? null : this.values[/** @type {number[]} */(this._codeOfRank)[rank]]
  }

  /** @param {number} row */
  at(row) { return this.codes[row] < 0 ? null : this.values[this.codes[row]] }

  get hasNulls() {
    if (this._hasNulls === undefined) this._hasNulls = this.codes.includes(-1)
    return this._hasNulls
  }

  /** Texts (T2) of the different values. */
  get texts() { return this._texts ??= this.values.map(v => textOf(this.type, v)) }

  /** Integers as Numbers, by row; only for columns that the caller knows to be small. */
  get numbers() {
    if (this._numbers) return this._numbers
    const byCode = Float64Array.from(this.values, Number)
    const out = new Float64Array(this.codes.length)
    for (let i = 0; i < out.length; i++) out[i] = this.codes[i] < 0 ? NaN : byCode[this.codes[i]]
    return this._numbers = out
  }

  /** Lets go of what can be computed again. */
  forget() { this._ranks = this._numbers = this._texts = undefined }
}

/** A table that was read. */
export class Table {
  /** @param {string} name @param {Column[]} columns @param {number} length */
  constructor(name, columns, length) {
    this.name = name
    this.columns = columns
    this.length = length
  }

  /** @param {string} name @returns {Column} */
  column(name) {
    const found = this.columns.find(c => c.name === name)
    if (!found) throw new Error(`no column ${name}`)
    return found
  }

  /** @param {string} name */
  has(name) { return this.columns.some(c => c.name === name) }
}

/**
 * Builds a column from values; for tests and small tables.
 * @param {string} name
 * @param {import('./values.js').Type} type
 * @param {any[]} list
 */
export function columnOf(name, type, list) {
  const codes = new Int32Array(list.length), seen = new Map(), values = []
  list.forEach((v, i) => {
    if (v === null) { codes[i] = -1; return }
    const key = Object.is(v, -0) ? '-0' : v
    if (!seen.has(key)) { seen.set(key, values.length); values.push(v) }
    codes[i] = seen.get(key)
  })
  return new Column(name, type, list.includes(null), codes, values)
}
