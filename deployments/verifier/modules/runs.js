/** The hybrid of runs and packed bits that Parquet has for levels, dictionary indices and booleans. */

/**
 * Reads exactly `count` numbers; throws if there are fewer.
 * @param {Uint8Array} data
 * @param {number} width bits of a number, 0 to 32
 * @param {number} count
 * @returns {Uint32Array}
 */
export function readRuns(data, width, count) {
  const out = new Uint32Array(count)
  let at = 0, filled = 0
  const bytesOfRun = (width + 7) >> 3
  while (filled < count) {
    let header = 0, shift = 0
    for (;;) {
      if (at >= data.length || shift > 28) throw new Error('runs end early')
      const byte = data[at++]
      header += (byte & 127) * 2 ** shift
      if (!(byte & 128)) break
      shift += 7
    }
    if (header & 1) {
      const values = (header >>> 1) * 8
      const last = Math.min(count, filled + values)
      let buffer = 0n, bits = 0
      if (width <= 24) {
        // at most 31 bits wait in a small integer
        let low = 0, have = 0
        while (filled < last) {
          while (have < width) {
            if (at >= data.length) throw new Error('packed bits end early')
            low |= data[at++] << have
            have += 8
          }
          out[filled++] = width ? low & ((1 << width) - 1) : 0
          low >>>= width
          have -= width
        }
      } else {
        const mask = (1n << BigInt(width)) - 1n
        while (filled < last) {
          while (bits < width) {
            if (at >= data.length) throw new Error('packed bits end early')
            buffer |= BigInt(data[at++]) << BigInt(bits)
            bits += 8
          }
          out[filled++] = Number(buffer & mask)
          buffer >>= BigInt(width)
          bits -= width
        }
      }
    } else {
      const values = header >>> 1
      if (!values) throw new Error('an empty run')
      if (at + bytesOfRun > data.length) throw new Error('a run ends early')
      let value = 0
      for (let i = 0; i < bytesOfRun; i++) value += data[at++] * 2 ** (8 * i)
      const last = Math.min(count, filled + values)
      out.fill(value, filled, last)
      filled = last
    }
  }
  return out
}
