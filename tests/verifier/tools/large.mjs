/** Makes a release of many rows and says how long its verification takes: node tools/large.mjs DIRECTORY [ROWS]. */
import { existsSync } from 'node:fs'
import path from 'node:path'
import { execFileSync } from 'node:child_process'
import { parquetFile, writeRelease } from './build.mjs'
import { verify } from '../../../deployments/verifier/modules/release.js'
import { directorySource } from '../../../deployments/verifier/modules/node-source.mjs'
import { INTEGER, type } from '../../../deployments/verifier/modules/values.js'

/** Compresses as writers do, if the command is there. @param {Buffer} body */
const compress = body => execFileSync('zstd', ['-q', '-c'], { input: body, maxBuffer: 1 << 30 })

const [directory, count = '1000000'] = process.argv.slice(2), rows = Number(count)
if (!existsSync(path.join(directory, 'datapackage.json'))) {
  let seed = 1
  const random = n => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff; return (seed >>> 8) % n }
  const list = Array.from({ length: rows }, () => [BigInt(17 + random(74)), `town ${String(random(300)).padStart(3, '0')}`, random(2) ? 'f' : 'm', BigInt(random(60)), BigInt(random(200000))])
  list.sort((a, b) => { for (let i = 0; i < 5; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1; return 0 })
  const columns = [0, 1, 2, 3, 4].map(i => list.map(r => r[i]))
  columns.push(list.map((_, i) => BigInt(Math.min(Math.floor(i / 4), Math.floor(rows / 4) - 1))))
  const promise = { model: 'l-diversity', 'quasi-identifiers': ['age', 'town', 'sex'], sensitive: 'wage' }
  writeRelease(directory, {
    name: 'large', title: 'A large table', unit: 'row', versions: 'disjoint', strata: [], partition: { method: 'mondrian', mode: 'strict' },
    columns: [['age', 'quasi-identifier', 'integer'], ['town', 'quasi-identifier', 'string'], ['sex', 'quasi-identifier', 'string'], ['hours', 'insensitive', 'integer'], ['wage', 'sensitive', 'decimal']]
      .map(([name, role, t]) => ({ name, role, type: t, nulls: false, ...(t === 'decimal' ? { scale: 2 } : {}) })),
    promises: [{ ...promise, variant: 'distinct', l: 1 }, { ...promise, variant: 'entropy', l: 1 }, { ...promise, variant: 'recursive', l: 1, c: 3 },
      { model: 't-closeness', 'quasi-identifiers': ['age'], sensitive: 'wage', t: 1, distance: 'equal' }, { model: 't-closeness', 'quasi-identifiers': ['age'], sensitive: 'wage', t: 1, distance: 'ordered' },
      { model: 'beta-likeness', 'quasi-identifiers': ['age'], sensitive: 'wage', beta: 10000000, variant: 'basic' },
      { model: 'ke-anonymity', 'quasi-identifiers': ['age'], sensitive: 'wage', k: 1, e: 0 }],
    form: { method: 'permuted', sensitive: 'independent' }, formats: ['parquet', 'csv'],
    rows: { read: rows, dropped_by_filter: 0, dropped_for_nulls: 0, dropped_as_repeats: 0, suppressed: 0, published: rows, fakes: 0 },
    software: { 'sfumato-page': '9' },
  }, { microdata: columns }, {
    dictionary: true, compress, rowsInPage: 100000,
    help: () => {
      const out = [[], [], [], [], [], [], [], []]
      for (let i = 0; i < rows;) {
        const g = columns[5][i], wages = []
        while (i < rows && columns[5][i] === g) wages.push(columns[4][i++])
        wages.sort((a, b) => a < b ? -1 : 1)
        let low = 0n, high = 0n
        wages.forEach((w, h) => {
          low += w
          high += wages[wages.length - 1 - h]
          ;[g, BigInt(h + 1), low, high, wages[0], wages[wages.length - 1 - h], w, wages[wages.length - 1]].forEach((v, c) => out[c].push(v))
        })
      }
      const d2 = type('decimal', 2)
      return parquetFile(['group_id', 'hits', 'l_sum', 'u_sum', 'l_min', 'u_min', 'l_max', 'u_max'].map((name, i) => ({ name, type: i < 2 ? INTEGER : d2, nullable: false })), out, { compress, rowsInPage: 100000 })
    },
  })
  console.log('written; run again to verify')
  process.exit(0)
}
const start = performance.now()
let last = start
const report = await verify(await directorySource(directory), { progress: step => { const now = performance.now(); console.log(`${((now - last) / 1000).toFixed(1)} s, then ${step}`); last = now } })
console.log(report.verdict, report.reasons, `${((performance.now() - start) / 1000).toFixed(1)} s`, `${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB at most`)
