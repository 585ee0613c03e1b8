/**
 * The storage of the embedded API server, in place of etcd and the watch cache.
 *
 * Owns the objects, the version counter, a window of past events, and the fan-out to watchers. Has no clock, no I/O, no kinds and
 * no validation. Every call is synchronous, so a simulator can use it too.
 *
 * Invariants:
 * 1. Every commit takes the next version. No version is used twice, even after a deletion.
 * 2. If the caller names a version, an object is replaced or removed only from that version.
 * 3. Watchers get every event once, in the order of versions, before the call that caused it returns. A commit made by a
 *    watcher is delivered after the event that the watcher is handling.
 * 4. Stored objects and events are shared and immutable.
 */
import { TenureError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'
import type { KubeObject } from '../objects/kube-object.ts'

/** Where an object is kept. */
export interface ObjectRef {
  /** The kind of objects, for example `coordination.k8s.io/leases`. */
  readonly collection: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  /** The name of the object. */
  readonly name: string
}

/** One committed change. */
export interface StoreEvent {
  /** What happened to the object. */
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** The version of the store that the change made. */
  readonly version: number
  /** Where the object is kept. */
  readonly ref: ObjectRef
  /** The object after the change; for a deletion its last state, at the version of the deletion. */
  readonly object: KubeObject
  /** The object before the change. */
  readonly previous: KubeObject | undefined
}

/** Receives events; must not throw. */
export type StoreWatcher = (event: StoreEvent) => void

/** Options of a {@link Store}. */
export interface StoreOptions {
  /** The version before the first commit. @default 1 */
  readonly initialVersion?: number
  /** Minimum number of past events to keep, for watches and lists that start in the past. @default 5000 */
  readonly historyLimit?: number
}

/** A write was refused because the stored object is not in the state that the caller expects. */
export class StoreConflictError extends TenureError {
  override readonly code = 'STORE_CONFLICT'
  /** `exists`: the object to create exists. `absent`: the object does not exist. `changed`: it has another version. */
  readonly conflict: 'exists' | 'absent' | 'changed'

  constructor(conflict: 'exists' | 'absent' | 'changed', ref: ObjectRef) {
    super(`${ref.collection} ${ref.namespace}/${ref.name}: ${conflict}`)
    this.conflict = conflict
  }
}

const OPTION_NAMES = ['initialVersion', 'historyLimit'] as const satisfies (keyof StoreOptions)[]

/** Objects, versions, history and watchers, in memory. */
export class Store {
  readonly #collections = new Map<string, Map<string, KubeObject>>()
  readonly #watchers = new Map<string, Set<StoreWatcher>>()
  readonly #commitListeners = new Set<StoreWatcher>()
  readonly #undelivered: StoreEvent[] = []
  readonly #historyLimit: number
  #history: StoreEvent[] = []
  #version: number
  #compactedVersion: number
  #delivering = false

  constructor(options: StoreOptions = {}) {
    assertKnownKeys('the options of a Store', options, OPTION_NAMES)
    this.#version = options.initialVersion ?? 1
    this.#compactedVersion = this.#version
    this.#historyLimit = options.historyLimit ?? 5000
  }

  /** The version of the last commit. */
  get version(): number {
    return this.#version
  }

  /** Events up to this version are no longer available. */
  get compactedVersion(): number {
    return this.#compactedVersion
  }

  /** The object, if it exists. */
  get(ref: ObjectRef): KubeObject | undefined {
    return this.#collections.get(ref.collection)?.get(keyOf(ref))
  }

  /** The names of all collections that ever held an object. */
  collections(): string[] {
    return [...this.#collections.keys()]
  }

  /** The objects of a collection, sorted by namespace and name. @default all namespaces */
  list(collection: string, namespace?: string): KubeObject[] {
    return sortedObjects(this.#collections.get(collection) ?? new Map(), namespace)
  }

  /** The objects of a collection at `version`; `undefined` if the history does not reach back that far. */
  listAt(collection: string, version: number, namespace?: string): KubeObject[] | undefined {
    if (version < this.#compactedVersion) return undefined
    const objects = new Map(this.#collections.get(collection))
    for (const event of this.#eventsAfter(version).toReversed()) {
      if (event.ref.collection !== collection) continue
      if (event.previous === undefined) objects.delete(keyOf(event.ref))
      else objects.set(keyOf(event.ref), event.previous)
    }
    return sortedObjects(objects, namespace)
  }

  /** Adds an object and stamps its version. @throws StoreConflictError if it exists. */
  create(ref: ObjectRef, object: KubeObject): KubeObject {
    if (this.get(ref) !== undefined) throw new StoreConflictError('exists', ref)
    return this.#commit({ type: 'ADDED', ref, object, previous: undefined })
  }

  /** Replaces an object and stamps its version. @throws StoreConflictError if it is absent or not at `expectedVersion`. */
  update(ref: ObjectRef, object: KubeObject, expectedVersion?: string): KubeObject {
    const previous = this.#expect(ref, expectedVersion)
    return this.#commit({ type: 'MODIFIED', ref, object, previous })
  }

  /** Removes an object and returns its last state. @throws StoreConflictError if it is absent or not at `expectedVersion`. */
  delete(ref: ObjectRef, expectedVersion?: string): KubeObject {
    const previous = this.#expect(ref, expectedVersion)
    return this.#commit({ type: 'DELETED', ref, object: previous, previous })
  }

  /** The events of a collection after `version`; `undefined` if some of them are no longer available. */
  eventsSince(collection: string, version: number): StoreEvent[] | undefined {
    if (version < this.#compactedVersion) return undefined
    return this.#eventsAfter(version).filter((event) => event.ref.collection === collection)
  }

  /** Calls `watcher` with every future event of a collection until the returned function is called. */
  watch(collection: string, watcher: StoreWatcher): () => void {
    const watchers = this.#watchers.get(collection) ?? new Set()
    this.#watchers.set(collection, watchers)
    watchers.add(watcher)
    return () => watchers.delete(watcher)
  }

  /** Calls `listener` with every commit, before any watcher, until the returned function is called. Used for persistence. */
  onCommit(listener: StoreWatcher): () => void {
    this.#commitListeners.add(listener)
    return () => this.#commitListeners.delete(listener)
  }

  /** Drops all events up to `version`, as etcd does on compaction. */
  compact(version: number = this.#version): void {
    const through = Math.min(version, this.#version)
    if (through <= this.#compactedVersion) return
    this.#history = this.#eventsAfter(through)
    this.#compactedVersion = through
  }

  /** Restores saved objects without events. Only for an empty store. */
  restore(entries: Iterable<readonly [ObjectRef, KubeObject]>, version: number): void {
    for (const [ref, object] of entries) this.#objectsOf(ref.collection).set(keyOf(ref), object)
    this.#version = version
    this.#compactedVersion = version
    this.#history = []
  }

  #expect(ref: ObjectRef, expectedVersion: string | undefined): KubeObject {
    const stored = this.get(ref)
    if (stored === undefined) throw new StoreConflictError('absent', ref)
    if (expectedVersion !== undefined && stored.metadata.resourceVersion !== expectedVersion) {
      throw new StoreConflictError('changed', ref)
    }
    return stored
  }

  #commit(change: Omit<StoreEvent, 'version'>): KubeObject {
    const version = ++this.#version
    const metadata = { ...change.object.metadata, resourceVersion: String(version) }
    const object = { ...change.object, metadata }
    const event = { ...change, version, object }
    if (event.type === 'DELETED') this.#objectsOf(event.ref.collection).delete(keyOf(event.ref))
    else this.#objectsOf(event.ref.collection).set(keyOf(event.ref), object)
    this.#history.push(event)
    // Trims half of the history at a time, so that the average cost of a commit does not depend on its length.
    if (this.#history.length > 2 * this.#historyLimit) {
      this.compact(this.#history[this.#history.length - this.#historyLimit - 1]?.version)
    }
    for (const listener of this.#commitListeners) listener(event)
    this.#undelivered.push(event)
    this.#deliver()
    return object
  }

  #deliver(): void {
    if (this.#delivering) return
    this.#delivering = true
    try {
      for (let event = this.#undelivered.shift(); event !== undefined; event = this.#undelivered.shift()) {
        for (const watcher of this.#watchers.get(event.ref.collection) ?? []) watcher(event)
      }
    } finally {
      this.#delivering = false
    }
  }

  #objectsOf(collection: string): Map<string, KubeObject> {
    const objects = this.#collections.get(collection) ?? new Map<string, KubeObject>()
    this.#collections.set(collection, objects)
    return objects
  }

  #eventsAfter(version: number): StoreEvent[] {
    let low = 0
    let high = this.#history.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#history[middle]?.version ?? 0) <= version) low = middle + 1
      else high = middle
    }
    return this.#history.slice(low)
  }
}

function keyOf(ref: Pick<ObjectRef, 'namespace' | 'name'>): string {
  return `${ref.namespace}/${ref.name}`
}

function sortedObjects(objects: ReadonlyMap<string, KubeObject>, namespace: string | undefined): KubeObject[] {
  const prefix = namespace === undefined ? '' : `${namespace}/`
  return [...objects]
    .filter(([key]) => key.startsWith(prefix))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, object]) => object)
}
