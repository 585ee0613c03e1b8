import { type LockObserver, type LockSnapshot } from '@tenure/core'
import { errorOf } from '@tenure/core/internal'
import type { ObjectObserver, ObservedObject } from './observed-object.ts'

/**
 * Passes objects to an observer of leases. An object without a readable record counts as a disconnected watch until a readable record
 * appears: the observer must neither treat it as a lease nor assume that nothing changed.
 */
export function readableOnly(observer: LockObserver, read: (seen: ObservedObject) => LockSnapshot): ObjectObserver {
  let isConnected = false
  let isReadable = true
  return {
    changed: (seen) => {
      const snapshot = tryRead(() => read(seen))
      if (snapshot instanceof Error) {
        if (isReadable) observer.down(snapshot)
        isReadable = false
        return
      }
      observer.changed(snapshot)
      if (!isReadable && isConnected) observer.up()
      isReadable = true
    },
    up: () => {
      isConnected = true
      if (isReadable) observer.up()
    },
    down: (cause) => {
      isConnected = false
      if (isReadable) observer.down(cause)
    },
  }
}

function tryRead(read: () => LockSnapshot): LockSnapshot | Error {
  try {
    return read()
  } catch (error) {
    return errorOf(error)
  }
}
