/** Files of a release on disk, for Node. Links, devices and pipes are never opened (D1.1). */
import { lstat, readdir, open, stat, realpath } from 'node:fs/promises'
import { constants } from 'node:fs'
import path from 'node:path'
import { NotJudged, refuse } from './refusal.js'

/** @param {string} file @param {number} most @returns {Promise<Uint8Array>} */
async function readFile(file, most) {
  const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK | (constants.O_NOFOLLOW ?? 0))
  try {
    const info = await handle.stat()
    if (!info.isFile()) throw new Error('no regular file')
    if (info.size > most) throw new RangeError('larger than a verifier reads')
    const out = new Uint8Array(info.size)
    let at = 0
    while (at < out.length) {
      const { bytesRead } = await handle.read(out, at, out.length - at, at)
      if (!bytesRead) throw new Error('the file became shorter')
      at += bytesRead
    }
    return out
  } finally { await handle.close() }
}

/**
 * @param {string} directory
 * @returns {Promise<import('./release.js').Source>}
 */
export async function directorySource(directory) {
  if (!(await stat(directory)).isDirectory()) throw new Error('not a directory')
  // a release may be reached through a link (D1.3): its name and its line are those of the directory itself
  const root = await realpath(directory)
  const files = new Map(), /** @type {string[]} */ empty = []
  const walk = async (/** @type {string} */ folder, /** @type {string} */ prefix) => {
    const entries = await readdir(folder, { withFileTypes: true })
    if (!entries.length && prefix) empty.push(prefix.slice(0, -1))
    for (const entry of entries) {
      const name = prefix + entry.name
      const info = await lstat(path.join(folder, entry.name))
      if (info.isDirectory()) await walk(path.join(folder, entry.name), name + '/')
      else files.set(name, { kind: info.isFile() ? 'file' : 'other', size: info.size })
    }
  }
  await walk(root, '')
  const line = path.dirname(root)
  return {
    name: path.basename(root), files, empty,
    read: async (name, most) => {
      try { return await readFile(path.join(root, name), most) } catch (error) {
        if (error instanceof RangeError) {
          if (name === 'datapackage.json') return refuse('manifest-not-canonical', 'D1.5', name, 'too large')
          if (name === 'datapackage.json.sig') return refuse('signature-unreadable', 'D1.5', name, 'too large')
          throw new NotJudged('too-large', 'T4.6', name)
        }
        return refuse('unreadable', 'V1.3', name, 'cannot be read')
      }
    },
    beside: async (name, most) => {
      const file = path.join(line, name)
      try { await lstat(file) } catch (error) { return /** @type {any} */(error).code === 'ENOENT' ? undefined : null }
      try {
        // a link to a regular file may be read; one to nothing, a pipe or a device may not
        const info = await stat(file)
        return info.isFile() ? await readFile(await realpath(file), most) : null
      } catch { return null }
    },
  }
}
