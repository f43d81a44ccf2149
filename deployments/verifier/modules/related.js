/** People beside the rows of a second table that belong to their groups (F10, P19 to P21). */
import { must } from './refusal.js'
import { compare, exact, fraction, largest, ZERO } from './fractions.js'
import { countValues } from './grouping.js'

/** Whether a promise is about people and their related rows. @param {any} promise */
export const aboutRelated = promise => ['people', 'related-l-diversity', 'related-alpha'].includes(promise.model)

/** The SQL of a fact without spaces, in small letters (F10.5). @param {any} column */
const textOf = column => (column.derive ?? '').replace(/\s/g, '').toLowerCase()
const CODINGS = ['shift', 'bottom', 'top', 'round', 'prefix', 'fold', 'unite']
const uncoded = (/** @type {any} */ c) => CODINGS.every(key => c[key] === undefined)
const isNumber = (/** @type {any} */ c) => textOf(c) === 'count(*)' && c.type === 'integer' && uncoded(c)
/** The number of rows of each person, beside the person (F10.6). @param {any} c */
const isPublished = c => c.role === 'insensitive' && isNumber(c)
const isPresence = (/** @type {any} */ c) => ['count(*)>0', 'count(*)>=1', 'count(*)<>0', 'count(*)!=0'].includes(textOf(c)) && c.type === 'boolean' && uncoded(c)

/** The names in the SQL of a fact, in small letters: not those of functions, nor within texts (F10.4). @param {string} sql */
function namesIn(sql) {
  const names = /'(?:[^']|'')*'|"((?:[^"]|"")*)"|([A-Za-z_\u{80}-\u{10ffff}][A-Za-z0-9_$\u{80}-\u{10ffff}]*)(?!\s*\(|[A-Za-z0-9_$\u{80}-\u{10ffff}])/gu
  return Array.from(sql.matchAll(names), m => (m[1]?.replaceAll('""', '"') ?? m[2] ?? '').toLowerCase())
}

/** F10.4, P20.4: facts, and what promises say of them. @param {any} d */
export function checkFacts(d) {
  const facts = d.columns.filter((/** @type {any} */ c) => c.derive !== undefined), apart = d.form.method === 'apart'
  for (const c of d.columns) {
    const where = `column ${c.name}`, related = apart && d.form.columns.includes(c.name)
    if (c.derive !== undefined) must(apart && !related && (isPublished(c) || (c.role === 'sensitive' && ['boolean', 'integer', 'decimal'].includes(c.type))), 'statement-wrong', 'F10.4', where, 'no fact of people')
    else must(!apart || related || c.role !== 'sensitive', 'statement-wrong', 'F10.4', where, 'a sensitive column of people that is no fact')
  }
  if (facts.some(isPublished)) besidePublished(d, facts)
  const plain = facts.every((/** @type {any} */ c) => isNumber(c) || isPresence(c))
  const told = !facts.length ? 'none' : !plain ? 'any' : facts.some(isNumber) ? 'numbers' : 'presence'
  const shown = new Set(apart ? d.form.columns.map((/** @type {string} */ n) => n.toLowerCase()) : [])
  const telling = facts.some((/** @type {any} */ c) => namesIn(c.derive).some(n => shown.has(n)))
  d.promises.forEach((/** @type {any} */ p, /** @type {number} */ i) => {
    const where = `promise ${i + 1}, ${p.model}`
    if (p.model === 'related-l-diversity' && p.numbers === 'hidden') must((p.facts ?? 'none') === told, 'promise-scope', 'P20.4', where, 'facts')
    else must(p.facts === undefined, 'promise-scope', 'P20.4', where, 'facts')
    if (aboutRelated(p) && p.numbers === 'known') must(!telling, 'promise-scope', 'P20.4', where, 'numbers known beside facts of published columns')
  })
}

/** F10.6: what published numbers of rows do not go with. @param {any} d @param {any[]} facts */
function besidePublished(d, facts) {
  const shuffled = facts.find(c => c.role === 'sensitive')
  must(shuffled === undefined, 'statement-wrong', 'F10.6', `column ${shuffled?.name}`, 'a fact beside published numbers of rows')
  d.promises.forEach((/** @type {any} */ p, /** @type {number} */ i) => {
    must(p.model !== 'related-alpha' && p.numbers !== 'hidden', 'promise-scope', 'F10.6', `promise ${i + 1}, ${p.model}`, 'numbers of rows are published')
  })
}

/** @param {import('./order.js').Grouped} grouped @param {string} name one number for each group @returns {number[]} */
function numbersOf(grouped, name) {
  const c = grouped.table.column(name)
  return Array.from({ length: grouped.table.length }, (_, i) => Number(c.at(i)))
}

/**
 * F10: the numbers of groups are those of the tables, and possible.
 * @param {any} d
 * @param {(name: string) => import('./order.js').Grouped} grouped
 * @param {number} groups
 */
