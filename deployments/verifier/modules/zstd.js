/** Zstandard with the length that the page header states. */
import { decompress } from '../vendor/fzstd/index.js'

/** No page is larger than this. */
const LARGEST_PAGE = 1 << 30

/**
 * The content size that a frame header states, or undefined.
 * @param {Uint8Array} data
 */
function statedSize(data) {
  if (data.length < 6 || data[0] !== 0x28 || data[1] !== 0xb5 || data[2] !== 0x2f || data[3] !== 0xfd) throw new Error('no Zstandard frame')
  const flags = data[4], single = flags & 32, kind = flags >> 6
  const at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][flags & 3]
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (kind === 0) return single ? view.getUint8(at) : undefined
  if (kind === 1) return view.getUint16(at, true) + 256
  if (kind === 2) return view.getUint32(at, true)
  return Number(view.getBigUint64(at, true))
}

/**
 * @param {Uint8Array} data
 * @param {number} size
 * @returns {Uint8Array}
 */
export function unpack(data, size) {
  if (size === 0 && data.length === 0) return new Uint8Array(0)
  if (size > LARGEST_PAGE) throw new Error('a page that is too large')
  const stated = statedSize(data)
  if (stated !== undefined && stated !== size) throw new Error('another size than stated')
  const out = decompress(data)
  if (out.length !== size) throw new Error('another size than stated')
  return out
}
