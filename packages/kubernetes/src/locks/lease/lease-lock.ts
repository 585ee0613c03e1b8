import { resolveLeaseLockOptions, type LeaseLockOptions } from './lease-lock-options.ts'
import { LEASES, leaseBody, parseLeaseRecord } from './lease-object.ts'
import { ObjectLock, type LockCodec } from './object-lock.ts'

const CODEC: LockCodec = { resource: LEASES, title: 'lease', parse: parseLeaseRecord, body: leaseBody }

/**
 * Stores the lease as a `coordination.k8s.io/v1` Lease.
 *
 * Requests and the watch use their own connections, or those of a `LeaseClient` that several locks share. Writes
 * are conditional on the resource version. Labels, annotations, owner references and spec fields that other clients put on the
 * Lease survive every write.
 *
 * @example
 * ```ts
 * const lock = new LeaseLock({ kubeConfig: loadKubeConfig(), name: 'janitor', namespace: 'ops' })
 * const lease = await lock.get({ signal: AbortSignal.timeout(2500) })
 * ```
 */
export class LeaseLock extends ObjectLock {
  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: LeaseLockOptions) {
    super({ ...resolveLeaseLockOptions(options), codec: CODEC })
  }
}
