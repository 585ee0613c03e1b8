import { resolveLeaseLockOptions, type LeaseLockOptions } from '../lease/lease-lock-options.ts'
import { ObjectLock } from '../lease/object-lock.ts'
import { annotationCodec } from './leader-annotation.ts'

const CODEC = annotationCodec({ kind: 'ConfigMap', resource: 'configmaps', title: 'configmap' })

/**
 * Stores the lease in an annotation of a ConfigMap, as client-go did before v0.24. For fleets that still hold such a lock: join
 * them with this one, or leave it for a `LeaseLock` by way of a `MultiLock`.
 *
 * The format has whole seconds only, so clients of old see at most one renewal a second; that is allowed for in how long a
 * renewal counts. Everything else on the ConfigMap, its data included, survives every write. An annotation that is not such a
 * record fails every request with `rejected`, and grants nothing.
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
