import type { ApiObject, ObjectChange } from './informer-options.ts'

/** The last known objects of a collection. Returns what each list and event changes, and no change twice. */
export class ObjectCache<T extends ApiObject> {
  readonly #objects = new Map<string, T>()

  /** The object of that name. Omit `namespace` for cluster-scoped objects. */
  get(name: string, namespace = ''): T | undefined {
    return this.#objects.get(keyOf(name, namespace))
  }

  /** All objects. */
  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  /** Adds or replaces an object. Returns undefined if this version is already known. */
  set(object: T): ObjectChange<T> | undefined {
    const key = keyIn(object)
    const previous = this.#objects.get(key)
    if (previous !== undefined && versionOf(previous) === versionOf(object)) return undefined
    this.#objects.set(key, object)
    return previous === undefined ? { kind: 'added', object } : { kind: 'updated', object, previous }
  }

  /** Removes a deleted object. Returns undefined if it was unknown. */
  delete(object: T): ObjectChange<T> | undefined {
    const key = keyIn(object)
    return this.#objects.delete(key) ? { kind: 'deleted', object } : undefined
  }

  /** Replaces all objects by a complete list. */
  replace(objects: readonly T[]): readonly ObjectChange<T>[] {
    const present = new Set(objects.map(keyIn))
    const gone = this.list().filter((known) => !present.has(keyIn(known)))
    return [...gone.map((object) => this.delete(object)), ...objects.map((object) => this.set(object))].filter(
      (change) => change !== undefined,
    )
  }
}

function keyIn({ metadata }: ApiObject): string {
  return keyOf(metadata?.name ?? '', metadata?.namespace ?? '')
}

function keyOf(name: string, namespace: string): string {
  return `${namespace}/${name}`
}

function versionOf({ metadata }: ApiObject): string | undefined {
  return metadata?.resourceVersion
}
