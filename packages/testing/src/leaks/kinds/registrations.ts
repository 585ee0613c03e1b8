import { isCoreFrame, isLibraryFrame } from '../frame-owner.ts'
import type { TrackedThing } from '../ledger.ts'
import { rawFramesOf, takeTrace } from '../trace.ts'
import type { TrackerContext } from '../tracker.ts'

/** Something that was registered somewhere under a name. The functions must hold neither the registry nor what is in it. */
export interface Registered {
  readonly registry: object
  readonly isRegistered: (registry: object) => boolean
  readonly describe: TrackedThing['describe']
}

/**
 * Enters a registration in the ledger until it is taken back or its registry is garbage. What Tenure itself registers goes with
 * what it belongs to. A registry that the watching test has made does not count: only what was there before stays.
 */
export function trackRegistration({ ledger, births }: TrackerContext, of: Registered): void {
  const trace = takeTrace()
  const registrar = rawFramesOf(trace).find(isLibraryFrame)
  if (registrar !== undefined && isCoreFrame(registrar)) return
  const { isRegistered, describe } = of
  const ref = new WeakRef(of.registry)
  const thing: TrackedThing = {
    isAlive() {
      const registry = ref.deref()
      return registry !== undefined && isRegistered(registry)
    },
    describe,
    countsSince(serial) {
      const registry = ref.deref()
      return registry !== undefined && births.isBefore(registry, serial)
    },
  }
  ledger.add(thing, { trace })
}

/** A registry that is empty when it is first seen is new; a registry with content was there before the watch. */
export function noteFirstSight({ births }: TrackerContext, registry: object, isEmpty: boolean): void {
  if (isEmpty && !births.isKnown(registry)) births.note(registry)
}
