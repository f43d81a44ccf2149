/** The verdict on a release (V1), in the order of V3. */
import { NotJudged, Refusal, must, refuse } from './refusal.js'
import { parseCanonical } from './canonical-json.js'
import { checkDigest, checkManifest } from './manifest.js'
import { checkFormat, refuseNewer } from './formats.js'
import { filesOf, helpTables, hierarchyFiles, plansOf } from './forms.js'
import { checkStatements, checkPublishedLeaves } from './statements.js'
import { checkPaths, checkResources } from './resources.js'
import { loadTable, checkTable } from './tables.js'
import { checkCsv } from './csv.js'
import { checkRelations } from './relations.js'
import { checkScope } from './scope.js'
import { checkPeople, checkPromises, needsReference, writtenNumbers } from './observed.js'
import { checkValidation } from './validation.js'
import { checkEdition, checkPolicy, checkPolicyShape } from './policy.js'
import { checkHelpTables } from './help-tables.js'
import { hierarchyFile } from './hierarchies.js'
import { checkRecord, checkSignature } from './beside.js'
import { checkLog } from './log.js'
import { checkParts } from './parts.js'
import { sha256 } from './digests.js'
import { sameBytes, compareTexts } from './text.js'

/**
 * Where files come from.
 * @typedef {object} Source
 * @property {string | undefined} name the name of the version's directory
 * @property {Map<string, {kind: 'file' | 'other', size: number}>} files everything below that is no directory
 * @property {string[]} empty directories without entries
 * @property {(path: string, most: number) => Promise<Uint8Array>} read a file; refuses one that is larger
 * @property {(name: string, most: number) => Promise<Uint8Array | null | undefined>} beside a file of the line: undefined if there is none, null if it cannot be read
 * @property {string[]} [blind] what this source cannot see, in words
 */
/**
 * @typedef {object} Report
 * @property {'valid' | 'refused' | 'not judged'} verdict
 * @property {string} [digest]
 * @property {string} [title]
 * @property {{reason: string, rule: string, where: string, detail: string}[]} reasons
 * @property {{promise: any, groups: number, stated: boolean, observed: any, part?: string}[]} promises
 * @property {string[]} skipped
 * @property {string[]} notes
 * @property {string} [signature]
 * @property {{size: number, root: string, signed: boolean, earlier: number[]}} [log] of the line, if there is one
 * @property {number} files how many files were hashed
 * @property {number} rows how many rows of tables were read
 */
/**
 * @typedef {object} Options
 * @property {string} [digest] announced digest
 * @property {string[]} [keys] public keys that the reader trusts for the line
 * @property {string[]} [revoked] public keys that the reader knows as revoked
 * @property {any[]} [heads] earlier heads of the line, as `readHead` reads them
 * @property {number} [mostRows]
 * @property {(step: string) => void} [progress]
 */

const MANIFEST = 'datapackage.json', MOST_MANIFEST = 67108864
/** @type {number} rows of a table that this verifier accepts */
const MOST_ROWS = 20000000
const MOST_FILE = 2 ** 31 - 1

/**
 * Verifies a release and everything beside it.
 * @param {Source} source
 * @param {Options} [options]
 * @returns {Promise<Report>}
 */
export async function verify(source, options = {}) {
  /** @type {Report} */
  const report = { verdict: 'refused', reasons: [], promises: [], skipped: [], notes: [], files: 0, rows: 0 }
  try {
    await verifyWhole(source, options, report)
    report.verdict = 'valid'
  } catch (error) {
    if (!(error instanceof Refusal)) {
      if (error instanceof RangeError && /memory|allocation|length/i.test(error.message)) report.reasons.push({ reason: 'unreadable', rule: 'V1.3', where: '', detail: 'not enough memory' })
      else throw error
    } else {
      if (error instanceof NotJudged || error.reason === 'too-large') report.verdict = 'not judged'
      report.reasons.push({ reason: error.reason, rule: error.rule, where: error.where, detail: error.detail })
    }
  }
  report.skipped.push(...(source.blind ?? []))
  return report
}

