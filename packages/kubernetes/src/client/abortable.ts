import { onAbort } from '@tenure/core/internal'

/** Settles like the promise, but rejects with the reason of the signal if that aborts first. Leaves no listener. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const forget = onAbort(signal, () => aborted.reject(signal.reason))
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    forget()
  }
}
