/** The published tables, which the page holds as sorted values and bit-packed codes. */

import { fraction, parseNumber } from "./fractions.js";

/**
 * A column as the page holds it: its different values, ascending, and codes of so many bits each.
 * Runs are lengths: rows of the first value, then of the second, and so on.
 * @typedef {object} PackedColumn
 * @property {(string | number | boolean)[]} values
 * @property {number} bits
 * @property {string} codes base64
 * @property {boolean} [runs]
 * @property {boolean} [nulls] whether a row has no value
 * @property {Int32Array} [ready] the codes, where they are unpacked already
 */

/**
 * A table in the page, or the columns to read of Parquet files beside it, one below the other.
 * @typedef {object} PackedTable
 * @property {number} rows
 * @property {Record<string, PackedColumn>} columns
 * @property {string[]} [files]
 * @property {string[]} [names] of columns in these files
 * @property {string[]} [labelled] those of them that hold labels
 * @property {Record<string, string>} [like] columns of the release that have the types of some names
 * @property {boolean} [once] whether each row is one value, without a count
 */

/**
 * @typedef {"integer" | "decimal" | "float" | "date" | "timestamp" | "string" | "boolean"} Type
 */

/**
 * @typedef {object} Described a published column
 * @property {string} name
 * @property {Type} type
 * @property {number} scale decimals of a decimal column
 * @property {string} role
 * @property {boolean} nulls
 * @property {[string | null, string | null]} [ends] thresholds at which values were cut off
 */

/**
 * What a label admits: listed values, a range (null: without ends), texts that begin alike, or all.
 * @typedef {object} Label
 * @property {(string | number | boolean)[]} [listed]
 * @property {[string | number | null, string | number | null]} [between]
 * @property {[string, number]} [prefix] the characters kept, and the length of the texts
 * @property {boolean} [null]
 */

/**
 * A family of questions, the sensitive column that they are about, and the factor of their intervals.
 * @typedef {{family: string, of: string, factor: number}} Calibrated
 */

/**
 * The tables of a release, by the way in which its form shows a person.
 * @typedef {object} Packed
 * @property {"rows" | "columns" | "labels" | "subdomains" | "apart" | "facts"} shows
 * @property {boolean} counts whether COUNT alone has bounds
 * @property {boolean} [fetched] whether its tables are in files beside the page
 * @property {Described[]} columns
 * @property {Calibrated[]} [likely] the families of questions with likely intervals
 * @property {PackedTable} [rows] exact columns beside the group of each row
 * @property {PackedTable[]} [values] the sensitive values of groups, with counts
 * @property {PackedTable[]} [admitted] the values of each quasi-identifier that groups admit
 * @property {PackedTable[]} [marginals] the number of rows of all groups with each value of some of them
 * @property {Record<string, number>} [rounds] for how many rounds a column's frequencies are fitted, where it is stated
 * @property {PackedTable} [lineage] people and vacant values of each group
 * @property {Record<string, Label[]>} [labels] by column, in the order of the column's values
 * @property {Domain} [domain]
 * @property {PackedTable} [shown] the subdomains of groups, with counts
 * @property {TwoTables} [tables] the names of two related tables; people are rows, and values related rows
 * @property {PackedTable} [groups] how many people and related rows groups have, and the most of one person
 * @property {PackedTable} [aims] the target of each group, where files show subdomains by their ends
 */

/**
 * The names of two related tables and of their key, and the columns of the related one.
 * @typedef {{people: string, related: string, key: string, columns: string[]}} TwoTables
 */

/**
 * The values of a redistributed column, and the subdomains of all targets.
 * @typedef {object} Domain
 * @property {(string | number | boolean)[]} values ascending: these are the ranks
 * @property {number[]} order the rank of each value, in the order in which subdomains are runs
 * @property {number[]} first of each subdomain: the place of its first value in that order
 * @property {number[]} last
 * @property {number[]} parent the subdomain above, -1 for the whole domain
 * @property {number[]} weight among its siblings
 */

/**
 * A column's different values, ascending, and the code of each row; nulls have the code after all.
 * @typedef {object} Column
 * @property {readonly (string | number | boolean)[]} values
 * @property {Int32Array} codes
 */

/**
 * @typedef {object} Table
 * @property {number} rows
 * @property {Map<string, Column>} columns
 */

const MOST_DENSE = 4_000_000; // combinations of which each has a place

/**
 * Decode base64 without a library: browsers and Node both have atob.
 * @param {string} text
 * @returns {Uint8Array} with four zeros behind, which reading codes may pass over
 */
function bytesOf(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length + 4);
  for (let place = 0; place < characters.length; place += 1) {
    bytes[place] = characters.charCodeAt(place);
  }
  return bytes;
}