/** @param {Source} source @param {Options} options @param {Report} report */
async function verifyWhole(source, options, report) {
  const step = options.progress ?? (() => {})
  step('kinds of files')
  if (source.files.get('withdrawal.json')?.kind === 'file') refuse('withdrawn', 'S4.6', 'withdrawal.json')
  const manifest = await readManifest(source)
  report.title = typeof manifest?.sfumato?.title === 'string' ? manifest.sfumato.title : undefined
  const digest = manifest?.sfumato?.digest
  if (typeof digest === 'string') await checkRecord(source, digest, report)
  refuseNewer(manifest)
  await checkDigest(manifest)
  report.digest = digest
  must(options.digest === undefined || options.digest === digest, 'digest-not-announced', 'M2.3', MANIFEST)
  const whole = await verifyOne(source, manifest, options, report)
  await checkSignature(source, digest, options, report)
  await checkLog(source, manifest.sfumato, options, report)
  report.skipped.push('index.html and sql/duckdb.sql: size and hash are checked, what they say is not (X5)', 'bytes of files as the same software would write them (X6)')
  if (whole.labelTables) report.skipped.push('sql/label_*.parquet and sql/value_*.parquet: size, hash and columns are checked, values are not (X4.5)')
  if (whole.united) report.skipped.push('unite: case folding of characters beyond ASCII (X2.5)')
  if (whole.references) report.notes.push('A promise about a reference was not measured: its numbers are the publisher\'s statement (M6.3).')
  if (whole.people) report.notes.push('Numbers over people or households are the publisher\'s statement: no file shows whose rows are whose (M6.4).')
  if (manifest.sfumato.policy) report.notes.push(`The rules of the policy ${manifest.sfumato.policy.name} that a machine decides are kept. What people stated is not published. A policy gives no legal advice.`)
  if (manifest.sfumato.bars) report.notes.push('Bars on attacks are the publisher\'s statement. No verifier can verify them.')
}

/** D1, M1. @param {Source} source */
async function readManifest(source) {
  for (const [path, { kind }] of source.files) must(kind === 'file', 'file-kind', 'D1.1', path)
  must(source.files.has(MANIFEST), 'not-a-release', 'D1.4', MANIFEST)
  for (const path of source.empty) refuse('file-unexpected', 'D1.2', path, 'an empty directory')
  return parseCanonical(await source.read(MANIFEST, MOST_MANIFEST))
}

/**
 * A part of a source, as a source.
 * @param {Source} source
 * @param {string} folder
 * @returns {Source}
 */
function within(source, folder) {
  const files = new Map()
  for (const [path, entry] of source.files) if (path.startsWith(folder)) files.set(path.slice(folder.length), entry)
  return { name: undefined, files, empty: [], read: (path, most) => source.read(folder + path, most), beside: async () => undefined }
}

/**
 * Steps 3 to 10 of V3.
 * @param {Source} source
 * @param {any} manifest
 * @param {Options} options
 * @param {Report} report
 * @param {string} [part] the name of the part that it is
 */
async function verifyOne(source, manifest, options, report, part) {
  const step = options.progress ?? (() => {})
  step(part ? `part ${part}: manifest` : 'manifest')
  checkManifest(manifest)
  const d = manifest.sfumato
  checkFormat(d)
  checkStatements(d)
  checkPolicyShape(d)
  checkEdition(d)
  checkScope(d)
  const people = checkPeople(d)
  const files = checkFiles(source, d, part)
  checkPaths(manifest, files)
  step(part ? `part ${part}: hashes` : 'hashes')
  /** @type {Map<string, Uint8Array>} */
  const kept = new Map()
  for (const r of manifest.resources) {
    must(source.files.get(r.path)?.size === r.bytes, 'hash-differs', 'M5.2', r.path, 'another size')
    const bytes = await source.read(r.path, MOST_FILE)
    must(`sha256:${await sha256(bytes)}` === r.hash, 'hash-differs', 'M5.2', r.path)
    report.files++
    if (bytes.length < 1 << 16) kept.set(r.path, bytes)
  }
  const read = async (/** @type {string} */ path) => kept.get(path) ?? source.read(path, MOST_FILE)
  const out = {
    d, manifest, people,
    references: d.promises.some(needsReference), labelTables: helpTables(d).some(n => /^(label|value)_/.test(n)),
    united: d.columns.some((/** @type {any} */ c) => c.unite),
    /** @type {import('./relations.js').Release | undefined} */ release: undefined,
    /** @type {import('./promises.js').Judgement[]} */ verdicts: [],
    /** @type {any[]} */ parts: [],
  }
  if (d.made_of) {
    for (const entry of d.made_of) {
      const folder = `parts/${entry.name}/`, inner = within(source, folder)
      const found = await readManifest(inner)
      refuseNewer(found)
      await checkDigest(found)
      must(!found.sfumato.made_of && !found.sfumato.parts, 'parts-wrong', 'F9.2', folder, 'a part in parts')
      out.parts.push(await verifyOne(inner, found, options, report, entry.name))
    }
    out.verdicts = checkParts(d, out.parts)
    checkPublishedLeaves(d, out.parts.map(p => p.release.tables))
  } else {
    must(!d.parts, 'parts-wrong', 'F9', MANIFEST, 'parts without made_of')
    out.release = await readTables(d, read, options, report, part)
    step(part ? `part ${part}: promises` : 'promises')
    out.verdicts = checkPromises(out.release)
    checkPublishedLeaves(d, [out.release.tables])
  }
  const decided = checkPolicy(d, out.release?.tables)
  step(part ? `part ${part}: derived files` : 'derived files')
  const content = await contentOf(out, manifest, read)
  checkResources(manifest, content)
  checkValidation(d, out.release?.tables ?? new Map(), decided, await read('validation.json'), 'validation.json')
  for (const { path, column } of hierarchyFiles(d)) must(sameBytes(await read(path), hierarchyFile(column.hierarchy)), 'hierarchy-differs', 'X3.1', path)
  if (out.release) await checkHelpTables(out.release, read, options.mostRows ?? MOST_ROWS)
  if (!part) {
    d.promises.forEach((/** @type {any} */ promise, /** @type {number} */ i) => {
      const v = out.verdicts[i]
      report.promises.push({ promise, groups: v.groups, stated: Boolean(v.stated), observed: v.stated ? d.observed[i].observed : writtenNumbers(v) })
    })
  }
  return out
}

