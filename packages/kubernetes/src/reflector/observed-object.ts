import type { JsonObject } from '../json-object.ts'

/** An object as a watch saw it: always with the version at which it was so. */
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
  /** The version of the store at which it was seen to be absent. */
  readonly version: bigint
}

/**
 * Receives what a watch sees of one object. Called in the order of versions, which start again from a lower one after a restore of the
 * store; never after it was unsubscribed.
 */
export interface ObjectObserver {
  /** The object at the start, then after every change. */
  readonly changed: (seen: ObservedObject) => void
  /** The watch is established: changes will be reported as they happen. */
  readonly up: () => void
  /** The watch is broken or has gone silent and is being re-established. Changes may go unreported until `up`. */
  readonly down: (cause: Error) => void
}

/** What is remembered of something seen, to tell whether the next is news. */
export type Sighting = Pick<ObservedObject, 'kind' | 'version'>

/** Whether `seen` tells more than `known`. An object that is still absent is no news. */
export function isNews(seen: Sighting, known: Sighting | undefined): boolean {
  if (known === undefined) return true
  return seen.version > known.version && (seen.kind === 'present' || known.kind === 'present')
}
