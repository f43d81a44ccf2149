/** The policy of a release: rules that a machine decides, by the declaration and by published texts (PO). */
import { must } from './refusal.js'
import { compare, divide, exact, fraction, fromDecimal, observedNumber, written } from './fractions.js'
import { sameJson } from './canonical-json.js'
import { publishedColumns } from './statements.js'
import { editions } from './policies.js'

const FILE = 'datapackage.json'
const SIZES = ['k-anonymity', 'k-map']
const YEAR = '(?:1[89]|2[01])[0-9]{2}'
const YEARS = new RegExp(`^(?:${YEAR}|(?:1[89]|2[01])[0-9]\\*|(?:1[89]|2[01])\\*\\*|[12]\\*\\*\\*|${YEAR}-${YEAR}|\\[${YEAR}, ${YEAR}\\]|\\{${YEAR}(?:, ${YEAR})*\\})(?: or null)?$`, 'u')
const NUMBER = '(?:0|[1-9][0-9]*)'
const NUMBERS = new RegExp(`^(?:(${NUMBER})|(${NUMBER})-${NUMBER}|\\[(${NUMBER}), ${NUMBER}\\]|\\{(${NUMBER}(?:, ${NUMBER})*)\\})$`, 'u')
const KIND = /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/
const OR_NULL = ' or null'

/** @param {unknown} ok @param {string} rule @param {string} detail */
const keeps = (ok, rule, detail) => must(ok, 'policy-broken', rule, FILE, detail)
/** @param {string} text */
const withoutNull = text => text.endsWith(OR_NULL) ? text.slice(0, -OR_NULL.length) : text
/** A threshold of a coding that is written as a value; undefined for a share. @param {any} value */
const threshold = value => typeof value === 'string' ? fromDecimal(value) : undefined
/** @param {any} c */
const byFile = c => Array.isArray(c.hierarchy)

/** PO1: what the schema cannot say. @param {any} d */
export function checkPolicyShape(d) {
  if (!d.policy) return
  const names = d.policy.rules.map((/** @type {any} */ r) => r.rule)
  must(new Set(names).size === names.length, 'manifest-schema', 'PO1.2', FILE, 'a rule twice')
  must(names.includes('columns') || !Object.keys(d.policy.columns).length, 'manifest-schema', 'PO1.3', FILE, 'kinds without a rule')
  for (const rule of d.policy.rules) {
    for (const name of Object.keys(rule.kinds ?? {})) must(KIND.test(name), 'manifest-schema', 'PO1.4', FILE, 'a kind with another name')
  }
}

/** PO1.5: the rules are those of the file, if the file is known here. @param {any} d */
export function checkEdition(d) {
  const known = d.policy && /** @type {any} */(editions)[d.policy.sha256]
  if (!known) return
  for (const key of ['name', 'date', 'rules']) must(sameJson(d.policy[key], known[key]), 'statement-wrong', 'PO1.5', FILE, `policy, ${key}`)
}

/** PO2: the promise with the largest k over all quasi-identifiers, by its place. @param {any} d @returns {number} */
function largest(d) {
  const all = d.columns.filter((/** @type {any} */ c) => c.role === 'quasi-identifier').map((/** @type {any} */ c) => c.name).sort()
  let best = -1
  d.promises.forEach((/** @type {any} */ p, /** @type {number} */ i) => {
    const names = [...new Set(p['quasi-identifiers'])].sort()
    if (SIZES.includes(p.model) && sameJson(names, all) && (best < 0 || p.k > d.promises[best].k)) best = i
  })
  return best
}

/** PO2. @param {any} d @param {(k: any) => boolean} isEnough @param {string} rule */
function sizeOf(d, isEnough, rule) {
  const place = largest(d)
  keeps(place >= 0, rule, 'no promise of a size of groups')
  keeps(isEnough(fraction(BigInt(d.promises[place].k))), rule, 'too small a k is promised')
  const k = observedNumber(d.observed[place].observed.k)
  keeps(k && isEnough(k), rule, 'a group is too small')
  return /** @type {import('./fractions.js').Fraction} */(k)
}

/** PO4: a share as the decimal number that it is written as. @param {number} share */
const decimal = share => /** @type {any} */(fromDecimal(String(share)))

/**
 * PO5.2: the first fault of a column's declaration, or undefined.
 * @param {any} c
 * @param {any} kind
 * @param {any} policy
 * @returns {string | undefined}
 */
function faultOfColumn(c, kind, policy) {
  switch (kind.shown) {
    case 'any': return undefined
    case 'years': return faultOfYears(c)
    case 'births': {
      if (c.type !== 'integer' || policy.year === undefined) return 'not a whole number, or no year'
      const bottom = threshold(c.bottom)
      if (!bottom || compare(bottom, fraction(BigInt(policy.year - kind['at-most'] - 1))) < 0) return 'no bottom'
      return faultOfYears(c)
    }
    case 'ages': {
      const top = threshold(c.top)
      if (c.type !== 'integer' || byFile(c)) return 'not a whole number, or labels from a file'
      return !top || compare(top, fraction(BigInt(kind['at-most'] + 1))) > 0 ? 'no top' : undefined
    }
    case 'areas':
      return c.type !== 'string' || byFile(c) || c.prefix === undefined || c.prefix > kind.digits ? 'more than the first digits' : undefined
    default: return 'published'
  }
}

