import { onAbort } from '@tenure/core/internal'

/** Settles as the promise does, unless the signal aborts first: then rejects with its reason. Leaves no listener behind. */
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
