import { setImmediate as turn } from 'node:timers/promises'
import type { Footprint } from './replica-event.ts'

/** What this process holds after a garbage collection. Needs `--expose-gc`. */
export async function measureFootprint(): Promise<Footprint> {
  const { gc } = globalThis
  if (gc === undefined) throw new Error('Expected the replica to run with --expose-gc')
  gc()
  // Buffers are freed behind the scenes, and by the next collection at the latest, however small.
  await turn()
  gc({ type: 'minor' })
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return { heapUsed, arrayBuffers, resources: tally(process.getActiveResourcesInfo()), listeners: countListeners() }
}

function tally(kinds: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function countListeners(): Record<string, number> {
  return Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]))
}
