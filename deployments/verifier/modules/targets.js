/** Targets of `redistributed`: domain, trees and probabilities (F5.3 to F5.7). */
import { must } from './refusal.js'
import { columnsOf } from './forms.js'
import { compareTexts } from './text.js'
import { compareValues, textOf, typeOf } from './values.js'
import { fraction, gcd, multiply, ONE, ZERO } from './fractions.js'

/**
 * @typedef {object} Node
 * @property {number} low place in the domain of its lower end
 * @property {number} high
 * @property {bigint} weight
 * @property {Node[]} children
 * @property {import('./fractions.js').Fraction} p
 */

const AT = 'data/targets.parquet'

/** The values of a domain in their order (F5.4). @param {any} column @param {any[]} values @returns {any[]} */
export function domainOrder(column, values) {
  const t = typeOf(column)
  if ((t.kind !== 'text' && t.kind !== 'boolean') || !column.hierarchy) return [...values].sort((a, b) => compareValues(t, a, b))
  const h = column.hierarchy
  /** @type {(text: string) => string[]} the labels from below the root down to the leaf */
  let path
  if (Array.isArray(h)) {
    const rows = new Map(h.map((/** @type {string[]} */ row) => [row[0], [...row].reverse()]))
    for (const v of values) must(rows.has(textOf(t, v)), 'tables-disagree', 'F5.4', AT, 'a value that is no leaf')
    path = text => /** @type {string[]} */(rows.get(text))
  } else {
    path = text => [...h.prefixes].reverse().map((/** @type {number} */ m) => [...text].slice(0, m).join('') + '*'.repeat(Math.max(0, [...text].length - m))).concat(text)
  }
  const paths = new Map(values.map(v => [v, path(textOf(t, v))]))
  return [...values].sort((a, b) => {
    const x = /** @type {string[]} */(paths.get(a)), y = /** @type {string[]} */(paths.get(b))
    for (let i = 0; i < x.length && i < y.length; i++) { const c = compareTexts(x[i], y[i]); if (c) return c }
    return x.length - y.length
  })
}

export class Targets {
  /**
   * @param {any} d
   * @param {Map<string, import('./column.js').Table>} tables
   * @param {(name: string) => import('./order.js').Grouped} grouped
   */
  constructor(d, tables, grouped) {
    const column = columnsOf(d, 'sensitive')[0]
    const table = /** @type {import('./column.js').Table} */(tables.get('targets'))
    const lower = table.column('lower'), upper = table.column('upper')
    const t = typeOf(column)
    /** @type {any[]} */
    const all = []
    const seen = new Set()
    for (const c of [lower, upper]) for (const v of c.values) { const key = v === 0 ? 0 : v; if (!seen.has(key)) { seen.add(key); all.push(v) } }
    this.type = t
    this.column = column
    /** Values of the domain, in its order. */
    this.domain = domainOrder(column, all)
    const place = new Map(this.domain.map((v, i) => [v === 0 ? 0 : v, i]))
    this.placeOf = (/** @type {any} */ v) => place.get(v === 0 ? 0 : v)
    const byValue = [...all].sort((a, b) => compareValues(t, a, b))
    const rank = new Map(byValue.map((v, i) => [v === 0 ? 0 : v, i]))
    const rankOf = (/** @type {any} */ v) => /** @type {number} */(rank.get(v === 0 ? 0 : v))
    this.checkOrder(table, rankOf)
    /** @type {Node[][]} nodes of each target, the root first */
    this.nodes = this.readTrees(table)
    this.trees = this.nodes.map((nodes, i) => this.build(nodes, i))
    this.checkAims(tables, grouped)
  }

  /** F5.3. @param {import('./column.js').Table} table @param {(v: any) => number} rankOf */
  checkOrder(table, rankOf) {
    const target = table.column('target'), lower = table.column('lower'), upper = table.column('upper'), weight = table.column('weight')
    const n = target.rankCount - 1
    must(target.valueOfRank(1) === 0n && target.valueOfRank(n) === BigInt(n - 1), 'tables-disagree', 'F5.2', AT, 'targets are not 0 to T − 1')
    /** @type {[number, number, bigint][][]} */
    const contents = Array.from({ length: n }, () => [])
    for (let i = 0; i < table.length; i++) {
      const now = [rankOf(lower.at(i)), -rankOf(upper.at(i)), weight.at(i)]
      const number = Number(target.at(i))
      const list = contents[number], before = list[list.length - 1]
      must(i === 0 || target.at(i) >= target.at(i - 1), 'order-wrong', 'F5.3', AT, 'targets in another order')
      if (before) must(before[0] < now[0] || (before[0] === now[0] && before[1] <= now[1]), 'order-wrong', 'F5.3', AT, 'nodes in another order')
      list.push(/** @type {any} */(now))
    }
    for (let k = 1; k < n; k++) {
      const a = contents[k - 1].flat(), b = contents[k].flat()
      let c = 0
      for (let i = 0; i < a.length && i < b.length && !c; i++) c = a[i] < b[i] ? -1 : a[i] > b[i] ? 1 : 0
      must((c || a.length - b.length) < 0, 'order-wrong', 'F5.3', AT, 'targets are numbered in another order')
    }
  }

