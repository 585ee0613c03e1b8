import { fileURLToPath } from 'node:url'
import { parseStack, placeOf } from '../../leaks/frame.ts'

/** The folders of what may be between a call and the code that made it. */
const OWN: readonly string[] = ['../', '../../leaks/'].map((folder) => fileURLToPath(new URL(folder, import.meta.url)))

/** The place of the innermost frame that belongs neither to Node nor to this package. */
export function callSiteOf(stack: string): string {
  const frame = parseStack(stack).find(({ file }) => !file.startsWith('node:') && !OWN.some((own) => isIn(own, file)))
  return frame === undefined ? 'an unknown place' : placeOf(frame)
}

function isIn(folder: string, file: string): boolean {
  return (file.startsWith('file://') ? fileURLToPath(file) : file).startsWith(folder)
}
