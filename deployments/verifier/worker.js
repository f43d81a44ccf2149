/** Verifies in a worker, so that the page stays usable. */
import { verify } from './modules/release.js'
import { httpSource, pickedSource } from './modules/browser-source.js'
import { Refusal } from './modules/refusal.js'

self.addEventListener('message', async ({ data }) => {
  try {
    const source = data.address === undefined ? pickedSource(data.files, data.folder, data.chosen) : await httpSource(data.address)
    const report = await verify(source, { keys: data.keys, digest: data.digest, progress: step => self.postMessage({ step }) })
    self.postMessage({ report })
  } catch (error) {
    if (error instanceof Refusal) self.postMessage({ fault: error.message })
    else self.postMessage({ fault: error instanceof Error ? error.message : String(error) })
  }
})
