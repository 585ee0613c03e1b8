import { FileLock } from '@tenure/core/file-lock'

/** For the conformance suite: the same lease in another process. */
export function openLock(path: string): FileLock {
  return new FileLock({ path })
}
