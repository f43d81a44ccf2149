/** People beside the rows of a second table that belong to their groups (F10, P19 to P21). */
import { must } from './refusal.js'
import { compare, exact, fraction, largest, ZERO } from './fractions.js'
import { countValues } from './grouping.js'

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
  must(d.related_rows.published === grouped(d.form.related).table.length, 'counts-contradict', 'M4.9', 'datapackage.json', 'related_rows.published')
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
  if (promise.model === 'people') {
    const k = Math.min(...people)
    return { ...verdict, kept: k >= promise.k, observed: { k: fraction(k) } }
  }
  const { most: c, different } = commonest(release, promise.sensitive)
  if (promise.model === 'related-alpha') {
    const alpha = c.map((n, g) => fraction(Math.min(n, people[g]), people[g])).reduce(largest, ZERO)
    return { ...verdict, kept: compare(alpha, /** @type {any} */(exact(promise.alpha))) <= 0, observed: { alpha } }
  }
  let l = Infinity
  for (let g = 0; g < groups; g++) {
    if (!rows[g]) continue
    const least = promise.numbers === 'known' ? most[g] : Math.max(0, rows[g] - (people[g] - 1) * most[g])
    l = Math.min(l, c[g] + least > rows[g] ? 1 : different[g])
  }
  return { ...verdict, kept: l >= promise.l, observed: l === Infinity ? {} : { l: fraction(l) } }
}