export function checkRelated(d, grouped, groups) {
  const counts = grouped('group_counts'), at = 'data/group_counts.parquet'
  const holds = (/** @type {unknown} */ ok, /** @type {string} */ detail) => must(ok, 'tables-disagree', 'F10.2', at, detail)
  holds(counts.table.length === groups, 'other groups than the people')
  const people = numbersOf(counts, 'people'), rows = numbersOf(counts, 'related_rows'), most = numbersOf(counts, 'most_rows')
  const ids = counts.table.column('group_id')
  for (let g = 0; g < groups; g++) {
    holds(Number(ids.at(g)) === g, 'group_id is not 0, 1, …')
    holds(people[g] === grouped(d.form.people).size(g), 'people')
    holds(rows[g] === grouped(d.form.related).size(g), 'related_rows')
    holds(most[g] <= rows[g] && most[g] * people[g] >= rows[g], 'most_rows')
    must(d.form.cap === undefined || most[g] <= d.form.cap, 'tables-disagree', 'F10.3', at, 'most_rows above form.cap')
  }
  numbersOfFacts(d, grouped(d.form.people), rows, most)
  must(d.related_rows.published === grouped(d.form.related).table.length, 'counts-contradict', 'M4.9', 'datapackage.json', 'related_rows.published')
}

/**
 * F10.5: the rows that everybody of each group has, at least, and the people who have rows, at most,
 * by the facts about numbers of rows; without such facts 0, and everybody.
 * @param {any} d
 * @param {import('./order.js').Grouped} people
 * @param {number[]} rows
 * @param {number[]} most
 * @returns {{ fewest: number[], having: number[] }}
 */
function numbersOfFacts(d, people, rows, most) {
  const fewest = rows.map(() => 0), having = rows.map((_, g) => people.size(g)), at = 'data/group_counts.parquet'
  for (const c of d.columns) {
    if (!isNumber(c) && !isPresence(c)) continue
    const column = people.table.column(c.name), ids = people.table.column('group_id').numbers
    const low = rows.map(() => 0), high = rows.map(() => 0), top = rows.map(() => 0), least = rows.map(() => Infinity), some = rows.map(() => 0)
    for (let i = 0; i < people.table.length; i++) {
      const g = ids[i], value = column.at(i)
      must(value !== null && value !== undefined && Number(value) >= 0, 'tables-disagree', 'F10.5', `column ${c.name}`, 'no number of rows')
      const n = Number(value), up = isPresence(c) ? n * most[g] : n
      low[g] += n
      high[g] += up
      top[g] = Math.max(top[g], up)
      least[g] = Math.min(least[g], n)
      if (up > 0) some[g]++
    }
    rows.forEach((s, g) => {
      must(low[g] <= s && s <= high[g] && top[g] === most[g], 'tables-disagree', 'F10.5', at, `the facts ${c.name}`)
      fewest[g] = Math.max(fewest[g], least[g])
      having[g] = Math.min(having[g], some[g])
    })
  }
  return { fewest, having }
}

/**
 * The most frequent value of each group, and how many different values it has.
 * @param {import('./relations.js').Release} release
 * @param {string} name
 */
function commonest(release, name) {
  const table = /** @type {import('./column.js').Table} */(release.tables.get(release.d.form.related))
  const groups = /** @type {number} */(release.groups)
  const ids = Int32Array.from(table.column('group_id').numbers)
  const c = countValues(ids, groups, table.column(name), undefined)
  const most = new Array(groups).fill(0), different = new Array(groups).fill(0)
  for (let g = 0; g < groups; g++) {
    different[g] = c.start[g + 1] - c.start[g]
    for (let i = c.start[g]; i < c.start[g + 1]; i++) most[g] = Math.max(most[g], c.counts[i])
  }
  return { most, different }
}

/**
 * P19 to P21.
 * @param {import('./relations.js').Release} release
 * @param {any} promise
 * @returns {import('./promises.js').Judgement}
 */
export function judgeRelated(release, promise) {
  const counts = /** @type {import('./order.js').Grouped} */(release.grouped.get('group_counts'))
  const people = numbersOf(counts, 'people'), rows = numbersOf(counts, 'related_rows'), most = numbersOf(counts, 'most_rows')
  const groups = people.length, verdict = { groups, kept: true, observed: {} }
  const ofFacts = () => numbersOfFacts(release.d, /** @type {import('./order.js').Grouped} */(release.grouped.get(release.d.form.people)), rows, most)
  if (promise.model === 'people') {
    const having = promise.numbers === 'known' ? ofFacts().having : people
    const k = people.reduce((least, n, g) => Math.min(least, rows[g] ? having[g] : n), Infinity)
    return { ...verdict, kept: k >= promise.k, observed: { k: fraction(k) } }
  }
  const { most: c, different } = commonest(release, promise.sensitive)
  if (promise.model === 'related-alpha') {
    const alpha = c.map((n, g) => fraction(Math.min(n, people[g]), people[g])).reduce(largest, ZERO)
    return { ...verdict, kept: compare(alpha, /** @type {any} */(exact(promise.alpha))) <= 0, observed: { alpha } }
  }
  const fewest = promise.facts ? ofFacts().fewest : []
  let l = Infinity
  for (let g = 0; g < groups; g++) {
    if (!rows[g]) continue
    const least = promise.numbers === 'known' ? most[g] : Math.max(fewest[g] ?? 0, rows[g] - (people[g] - 1) * most[g])
    l = Math.min(l, c[g] + least > rows[g] ? 1 : different[g])
  }
  return { ...verdict, kept: l >= promise.l, observed: l === Infinity ? {} : { l: fraction(l) } }
}
