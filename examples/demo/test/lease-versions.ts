import type { LeaseVersion } from '../observer/lease-terms.ts'

/** A version of the lease that somebody holds. */
export function held(version: number, holder: string, acquireTime: string): LeaseVersion {
  return { version: BigInt(version), holder, acquireTime }
}

/** A version of the lease that nobody holds. */
export function released(version: number): LeaseVersion {
  return { version: BigInt(version), holder: '', acquireTime: undefined }
}
