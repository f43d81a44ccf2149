/** The list of files in the manifest (M5). */
import { must } from './refusal.js'
import { compareTexts } from './text.js'
import { sameJson } from './canonical-json.js'
import { layoutFrom } from './formats.js'
import { fieldType } from './values.js'
import { footer, looseFieldType } from './parquet.js'
import { isFormula } from './csv.js'

/** @type {Record<string, string>} */
const MEDIA = { csv: 'text/csv', html: 'text/html', json: 'application/json', parquet: 'application/vnd.apache.parquet', sql: 'application/sql' }
const AT = 'datapackage.json'

/** M5.1 and M5.3 before files are read. @param {any} manifest @param {string[]} files all paths of the release, sorted */
export function checkPaths(manifest, files) {
  const paths = manifest.resources.map((/** @type {any} */ r) => r.path)
  must(paths.every((/** @type {string} */ p, /** @type {number} */ i) => !i || compareTexts(paths[i - 1], p) < 0), 'resources-wrong', 'M5.1', AT, 'paths in another order')
  const listed = files.filter(f => f !== 'datapackage.json' && f !== 'datapackage.json.sig')
  must(listed.length === paths.length && listed.every((f, i) => f === paths[i]), 'resources-wrong', 'M5.1', AT, 'other paths than files')
}

/** `categories` of a field (M5.7), or undefined. @param {any} d @param {import('./column.js').Column} c @param {boolean} csv */
function categories(d, c, csv) {
  const words = d.words?.labels?.[c.name]
  if (!words || (c.type.kind !== 'integer' && c.type.kind !== 'text')) return undefined
  const codes = words.codes
  if (!c.texts.every((t, i) => Object.hasOwn(codes, t) || !c.codes.includes(i))) return undefined
  const sorted = Object.keys(codes).sort(compareTexts)
  if (csv && d.csv?.formulas === 'quote' && c.type.kind === 'text' && sorted.some(isFormula)) return undefined
  return sorted.map(code => ({ value: c.type.kind === 'integer' ? Number(code) : code, label: codes[code] }))
}

/**
 * The entry that a file must have, but for `bytes` and `hash`.
 * @param {any} d the declaration of the manifest that lists the file
 * @param {string} path
 * @param {Set<string>} twice names that several files have
 * @param {(path: string) => {table?: import('./column.js').Table, bytes?: Uint8Array, width?: number}} content
 */
export function entryOf(d, path, twice, content) {
  const parts = path.split('/'), last = parts[parts.length - 1], folder = parts[parts.length - 2]
  const format = last.slice(last.lastIndexOf('.') + 1), later = layoutFrom(d, 5)
  const plain = last.replaceAll('.', '-')
  /** @type {any} */
  const entry = { path, format, mediatype: MEDIA[format], name: later && twice.has(plain) ? path.replaceAll('/', '-').replaceAll('.', '-') : plain }
  if (later && format !== 'parquet') entry.encoding = 'utf-8'
  if (folder === 'data') {
    const { table } = content(path)
    entry.type = 'table'
    entry.schema = {
      fields: /** @type {import('./column.js').Table} */(table).columns.map(c => {
        /** @type {any} */
        const field = { name: c.name, type: fieldType(c.type) }
        const description = d.words?.columns && Object.hasOwn(d.words.columns, c.name) ? d.words.columns[c.name] : undefined
        if (description !== undefined) field.description = description
        if (later && format === 'csv' && field.type === 'datetime') field.format = '%Y-%m-%d %H:%M:%S.%f'
        const list = categories(d, c, format === 'csv')
        if (list) field.categories = list
        if (!c.nullable) field.constraints = { required: true }
        return field
      }),
    }
    if (d.form.method === 'apart' && layoutFrom(d, 12)) {
      const ids = ['group_id']
      if (plain === `group_counts-${format}`) entry.schema.primaryKey = ids
      else entry.schema.foreignKeys = [{ fields: ids, reference: { resource: `group_counts-${format}`, fields: ids } }]
    }
  } else if (later && format === 'parquet') {
    const { bytes } = content(path)
    entry.type = 'table'
    entry.schema = { fields: footer(/** @type {Uint8Array} */(bytes), path).elements.map(e => ({ name: e.name, type: looseFieldType(e) })) }
  } else if (later && folder === 'hierarchies') {
    const width = content(path).width ?? 0
    entry.type = 'table'
    entry.dialect = { header: false }
    entry.schema = { fields: Array.from({ length: width }, (_, i) => ({ name: i ? `level ${i}` : 'value', type: 'string' })) }
  }
  return entry
}

/**
 * M5.3 to M5.9.
 * @param {any} manifest
 * @param {(path: string) => {table?: import('./column.js').Table, bytes?: Uint8Array, width?: number}} content
 */
export function checkResources(manifest, content) {
  /** @type {Map<string, number>} */
  const names = new Map()
  for (const r of manifest.resources) {
    const name = r.path.split('/').pop().replaceAll('.', '-')
    names.set(name, (names.get(name) ?? 0) + 1)
  }
  const twice = new Set([...names].filter(([, n]) => n > 1).map(([name]) => name))
  for (const r of manifest.resources) {
    const { bytes, hash, ...rest } = r
    must(sameJson(rest, entryOf(manifest.sfumato, r.path, twice, content)), 'resources-wrong', 'M5.3', r.path)
  }
}
