import { resolveLeaseLockOptions, type LeaseLockOptions } from '../lease/lease-lock-options.ts'
import { ObjectLock } from '../lease/object-lock.ts'
import { annotationCodec } from './leader-annotation.ts'

const CODEC = annotationCodec({ kind: 'ConfigMap', resource: 'configmaps', title: 'configmap' })

/**
 * Stores the lease in an annotation of a ConfigMap, as client-go did before v0.24. For fleets that still use such a lock: join
 * them, or move them to a `LeaseLock` with a `MultiLock`.
 *
 * The format has whole seconds, so old clients see at most one renewal a second. The validity of a renewal takes this into
 * account. Everything else on the ConfigMap, including its data, survives every write. If the annotation is not such a record,
 * every request fails with `rejected`, and the lease grants nothing.
 *
 * @example
 * ```ts
 * const lock = new ConfigMapLock({ kubeConfig: loadKubeConfig(), name: 'janitor', namespace: 'ops' })
 * ```
 */
export class ConfigMapLock extends ObjectLock {
  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: LeaseLockOptions) {
    super({ ...resolveLeaseLockOptions(options, 'ConfigMapLock'), codec: CODEC })
  }
}
