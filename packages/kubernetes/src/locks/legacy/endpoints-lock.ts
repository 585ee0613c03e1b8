import { resolveLeaseLockOptions, type LeaseLockOptions } from '../lease/lease-lock-options.ts'
import { ObjectLock } from '../lease/object-lock.ts'
import { annotationCodec } from './leader-annotation.ts'

const CODEC = annotationCodec({ kind: 'Endpoints', resource: 'endpoints', title: 'endpoints' })

/**
 * Stores the lease in an annotation of an Endpoints object, as client-go did before v0.24; otherwise like a `ConfigMapLock`. The
 * addresses in the object survive every write, and the controller that mirrors Endpoints leaves those with the annotation alone.
 *
 * @example
 * ```ts
 * const lock = new EndpointsLock({ kubeConfig: loadKubeConfig(), name: 'janitor', namespace: 'ops' })
 * ```
 */
export class EndpointsLock extends ObjectLock {
  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: LeaseLockOptions) {
    super({ ...resolveLeaseLockOptions(options, 'EndpointsLock'), codec: CODEC })
  }
}
