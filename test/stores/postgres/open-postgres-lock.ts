import { PostgresLock, type PostgresLockOptions } from '@tenure/example-postgres-lock'

/** For the conformance suite: the same lease in another process. */
export function openLock(options: PostgresLockOptions): PostgresLock {
  return new PostgresLock(options)
}
