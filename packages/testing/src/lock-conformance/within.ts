import { setTimeout as delay } from 'node:timers/promises'

/** The result of a promise, or undefined if it does not resolve within `durationMs`. */
export async function within<T>(durationMs: number, promise: Promise<T>): Promise<T | undefined> {
  const over = new AbortController()
  const tooLate = delay(durationMs, undefined, { signal: over.signal }).catch(() => undefined)
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    over.abort()
  }
}
