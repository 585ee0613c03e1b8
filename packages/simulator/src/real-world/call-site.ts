import { fileURLToPath } from 'node:url'
import { parseStack, placeOf } from '@tenure/testing/internal'

/** The folders of the code between a call and its caller. */
const OWN: readonly string[] = [
  new URL('../', import.meta.url),
  new URL('.', import.meta.resolve('@tenure/testing/internal')),
].map((url) => fileURLToPath(url))

/** The place of the innermost frame that belongs to neither Node nor Tenure's test packages. */
export function callSiteOf(stack: string): string {
  const frame = parseStack(stack).find(({ file }) => !file.startsWith('node:') && !OWN.some((own) => isIn(own, file)))
  return frame === undefined ? 'an unknown place' : placeOf(frame)
}

function isIn(folder: string, file: string): boolean {
  return (file.startsWith('file://') ? fileURLToPath(file) : file).startsWith(folder)
}
