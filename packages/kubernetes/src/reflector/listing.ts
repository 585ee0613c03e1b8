import { isJsonObject } from '../json-object.ts'
import { nameOf, parseVersion } from '../client/object-metadata.ts'
import type { ObservedObject } from './observed-object.ts'
import { WatchInterruptedError } from './watch-interrupted-error.ts'

/** The answer to a list request: objects, and the version of the store at which they were read. */
export class Listing {
  readonly version: bigint
  readonly #items: readonly unknown[]

  private constructor(version: bigint, items: readonly unknown[]) {
    this.version = version
    this.#items = items
  }

  /** @throws WatchInterruptedError if the answer is not a list */
  static parse(answer: unknown): Listing {
    const version = parseVersion(answer)
    if (version === undefined)
      throw new WatchInterruptedError('The resource version of the list is not a decimal number')
    const items = isJsonObject(answer) ? answer['items'] : undefined
    if (!Array.isArray(items)) throw new WatchInterruptedError('The list has no items')
    return new Listing(version, items)
  }

  /** The state of an object that is not in the list. */
  get absent(): ObservedObject {
    return { kind: 'absent', version: this.version }
  }

  /** The wanted objects, by name. @throws WatchInterruptedError if one has no version, which does not mean that it is absent */
  only(isWanted: (name: string) => boolean): ReadonlyMap<string, ObservedObject> {
    const found = new Map<string, ObservedObject>()
    for (const object of this.#items) {
      const name = nameOf(object)
      if (name === undefined || !isWanted(name) || !isJsonObject(object)) continue
      const version = parseVersion(object)
      if (version === undefined)
        throw new WatchInterruptedError(`The resource version of ${name} in the list is not a decimal number`)
      found.set(name, { kind: 'present', version, object })
    }
    return found
  }
}