/** @param {any} c @returns {string | undefined} */
function faultOfYears(c) {
  if (byFile(c)) return 'labels from a file'
  if (c.type === 'string') return c.prefix === undefined || c.prefix > 4 ? 'no prefix' : undefined
  return c.type === 'integer' ? undefined : 'neither a text nor a whole number'
}

/**
 * PO5.3: whether a text, which is no star, is one that the kind allows.
 * @param {string} text
 * @param {any} kind
 * @param {any} policy
 */
function fits(text, kind, policy) {
  if (kind.shown === 'years') return YEARS.test(text)
  if (kind.shown === 'births') {
    if (!YEARS.test(text)) return false
    const numbers = (text.match(new RegExp(YEAR, 'gu')) ?? []).map(Number)
    return (text.startsWith('{') ? numbers : numbers.slice(-1)).every(n => n >= policy.year - kind['at-most'] - 1)
  }
  if (kind.shown === 'ages') {
    const found = NUMBERS.exec(withoutNull(text))
    if (!found) return false
    const low = found[1] ?? found[2] ?? found[3]
    return (low === undefined ? found[4].split(', ') : [low]).every(n => BigInt(n) <= BigInt(kind['at-most'] + 1))
  }
  if (kind.shown === 'areas') {
    const body = withoutNull(text), inside = body.startsWith('{') && body.endsWith('}')
    const code = new RegExp(`^(?:[0-9]{${kind.digits}}|[0-9]{0,${kind.digits - 1}}\\*+)$`, 'u')
    return (inside ? body.slice(1, -1).split(', ') : [body]).every(m => code.test(m) && !kind.small.includes(m))
  }
  return kind.shown === 'any'
}

/** PO5. @param {any} d @param {any} rule @param {Map<string, import('./column.js').Table> | undefined} tables */
function checkColumns(d, rule, tables) {
  const policy = d.policy, names = new Set(d.columns.map((/** @type {any} */ c) => c.name))
  for (const name of Object.keys(policy.columns)) keeps(names.has(name), 'PO5.1', 'a kind of no column')
  for (const c of d.columns) {
    keeps(Object.hasOwn(policy.columns, c.name), 'PO5.1', `no kind of ${c.name}`)
    const kind = Object.hasOwn(rule.kinds, policy.columns[c.name]) ? rule.kinds[policy.columns[c.name]] : undefined
    keeps(kind, 'PO5.1', `an unknown kind of ${c.name}`)
    const fault = faultOfColumn(c, kind, policy)
    keeps(!fault, 'PO5.2', `${c.name}: ${fault}`)
    if (!tables) continue
    for (const column of publishedColumns([tables], c)) {
      for (const text of column.texts) keeps(text === null || text === '*' || fits(text, kind, policy), 'PO5.3', `a text of ${c.name}`)
    }
  }
}

/** @type {Record<string, (d: any, rule: any, tables: Map<string, import('./column.js').Table> | undefined) => any>} what was observed, by the kind of rule */
const RULES = {
  'highest-risk': (d, rule) => {
    const most = /** @type {any} */(exact(rule['at-most'])), one = fraction(1n)
    const k = sizeOf(d, n => compare(divide(one, n), most) <= 0, 'PO2.1')
    return { k: written(k), risk: written(divide(one, k)) }
  },
  'group-size': (d, rule) => ({ k: written(sizeOf(d, n => compare(n, fraction(BigInt(rule['at-least']))) >= 0, 'PO2.2')) }),
  forms: (d, rule) => { keeps(rule.allowed.includes(d.form.method), 'PO3.1', `form ${d.form.method}`); return null },
  versions: (d, rule) => {
    keeps(rule.allowed.includes(typeof d.versions === 'string' ? d.versions : d.versions.rule), 'PO3.2', 'the rule of versions')
    return null
  },
  'attack-bars': (d, rule) => {
    const limited = new Set((d.bars?.bars ?? []).map((/** @type {any} */ b) => b.attack))
    keeps(!d.parts && !d.made_of, 'PO4.1', 'in parts')
    for (const attack of rule.attacks) keeps(limited.has(attack), 'PO4.1', `no limit on ${attack}`)
    return null
  },
  'register-risk': (d, rule) => {
    const bars = (d.bars?.bars ?? []).filter((/** @type {any} */ b) => b.attack === 'linkage'), most = /** @type {any} */(exact(rule['at-most']))
    const kept = (/** @type {any} */ b) => b.limit === 'max-share-above' && b.belief !== undefined && b.most === 0 && compare(decimal(b.belief), most) <= 0
    keeps(!bars.length || bars.some(kept), 'PO4.2', 'a limit on linkage')
    return null
  },
  columns: (d, rule, tables) => { checkColumns(d, rule, tables); return tables ? 0 : null },
}

/**
 * Decides every rule of a release's policy.
 * @param {any} d
 * @param {Map<string, import('./column.js').Table> | undefined} tables none for the whole of a release in parts
 * @returns {any[]} the entries of validation.json, in order
 */
export function checkPolicy(d, tables) {
  return (d.policy?.rules ?? []).map((/** @type {any} */ rule) => ({
    table: 'policy', expectation: `expect_${rule.rule.replaceAll('-', '_')}`, parameters: rule, passed: true, observed: RULES[rule.rule](d, rule, tables),
  }))
}
