/** Runs all examples and the corpus; prints disagreements. Not a test file: see examples.test.mjs. */
import { readdirSync, readFileSync, existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { verify } from '../../../deployments/verifier/modules/release.js'
import { directorySource } from '../../../deployments/verifier/modules/node-source.mjs'

/** @param {string} root */
export function releasesBelow(root) {
  /** @type {string[]} */
  const out = []
  const walk = (/** @type {string} */ d) => {
    if (existsSync(path.join(d, 'datapackage.json'))) out.push(d)
    for (const e of readdirSync(d)) if (statSync(path.join(d, e)).isDirectory()) walk(path.join(d, e))
  }
  walk(root)
  return out.sort()
}

if (process.argv[1]?.endsWith('all.mjs')) {
  const [examples, corpus] = process.argv.slice(2)
  const expected = JSON.parse(readFileSync(path.join(examples, 'expected.json'), 'utf8'))
  let good = 0, all = 0
  for (const [name, want] of Object.entries(expected)) {
    all++
    try {
      const r = await verify(await directorySource(path.join(examples, name)))
      const ok = r.verdict === want.verdict && (want.digest === undefined || r.digest === want.digest) && (!want.reasons || r.reasons.every(x => want.reasons.includes(x.reason)))
      if (ok) good++
      else console.log(name, JSON.stringify(want.reasons ?? want.verdict), '->', r.verdict, JSON.stringify(r.reasons))
    } catch (e) { console.log(name, 'FAULT', e) }
  }
  console.log(`examples ${good} of ${all}`)
  good = all = 0
  for (const dir of corpus ? releasesBelow(corpus) : []) {
    all++
    try {
      const r = await verify(await directorySource(dir))
      if (r.verdict === 'valid') good++
      else console.log(dir, r.verdict, JSON.stringify(r.reasons))
    } catch (e) { console.log(dir, 'FAULT', e) }
  }
  console.log(`corpus ${good} of ${all}`)
}
