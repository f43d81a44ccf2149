/** Values of each group in ascending order, for help tables (X4.2, X4.3). */
import { joined } from './grouping.js'

/**
 * @param {import('./relations.js').Release} release
 * @param {any} column the declared sensitive column
 * @param {number} groups
 * @returns {{columns: import('./column.js').Column[], of: (g: number) => {least: any[], greatest: any[]}}}
 */
export function combineGroups(release, column, groups) {
  const { d, tables } = release
  const table = (/** @type {string} */ name) => /** @type {import('./column.js').Table} */(tables.get(name))
  if (d.form.method === 'redistributed') {
    const targets = /** @type {import('./targets.js').Targets} */(release.targets)
    return {
      columns: [table('targets').column('lower'), table('targets').column('upper')],
      of: g => {
        const least = [], greatest = []
        for (const { node, count } of /** @type {any} */(targets.shown)[g]) {
          const run = targets.domain.slice(node.low, node.high + 1).sort((a, b) => targets.compare(a, b))
          for (let i = 0n; i < count; i++) { least.push(run[0]); greatest.push(run[run.length - 1]) }
        }
        return { least: least.sort((a, b) => targets.compare(a, b)), greatest: greatest.sort((a, b) => targets.compare(a, b)) }
      },
    }
  }
  const vacant = tables.get('vacant')
  const plan = d.form.method === 'split' ? release.plans.find(p => p.counts && p.fields.some(f => f.declared?.name === column.name)) : undefined
  const name = plan ? plan.name : d.form.method === 'apart' ? d.form.people : 'microdata'
  const main = table(name), values = vacant ? joined(main.column(column.name), vacant.column(column.name)) : main.column(column.name)
  const lists = /** @type {number[][]} */(Array.from({ length: groups }, () => []))
  const ids = main.column('group_id').numbers, ranks = values.ranks
  const counts = plan ? main.column('count').numbers : undefined
  for (let i = 0; i < main.length; i++) for (let k = counts ? counts[i] : 1; k > 0; k--) lists[ids[i]].push(ranks[i])
  if (vacant?.length) {
    const more = vacant.column('group_id').numbers
    for (let i = 0; i < vacant.length; i++) lists[more[i]].push(ranks[main.length + i])
  }
  return {
    columns: [values],
    of: g => {
      const sorted = lists[g].sort((a, b) => a - b).map(r => values.valueOfRank(r))
      return { least: sorted, greatest: sorted }
    },
  }
}
