/**
 * Verifies releases one after the other: `node answers.mjs RELEASE_DIRECTORY …`. Prints a line of JSON for each, with the
 * verdict, the names of the reasons, and where they are. A fault of the verifier is a verdict of its own.
 */
import { verify } from '../../../deployments/verifier/modules/release.js'
import { directorySource } from '../../../deployments/verifier/modules/node-source.mjs'

for (const directory of process.argv.slice(2)) {
  let answer
  try {
    const { verdict, reasons } = await verify(await directorySource(directory))
    answer = { verdict, reasons: reasons.map(r => r.reason), details: reasons.map(r => `${r.rule} ${r.where} ${r.detail}`) }
  } catch (fault) {
    answer = { verdict: 'failed', details: [String(fault)] }
  }
  console.log(JSON.stringify(answer))
}
