import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

/** URLs of `URL.createObjectURL()`, which hold their Blob until they are revoked. */
export const trackObjectUrls: Tracker = ({ ledger }) => {
  const urls = new Set<string>()
  return undoAll([
    replaceProperty(URL, 'createObjectURL', (original) => (blob) => {
      const url = original.call(URL, blob)
      urls.add(url)
      ledger.add({ isAlive: () => urls.has(url), describe: () => ({ kind: 'object-url', detail: url }) })
      return url
    }),
    replaceProperty(URL, 'revokeObjectURL', (original) => (url) => {
      urls.delete(url)
      original.call(URL, url)
    }),
  ])
}
