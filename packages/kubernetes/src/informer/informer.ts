import { InformerRun } from './informer-run.ts'
import { type ApiObject, type InformerOptions, type InformerOwner, resolveInformerOptions } from './informer-options.ts'

/** The objects of a collection, kept up to date until the end of the term that owns the informer. */
export interface Informer<T extends ApiObject> {
  /**
   * Resolves after the first complete list. Rejects with the reason of the end if the term ends first.
   *
   * Read it again in `run()` if a warm-up started the informer. It then resolves when the cache shows every write that the term before
   * sent through `gated()`: after the event of the last one, or after a new list if that version is not known, as after a crash.
   */
  readonly synced: Promise<void>
  /** The last known state of the object. Omit `namespace` for cluster-scoped objects. */
  get(name: string, namespace?: string): T | undefined
  /** The last known state of all objects. */
  list(): readonly T[]
}

/**
 * Keeps the objects of a collection up to date: lists them, watches them, and resumes after a lost connection.
 *
 * The informer is a task of the term. It stops when the term begins to end, and the task completes when its last connection is closed.
 * The objects remain readable. An informer of client-node leaves a watch behind if it is stopped while it lists or connects; this one
 * does not.
 *
 * @example
 * ```ts
 * const pods = informer<V1Pod>(term, { kubeConfig, path: '/api/v1/namespaces/ops/pods', onChange: ({ object }) => queue.add(object) })
 * await pods.synced
 * ```
 * @throws ScopeClosedError after the term has begun to end. @throws OptionsError if the path is not that of a collection.
 */
export function informer<T extends ApiObject>(owner: InformerOwner, options: InformerOptions<T>): Informer<T> {
  const resolved = resolveInformerOptions(options)
  const run = new InformerRun<T>(owner, resolved)
  owner.spawn(`informer ${resolved.path}`, (signal) => run.run(signal)).catch(() => {})
  return {
    get synced() {
      return run.synced
    },
    get: (name, namespace) => run.cache.get(name, namespace),
    list: () => run.cache.list(),
  }
}
