import { InformerRun } from './informer-run.ts'
import { type ApiObject, type InformerOptions, type InformerOwner, resolveInformerOptions } from './informer-options.ts'

/** The objects of a collection, kept up to date for as long as the term that owns it lasts. */
export interface Informer<T extends ApiObject> {
  /** Resolves when the collection was listed for the first time; rejects with the reason of the end when that comes first. */
  readonly synced: Promise<void>
  /** The object of that name as it was last seen; `namespace` is left out for objects that have none. */
  get(name: string, namespace?: string): T | undefined
  /** All objects as they were last seen. */
  list(): readonly T[]
}

/**
 * Keeps the objects of a collection up to date: lists it, watches it, and connects again where it was when that breaks off.
 *
 * It is a task of the term: when the term begins to end it stops, whatever it is doing, and the task is over when its last
 * connection is closed. What it has seen can still be read then. The informers of client-node leave a watch behind when they are
 * stopped while they list or connect; this one does not.
 *
 * @example
 * ```ts
 * const pods = informer<V1Pod>(term, { kubeConfig, path: '/api/v1/namespaces/ops/pods', onChange: ({ object }) => queue.add(object) })
 * await pods.synced
 * ```
 * @throws ScopeClosedError once the term has begun to end. @throws OptionsError when the path is not that of a collection.
 */
export function informer<T extends ApiObject>(owner: InformerOwner, options: InformerOptions<T>): Informer<T> {
  const resolved = resolveInformerOptions(options)
  const run = new InformerRun<T>(owner, resolved)
  owner.spawn(`informer ${resolved.path}`, (signal) => run.run(signal)).catch(() => {})
  return { synced: run.synced, get: (name, namespace) => run.cache.get(name, namespace), list: () => run.cache.list() }
}
