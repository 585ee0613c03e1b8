import type { JsonObject } from '../json-object.ts'
import type { ObjectEvent } from './watch-event.ts'

/** The state of an object, with the version at which it was read. */
export type ObservedObject = PresentObject | AbsentObject

/** An object that exists. */
interface PresentObject {
  readonly kind: 'present'
  readonly version: bigint
  readonly object: JsonObject
}

/** An object that does not exist. */
interface AbsentObject {
  readonly kind: 'absent'
  /** The version of the store at which the object was absent. */
  readonly version: bigint
  /** In the news of a deletion: the object as it was last. */
  readonly deleted?: JsonObject
}

/** The state of the object that an event shows. */
export function observedIn({ kind, object }: ObjectEvent, version: bigint): ObservedObject {
  return kind === 'gone' ? { kind: 'absent', version, deleted: object } : { kind: 'present', version, object }
}

/**
 * Receives the states of one object, in ascending order of versions. After the store was restored from a backup, versions start again
 * at a lower one. Receives no call after it unsubscribed.
 */
export interface ObjectObserver {
  /** The object at the start, then after every change. */
  readonly changed: (seen: ObservedObject) => void
  /** The watch is established and reports changes as they happen. */
  readonly up: () => void
  /** The watch is broken or silent and is being re-established. Changes may go unreported until `up`. */
  readonly down: (cause: Error) => void
}

/** The kind and version of an observed state, to compare the next one with. */
export type Sighting = Pick<ObservedObject, 'kind' | 'version'>

/** Whether `seen` is newer than `known` and different from it. An object that is still absent is not news. */
export function isNews(seen: Sighting, known: Sighting | undefined): boolean {
  if (known === undefined) return true
  return seen.version > known.version && (seen.kind === 'present' || known.kind === 'present')
}
