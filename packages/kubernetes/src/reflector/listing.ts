import { isJsonObject } from '../json-object.ts'
import { nameOf, parseVersion } from '../client/object-metadata.ts'
import type { ObservedObject } from './observed-object.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** The answer to a list: objects, and the version of the store at which they were so. */
export class Listing {
  readonly version: bigint
  readonly #items: readonly unknown[]

  private constructor(version: bigint, items: readonly unknown[]) {
    this.version = version
    this.#items = items
  }

  /** @throws WatchInterruptedError when the answer is no list */
  static parse(answer: unknown): Listing {
    const version = parseVersion(answer)
    if (version === undefined) throw new WatchInterruptedError('The list has no decimal resource version')
    const items = isJsonObject(answer) ? answer['items'] : undefined
    if (!Array.isArray(items)) throw new WatchInterruptedError('The list has no items')
    return new Listing(version, items)
  }

  /** What the list says about an object that is not in it. */
  get absent(): ObservedObject {
    return { kind: 'absent', version: this.version }
  }

  /** The wanted objects by name. @throws WatchInterruptedError when one has no version: that is not the same as absent */
  only(isWanted: (name: string) => boolean): ReadonlyMap<string, ObservedObject> {
    const found = new Map<string, ObservedObject>()
    for (const object of this.#items) {
      const name = nameOf(object)
      if (name === undefined || !isWanted(name) || !isJsonObject(object)) continue
      const version = parseVersion(object)
      if (version === undefined) throw new WatchInterruptedError(`${name} has no decimal resource version`)
      found.set(name, { kind: 'present', version, object })
    }
    return found
  }
}
