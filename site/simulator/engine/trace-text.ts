/*
 * Traces as text for an address: deflated, then base64 with the letters of an address.
 */

/** Packs the contents of the files of a trace. */
export async function packTrace(files: readonly string[]): Promise<string> {
  const stream = new Blob([JSON.stringify(files)]).stream().pipeThrough(new CompressionStream('deflate-raw'))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** @throws RangeError when the text was not packed by `packTrace()` */
export async function unpackTrace(text: string): Promise<readonly string[]> {
  try {
    const bytes = Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
    const files: unknown = JSON.parse(await new Response(stream).text())
    if (Array.isArray(files) && files.every((file) => typeof file === 'string')) return files
  } catch (cause) {
    throw new RangeError('Expected `trace` to be the whole text of a link to a trace', { cause })
  }
  throw new RangeError('Expected `trace` to be a link to a trace')
}
