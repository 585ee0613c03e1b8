import type { ApiObject, ObjectChange } from './informer-options.ts'

/** The objects of a collection as they were last seen. Tells what each list and event changes, and nothing twice. */
export class ObjectCache<T extends ApiObject> {
  readonly #objects = new Map<string, T>()

  /** The object of that name, where there is one; `namespace` is left out for objects that have none. */
  get(name: string, namespace = ''): T | undefined {
    return this.#objects.get(keyOf(name, namespace))
  }

  /** All objects. */
  list(): readonly T[] {
    return [...this.#objects.values()]
  }

  /** Takes in an object that is there. Undefined when it is known already. */
  set(object: T): ObjectChange<T> | undefined {
    const key = keyIn(object)
    const previous = this.#objects.get(key)
    if (previous !== undefined && versionOf(previous) === versionOf(object)) return undefined
    this.#objects.set(key, object)
    return previous === undefined ? { kind: 'added', object } : { kind: 'updated', object, previous }
  }

  /** Takes in that an object is gone. Undefined when it was not known. */
  delete(object: T): ObjectChange<T> | undefined {
    const key = keyIn(object)
    return this.#objects.delete(key) ? { kind: 'deleted', object } : undefined
  }

  /** Takes in a list of all that is there. */
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
