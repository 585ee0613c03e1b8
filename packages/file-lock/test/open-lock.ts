import { FileLock } from '../src/file-lock.ts'

/** For the conformance suite: the same lease in another process. */
export function openLock(path: string): FileLock {
  return new FileLock({ path })
}