/**
 * @param {string} packed numbers of `bits` bits each, the lowest bits first, in base64
 * @param {number} bits at most 24
 * @param {number} length
 * @returns {Int32Array}
 */
export function unpack(packed, bits, length) {
  const numbers = new Int32Array(length);
  if (!bits) {
    return numbers;
  }
  const bytes = bytesOf(packed);
  const mask = 2 ** bits - 1;
  for (let place = 0, bit = 0; place < length; place += 1, bit += bits) {
    const byte = Math.floor(bit / 8);
    const word =
      bytes[byte] | (bytes[byte + 1] << 8) | (bytes[byte + 2] << 16) | (bytes[byte + 3] << 24);
    numbers[place] = (word >>> (bit % 8)) & mask;
  }
  return numbers;
}

/**
 * @param {PackedColumn} packed
 * @param {number} rows
 * @returns {Column}
 */
function decodeColumn(packed, rows) {
  if (packed.ready) {
    return { values: packed.values, codes: packed.ready };
  }
  if (!packed.runs) {
    return { values: packed.values, codes: unpack(packed.codes, packed.bits, rows) };
  }
  const codes = new Int32Array(rows);
  let start = 0;
  unpack(packed.codes, packed.bits, packed.values.length).forEach((length, code) => {
    codes.fill(code, start, start + length);
    start += length;
  });
  return { values: packed.values, codes };
}

/**
 * Decode a table; each column is decoded when it is first needed.
 * @param {PackedTable} packed
 * @returns {Table}
 */
export function decodeTable(packed) {
  const columns = new Map(
    Object.entries(packed.columns).map(([name, column]) => [name, decodeColumn(column, packed.rows)]),
  );
  return { rows: packed.rows, columns };
}

/**
 * @param {Table} table
 * @param {string} name
 * @returns {Column}
 */
export function columnOf(table, name) {
  const column = table.columns.get(name);
  if (!column) {
    throw new Error(`no column ${name}`);
  }
  return column;
}

/**
 * @param {Column} column with whole numbers as values
 * @returns {Int32Array} the number of each row
 */
export const numbersOf = ({ codes, values }) => ofRows(codes, Int32Array.from(values, Number));

/**
 * @template {Uint8Array | Uint16Array | Int32Array | Float64Array} T
 * @param {ArrayLike<number>} codes
 * @param {T} ofCodes a number of each code
 * @returns {T} that of each row
 */
export function ofRows(codes, ofCodes) {
  const numbers = new /** @type {any} */ (ofCodes.constructor)(codes.length);
  for (let row = 0; row < codes.length; row += 1) {
    numbers[row] = ofCodes[codes[row]];
  }
  return numbers;
}

/**
 * Number the different combinations of rows' codes, in the order in which they first come.
 * @param {Column[]} columns
 * @param {Uint8Array} selected 1 for rows that have one
 * @returns {{place: Int32Array, first: number[]}} the number of each row's combination (-1 without
 *   one), and the first row of each
 */
export function combined(columns, selected) {
  const place = new Int32Array(selected);
  for (let row = 0; row < place.length; row += 1) {
    place[row] -= 1;
  }
  let first = [place.indexOf(0)].filter((row) => row >= 0);
  for (const { codes, values } of columns) {
    const width = values.length + 1;
    const isDense = first.length * width < MOST_DENSE;
    const dense = new Int32Array(isDense ? first.length * width : 0);
    /** @type {Map<number, number>} */
    const sparse = new Map();
    first = [];
    for (let row = 0; row < place.length; row += 1) {
      if (place[row] >= 0) {
        const key = place[row] * width + codes[row];
        let number = isDense ? dense[key] : sparse.get(key);
        if (!number) {
          number = first.push(row);
          isDense ? (dense[key] = number) : sparse.set(key, number);
        }
        place[row] = number - 1;
      }
    }
  }
  return { place, first };
}

/**
 * Numbers as whole units, of which 10 ** digits make 1.
 * @typedef {{units: bigint[], digits: number}} Units
 */

/**
 * @param {readonly (string | number | boolean)[]} values numbers
 * @returns {Units}
 */
export function unitsOf(values) {
  const numbers = values.map((value) => parseNumber(String(value)) ?? fraction(0));
  const digits = numbers.reduce((most, number) => Math.max(most, digitsOf(number.d)), 0);
  const scale = 10n ** BigInt(digits);
  return { units: numbers.map((number) => (number.n * scale) / number.d), digits };
}

/**
 * @param {bigint} divisor the denominator of a decimal number in lowest terms: 2 ** a * 5 ** b
 * @returns {number} its decimals
 */
function digitsOf(divisor) {
  let digits = 0;
  for (let rest = divisor; rest > 1n; digits += 1) {
    rest /= rest % 10n === 0n ? 10n : rest % 5n === 0n ? 5n : 2n;
  }
  return digits;
}
