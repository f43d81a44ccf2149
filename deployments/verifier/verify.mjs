#!/usr/bin/env node
/** Verifies a release: `node verify.mjs RELEASE_DIRECTORY [--keys FILE …] [--digest DIGEST] [--head FILE …] [--json]`. */
import { readFile } from 'node:fs/promises'
import { verify } from './modules/release.js'
import { directorySource } from './modules/node-source.mjs'
import { hasCrypto } from './modules/digests.js'
import { describe } from './modules/words.js'
import { readKeyList } from './modules/key-list.js'
import { OtherLine, readHead } from './modules/log.js'

const USAGE = `Usage: node verify.mjs RELEASE_DIRECTORY [--keys FILE …] [--digest DIGEST] [--head FILE …] [--json]

  --keys FILE      public keys that you trust for the line: lines of 64 hexadecimal digits, or JSON with "public"
  --digest DIGEST  the digest that was announced to you
  --head FILE      an earlier head of the line's log, or another reader's (sfumato check LINE --write-head FILE)
  --json           the verdict as JSON

Exit codes: 0 valid, 3 refused, 2 wrong usage, not a release or not judged, 1 a fault.`

/** @param {string} message */
function wrongUsage(message) {
  console.error(message + '\n\n' + USAGE)
  process.exit(2)
}

const args = process.argv.slice(2), keyFiles = [], headFiles = [], directories = []
let json = false, /** @type {string | undefined} */ digest
for (let i = 0; i < args.length; i++) {
  if (args[i] === '--json') json = true
  else if (args[i] === '--help') { console.log(USAGE); process.exit(0) }
  else if (args[i] === '--digest') digest = args[++i] ?? wrongUsage('--digest needs a digest.')
  else if (args[i] === '--head') headFiles.push(args[++i] ?? wrongUsage('--head needs a file.'))
  else if (args[i] === '--keys') {
    if (i + 1 >= args.length) wrongUsage('--keys needs a file.')
    while (i + 1 < args.length && !args[i + 1].startsWith('--')) keyFiles.push(args[++i])
    // the directory may stand behind the files
    if (!directories.length && keyFiles.length > 1 && i + 1 === args.length) directories.push(/** @type {string} */(keyFiles.pop()))
  } else if (args[i].startsWith('--')) wrongUsage(`There is no option ${args[i]}.`)
  else directories.push(args[i])
}
if (directories.length !== 1) wrongUsage('Name one directory.')
if (digest !== undefined && !/^[0-9a-f]{64}$/.test(digest)) wrongUsage('A digest has 64 hexadecimal digits.')
if (!hasCrypto()) { console.error('This Node has no WebCrypto: nothing can be verified.'); process.exit(1) }

const keys = []
for (const file of keyFiles) {
  try { keys.push(...readKeyList(await readFile(file, 'utf8'))) } catch { wrongUsage(`${file} has no public keys that can be read.`) }
}

const heads = []
for (const file of headFiles) {
  try { heads.push(readHead(await readFile(/** @type {string} */(file)))) } catch { wrongUsage(`${file} has no head that can be read.`) }
}

/** @type {import('./modules/release.js').Source} */
let source
try { source = await directorySource(directories[0]) } catch (error) {
  console.error(`${directories[0]} cannot be read as a directory.`)
  process.exit(2)
}
try {
  const report = await verify(source, { keys, digest, heads, progress: process.env.VERIFIER_STEPS ? s => console.error(`${(performance.now() / 1000).toFixed(1)} s  ${s}`) : undefined })
  console.log(json ? JSON.stringify(report, null, 2) : describe(report).join('\n'))
  const code = report.verdict === 'valid' ? 0 : report.verdict === 'not judged' || report.reasons.some(r => r.reason === 'not-a-release') ? 2 : 3
  process.exitCode = code
} catch (error) {
  if (error instanceof OtherLine) wrongUsage('--head is a head of another line.')
  console.error('A fault of the verifier or the machine:', error)
  process.exitCode = 1
}
