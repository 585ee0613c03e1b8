import type { TraceLine } from '@tenure/core/internal'
import { partsOf, type TracePart } from './parts.ts'
import { StoredVersions } from './stored-versions.ts'

/** Why the model cannot judge a trace; undefined if it can. */
export function unfitFor(lines: readonly TracePart[]): string | undefined {
  const { headers, steps } = partsOf(lines)
  if (headers.some(({ heldForLife }) => heldForLife)) return 'a lease for life'
  if (headers.some(({ leaseMs, tolerance }) => leaseMs !== 15_000 || tolerance !== 0.05)) return 'other durations'
  if (new Set(headers.map(({ identity }) => identity)).size < headers.length) return 'an identity that is used again'
  if (steps.some(({ c, k, g }) => c !== undefined || k !== undefined || g !== undefined))
    return 'a coordinator or a replaced lease'
  if (isDeleted(steps)) return 'a lease that is deleted'
  if (!new StoredVersions(steps).areExplained) return 'a lease that another client edits'
  return undefined
}

/** Whether the lease is missing after anybody has seen it. */
function isDeleted(steps: readonly TraceLine[]): boolean {
  let isSeen = false
  const creations = new Set<string>()
  for (const { p, e, f, v, r, q, x, d = [] } of steps) {
    if (f === 'not-found' || x === true) return true
    if (e === 'observed' && r === undefined && isSeen) return true
    if (r !== undefined && v !== undefined) isSeen = true
    if (e === 'write-answer' && r !== undefined && creations.has(`${p} ${q}`)) creations.clear()
    for (const act of d) if (act.u === 'acquire' && act.b === undefined) creations.add(`${p} ${act.q}`)
  }
  return false
}