/** D2, D3: returns all paths, sorted. @param {Source} source @param {any} d @param {string | undefined} part */
function checkFiles(source, d, part) {
  const wanted = new Set(filesOf(d)), names = new Set((d.made_of ?? []).map((/** @type {any} */ m) => m.name))
  const there = [...source.files.keys()].sort(compareTexts)
  for (const path of wanted) must(source.files.has(path), 'file-missing', 'D2.1', path)
  for (const name of names) must(source.files.has(`parts/${name}/${MANIFEST}`), 'file-missing', 'D3.1', `parts/${name}/${MANIFEST}`)
  for (const path of there) {
    if (wanted.has(path)) continue
    if (path === 'datapackage.json.sig' && !part) continue
    const inside = /^parts\/([^/]+)\/(.+)$/.exec(path)
    if (inside && names.has(inside[1])) continue // looked at with the part
    refuse('file-unexpected', part && path === 'datapackage.json.sig' ? 'D3.2' : 'D2.1', path)
  }
  return there
}

/**
 * Steps 6 and 7 of V3.
 * @param {any} d
 * @param {(path: string) => Promise<Uint8Array>} read
 * @param {Options} options
 * @param {Report} report
 * @param {string | undefined} part
 * @returns {Promise<import('./relations.js').Release>}
 */
async function readTables(d, read, options, report, part) {
  const step = options.progress ?? (() => {})
  const plans = plansOf(d)
  /** @type {Map<string, import('./column.js').Table>} */
  const tables = new Map()
  for (const plan of plans) {
    step(part ? `part ${part}: table ${plan.name}` : `table ${plan.name}`)
    const path = `data/${plan.name}.parquet`
    const table = loadTable(d, plan, await read(path), options.mostRows ?? MOST_ROWS)
    report.rows += table.length
    tables.set(plan.name, table)
    checkTable(d, plan, table)
    if (d.formats.includes('csv')) {
      const csv = `data/${plan.name}.csv`
      checkCsv(table, await read(csv), d.csv?.formulas === 'quote', csv)
    }
  }
  const release = { d, plans, tables, grouped: new Map() }
  checkRelations(release)
  return release
}

/**
 * What M5 needs of files: tables of data, bytes of help tables, widths of hierarchies.
 * @param {any} out
 * @param {any} manifest
 * @param {(path: string) => Promise<Uint8Array>} read
 */
async function contentOf(out, manifest, read) {
  const bytes = new Map()
  for (const { path } of manifest.resources) {
    if (path.endsWith('.parquet') && !/(^|\/)data\//.test(path)) bytes.set(path, await read(path))
  }
  return (/** @type {string} */ path) => {
    const inner = /^parts\/([0-9]+)\/(.+)$/.exec(path)
    const owner = inner ? out.parts[out.d.made_of.findIndex((/** @type {any} */ m) => m.name === inner[1])] : out
    const rest = inner ? inner[2] : path
    const column = hierarchyFiles(owner.d).find((/** @type {any} */ f) => f.path === rest)?.column
    return { bytes: bytes.get(path), table: owner.release?.tables.get(rest.replace(/^data\//, '').replace(/\.[a-z]+$/, '')), width: column?.hierarchy[0].length }
  }
}
