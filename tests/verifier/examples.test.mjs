import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { execFileSync, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { verify } from '../../deployments/verifier/modules/release.js'
import { directorySource } from '../../deployments/verifier/modules/node-source.mjs'
import { REASONS } from '../../deployments/verifier/modules/refusal.js'
import { releasesBelow } from './tools/all.mjs'

const top = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..')
const here = path.join(top, 'deployments/verifier')
const archive = path.join(top, 'deployments/guide/pages/reference/release-format/examples.tar.gz')
const corpus = process.env.CORPUS ?? ''

test('examples of the specification', { skip: existsSync(archive) ? false : 'no examples.tar.gz' }, async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'examples-'))
  try {
    execFileSync('tar', ['xzf', archive, '-C', folder])
    const expected = JSON.parse(readFileSync(path.join(folder, 'expected.json'), 'utf8'))
    for (const [name, want] of Object.entries(expected)) {
      await t.test(name, async () => {
        const report = await verify(await directorySource(path.join(folder, name)))
        assert.equal(report.verdict, want.verdict, JSON.stringify(report.reasons))
        if (want.digest) assert.equal(report.digest, want.digest)
        if (want.verdict !== 'valid') {
          assert.ok(report.reasons.length)
          for (const { reason } of report.reasons) assert.ok(want.reasons.includes(reason) && REASONS.has(reason), reason)
        }
      })
    }
    await t.test('exit codes', () => {
      const code = (...args) => spawnSync(process.execPath, [path.join(here, 'verify.mjs'), ...args]).status
      assert.equal(code(path.join(folder, 'valid/permuted')), 0)
      assert.equal(code(path.join(folder, 'refused/10-k')), 3)
      assert.equal(code(path.join(folder, 'refused/25-newer')), 2)
      assert.equal(code(folder), 2)
      assert.equal(code(), 2)
      assert.equal(code(path.join(folder, 'valid/permuted'), '--digest', '0'.repeat(64)), 3)
    })
  } finally { rmSync(folder, { recursive: true }) }
})

test('published lines', { skip: existsSync(corpus) ? false : 'no corpus' }, async t => {
  for (const folder of releasesBelow(corpus)) {
    await t.test(path.relative(corpus, folder), async () => {
      const report = await verify(await directorySource(folder))
      assert.equal(report.verdict, 'valid', JSON.stringify(report.reasons))
    })
  }
})
