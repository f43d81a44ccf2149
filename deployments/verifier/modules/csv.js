/** CSV files (T3): written again from the table, and compared byte by byte. */
import { must } from './refusal.js'
import { encodeUtf8 } from './text.js'

const FORMULA = /^[=+\-@\t\r]/

/** Whether a text would be run by a spreadsheet (T3.4). @param {string} text */
export const isFormula = text => FORMULA.test(text)

/** @param {string} text */
const quoted = text => `"${text.replaceAll('"', '""')}"`

/**
 * T3.
 * @param {import('./column.js').Table} table
 * @param {Uint8Array} bytes
 * @param {boolean} quoteFormulas
 * @param {string} where
 */
export function checkCsv(table, bytes, quoteFormulas, where) {
  const fields = table.columns.map(c => {
    if (c.type.kind !== 'text') return c.texts
    return c.texts.map(t => quoted(quoteFormulas && isFormula(t) ? `'${t}` : t))
  })
  const codes = table.columns.map(c => c.codes)
  let at = 0, piece = table.columns.map(c => quoted(c.name)).join(',') + '\n'
  const compare = () => {
    const part = encodeUtf8(piece)
    must(at + part.length <= bytes.length, 'csv-differs', 'T3.1', where)
    for (let i = 0; i < part.length; i++) if (part[i] !== bytes[at + i]) must(false, 'csv-differs', 'T3.1', where)
    at += part.length
    piece = ''
  }
  for (let row = 0; row < table.length; row++) {
    for (let c = 0; c < codes.length; c++) {
      const code = codes[c][row]
      piece += (c ? ',' : '') + (code < 0 ? '' : fields[c][code])
    }
    piece += '\n'
    if (piece.length > 65536) compare()
  }
  compare()
  must(at === bytes.length, 'csv-differs', 'T3.1', where, 'more lines than the table')
}
