/** The manifest: schema, and rules of keys that the schema cannot say (M3). */
import schema from './schema.js'
import { faultOf } from './json-schema.js'
import { sameJson, canonical } from './canonical-json.js'
import { must } from './refusal.js'
import { compare, exact } from './fractions.js'
import { checkHierarchy } from './hierarchies.js'
import { encodeUtf8, safe } from './text.js'
import { sha256 } from './digests.js'

const FILE = 'datapackage.json'
// A space of M3.6 is not that of ECMA-262, which has U+FEFF, and lacks U+001C to U+001F and U+0085.
const WEB = /^https?:\/\/[^\p{White_Space}\x1c-\x1f<>"'`{}|\\^]+$/u
const MAIL = /^[^\p{White_Space}\x1c-\x1f@<>"']+@[^\p{White_Space}\x1c-\x1f@<>"']+\.[^\p{White_Space}\x1c-\x1f@<>"']+$/u
const LICENCE = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u

/** The reason of M3. @param {unknown} condition @param {string} rule @param {string} detail */
const holds = (condition, rule, detail) => must(condition, 'manifest-schema', rule, FILE, detail)

/** M2.2. @param {any} manifest */
export async function checkDigest(manifest) {
  const stated = manifest?.sfumato?.digest
  holds(typeof stated === 'string' && /^[0-9a-f]{64}$/.test(stated), 'M2.1', 'no digest')
  const bytes = encodeUtf8(canonical({ ...manifest, sfumato: { ...manifest.sfumato, digest: '' } }))
  must(await sha256(bytes) === stated, 'digest-wrong', 'M2.2', FILE)
}

/** M3.6. @param {any} manifest */
function checkPackage(manifest) {
  const d = manifest.sfumato, words = d.words ?? {}
  holds(d.name === manifest.name && d.title === manifest.title, 'M3.5', 'name or title differ')
  holds(manifest.description === words.description, 'M3.6', 'description')
  let licenses
  if (words.licence !== undefined) {
    holds(WEB.test(words.licence) || LICENCE.test(words.licence), 'M3.6', 'licence')
    licenses = [WEB.test(words.licence) ? { path: words.licence } : { name: words.licence }]
  }
  holds(sameJson(manifest.licenses, licenses), 'M3.6', 'licenses')
  const people = []
  if (words.publisher !== undefined) people.push({ title: words.publisher, roles: ['publisher'] })
  if (words.contact !== undefined) {
    const way = MAIL.test(words.contact) ? { email: words.contact } : WEB.test(words.contact) ? { path: words.contact } : {}
    people.push({ title: words.contact, ...way, roles: ['contact'] })
  }
  holds(sameJson(manifest.contributors, people.length ? people : undefined), 'M3.6', 'contributors')
}

/** Types that codings need (X2.4). @type {Record<string, string[]>} */
const CODED = {
  shift: ['date', 'timestamp'], bottom: ['integer', 'decimal', 'float', 'date', 'timestamp'], top: ['integer', 'decimal', 'float', 'date', 'timestamp'],
  round: ['integer', 'decimal'], unite: ['string'], prefix: ['string'], fold: ['string'], free_text: ['string'],
}

/** @param {any} d */
function checkColumns(d) {
  const names = new Set(d.columns.map((/** @type {any} */ c) => c.name))
  holds(names.size === d.columns.length, 'M3', 'two columns with one name')
  for (const c of d.columns) {
    if (c.weight) holds(c.role === 'insensitive', 'M3', `weight ${c.name} is not insensitive`)
    for (const [coding, types] of Object.entries(CODED)) {
      if (c[coding] !== undefined) holds(types.includes(c.type), 'X2.4', `${coding} of ${c.name}`)
    }
    if (c.hierarchy) checkHierarchy(c)
  }
}

/**
 * Names of columns that the declaration mentions (M3.10).
 * @param {any} d
 * @returns {string[]}
 */
function mentioned(d) {
  const names = []
  for (const p of d.promises) {
    names.push(...p['quasi-identifiers'], ...(p.known ?? []))
    if (p.sensitive !== undefined) names.push(p.sensitive)
    if (p.weight !== undefined) names.push(p.weight)
  }
  for (const s of d.strata) names.push(typeof s === 'string' ? s : s.column)
  for (const list of d.form.linked ?? []) names.push(...list)
  for (const m of d.made_of ?? []) for (const cut of m.where) for (const share of cut) names.push(share.column)
  for (const aim of d.partition.aims ?? []) for (const key of ['over', 'by']) if (aim[key] !== undefined) names.push(aim[key])
  if (d.parts?.by !== undefined) names.push(d.parts.by)
  for (const f of d.intervals?.families ?? []) if (f.of !== '') names.push(f.of)
  for (const c of d.exposure?.columns ?? []) names.push(c.column)
  names.push(...Object.keys(d.rounds ?? {}))
  return names
}

/**
 * All of M3.
 * @param {any} manifest
 */
export function checkManifest(manifest) {
  const fault = faultOf(schema, manifest, schema)
  holds(!fault, 'M3.1', fault ?? '')
  const d = manifest.sfumato
  checkPackage(manifest)
  checkColumns(d)
  const names = new Set(d.columns.map((/** @type {any} */ c) => c.name))
  holds(new Set([...names].map(safe)).size === names.size, 'D2.3', 'two columns whose files have one name')
  if (typeof d.versions === 'string') holds(d.predecessor === undefined, 'F8.7', 'a predecessor where nothing is composed')
  if (d.parts) holds((d.parts.by === undefined) === !d.parts.at?.length, 'F9.1', 'at without by, or by without at')
  for (const name of mentioned(d)) holds(names.has(name), 'M3.10', `no column ${name}`)
  for (const p of d.promises) {
    if (p.model === 'l-diversity' && p.variant === 'recursive' && p['dont-care']) holds(p.l >= 2, 'P6.2', 'dont-care with l = 1')
    if (p.model === 'bayes-optimal') holds(compare(/** @type {any} */(exact(p.rho1)), /** @type {any} */(exact(p.rho2))) < 0, 'P15', 'rho1 is not below rho2')
    if (p.model === 'delta-presence') holds(compare(/** @type {any} */(exact(p.min)), /** @type {any} */(exact(p.max))) <= 0, 'P15', 'min is above max')
  }
  const people = d.households ? 'households' : d.rows_per_unit === 'several' || d.form.method === 'apart' ? 'people' : undefined
  for (const o of d.observed) {
    for (const key of ['people', 'households']) holds((o[key] !== undefined) === (key === people), 'M6.4', `observed, ${key}`)
  }
  if (d.form.marginals) {
    const about = d.form.marginals.map((/** @type {string} */ q) => d.columns.find((/** @type {any} */ c) => c.name === q))
    holds(new Set(d.form.marginals).size === about.length && about.every((/** @type {any} */ c) => c?.role === 'quasi-identifier'), 'F4.4', 'form.marginals')
    holds(d.versions === 'disjoint' && !d.exposure && !d.parts && !d.made_of, 'F4.4', 'marginals beside other versions, lines or parts')
  }
  if (d.form.method === 'redistributed') {
    holds(d.columns.filter((/** @type {any} */ c) => c.role === 'sensitive').length === 1, 'F1.3', 'not one sensitive column')
  }
}