  /** @param {import('./column.js').Table} table @returns {Node[][]} */
  readTrees(table) {
    const target = table.column('target'), lower = table.column('lower'), upper = table.column('upper'), weight = table.column('weight')
    /** @type {Node[][]} */
    const out = []
    for (let i = 0; i < table.length; i++) {
      const list = out[Number(target.at(i))] ??= []
      list.push({ low: this.placeOf(lower.at(i)), high: this.placeOf(upper.at(i)), weight: weight.at(i), children: [], p: ZERO })
    }
    return out
  }

  /**
   * F5.5, F5.7: sets children and probabilities; returns nodes by their ends, and leaves in the order of the domain.
   * @param {Node[]} nodes
   * @param {number} number
   */
  build(nodes, number) {
    const wrong = (/** @type {unknown} */ ok, /** @type {string} */ detail) => must(ok, 'tables-disagree', 'F5.5', `${AT}, target ${number}`, detail)
    const size = this.domain.length
    for (const node of nodes) wrong(node.low <= node.high, 'lower is after upper')
    const root = nodes[0]
    wrong(root.low === 0 && root.high === size - 1 && root.weight === 1n, 'the first node is no root')
    const sorted = [...nodes].sort((a, b) => a.low - b.low || b.high - a.high)
    /** @type {Map<string, Node>} */
    const byEnds = new Map()
    /** @type {Node[]} */
    const leaves = [], open = []
    for (const node of sorted) {
      const key = `${node.low} ${node.high}`
      wrong(!byEnds.has(key), 'two equal nodes')
      byEnds.set(key, node)
      wrong(node.weight >= 0n, 'a weight below 0')
      while (open.length && open[open.length - 1].high < node.low) open.pop()
      const parent = open[open.length - 1]
      if (parent) {
        wrong(node.high <= parent.high, 'nodes that overlap')
        parent.children.push(node)
      } else wrong(node === root, 'a node outside the root')
      open.push(node)
      if (node.low === node.high) leaves.push(node)
    }
    wrong(leaves.length === size, 'not every value is a leaf')
    root.p = ONE
    for (const node of sorted) {
      if (!node.children.length) continue
      const sum = node.children.reduce((s, c) => s + c.weight, 0n)
      const divisor = node.children.reduce((g, c) => gcd(g, c.weight), 0n)
      wrong(divisor <= 1n, 'weights with a common divisor')
      must(sum > 0n || node.p.n === 0n, 'tables-disagree', 'F5.7', `${AT}, target ${number}`, 'no child with a weight')
      for (const child of node.children) child.p = child.weight === 0n ? ZERO : multiply(node.p, fraction(child.weight, sum))
    }
    return { byEnds, leaves }
  }

  /** F5.2, F5.6. @param {Map<string, import('./column.js').Table>} tables @param {(name: string) => import('./order.js').Grouped} grouped */
  checkAims(tables, grouped) {
    const aims = grouped('aims'), st = grouped('st')
    const target = aims.table.column('target')
    const groups = aims.start.length - 1
    this.ofGroup = Int32Array.from({ length: groups }, (_, g) => {
      const v = target.at(aims.rows[aims.start[g]])
      must(v >= 0n && v < BigInt(this.trees.length), 'tables-disagree', 'F5.2', 'data/aims.parquet', 'a target that is not there')
      return Number(v)
    })
    must(new Set(this.ofGroup).size === this.trees.length, 'tables-disagree', 'F5.2', 'data/aims.parquet', 'a target of no group')
    const lower = st.table.column('lower'), upper = st.table.column('upper')
    /** @type {{node: Node, count: bigint}[][]} rows of st by group */
    this.shown = []
    for (let g = 0; g < groups; g++) {
      const { byEnds } = this.trees[this.ofGroup[g]]
      /** @type {{node: Node, count: bigint}[]} */
      const list = []
      for (let i = st.start[g]; i < st.start[g + 1]; i++) {
        const row = st.rows[i]
        const node = byEnds.get(`${this.placeOf(lower.at(row))} ${this.placeOf(upper.at(row))}`)
        must(node, 'tables-disagree', 'F5.6', 'data/st.parquet', 'a row that is no node')
        list.push({ node: /** @type {Node} */(node), count: st.table.column('count').at(row) })
      }
      this.shown.push(list)
    }
  }

  /** T5. @param {any} a @param {any} b */
  compare(a, b) { return compareValues(this.type, a, b) }

  /** P of the leaves of a group's target, in the order of the domain. @param {number} g */
  leafShares(g) { return this.trees[/** @type {Int32Array} */(this.ofGroup)[g]].leaves.map(l => l.p) }
}
