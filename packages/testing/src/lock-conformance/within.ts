import { setTimeout as delay } from 'node:timers/promises'

/** What a promise resolves with; undefined when it does not within `durationMs`. */
export async function within<T>(durationMs: number, promise: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const tooLate = delay(durationMs, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    over.abort()
  }
}
