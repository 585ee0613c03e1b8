import events, { EventEmitter } from 'node:events'
import type { Entry } from '../ledger.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { currentOrigin } from '../origin.ts'
import { isUnobserved } from '../unobserved.ts'

type SetMax = (count?: number, ...targets: object[]) => void

/** Listener limits that were changed on targets that outlive the change, such as `process`. */
export const trackMaxListeners: Tracker = (context) => {
  const changed = new WeakMap<object, { readonly before: number; entry: Entry | undefined }>()
  const note = (target: object, set: () => void) => {
    const { ledger, births } = context
    const { run } = currentOrigin()
    const isOwn = births.isOfRun(target, run) || (run === undefined && births.isKnown(target))
    if (isUnobserved() || isOwn) return set()
    const before = changed.get(target)?.before ?? maxOf(target)
    set()
    const known = changed.get(target) ?? { before, entry: undefined }
    changed.set(target, known)
    if (known.entry !== undefined) ledger.remove(known.entry)
    known.entry = enter(context, new WeakRef(target), before)
  }
  return undoAll([
    replaceProperty(
      EventEmitter.prototype,
      'setMaxListeners',
      (original) =>
        function setMaxListeners(this: EventEmitter, count) {
          note(this, () => original.call(this, count))
          return this
        },
    ),
    replaceProperty(events as unknown as { setMaxListeners: SetMax }, 'setMaxListeners', (original) => {
      return (count, ...targets) => {
        const others = targets.filter((target) => target instanceof EventTarget)
        // An emitter is set by its own method, which is watched.
        const set = others.reduceRight<() => void>(
          (next, target) => () => note(target, next),
          () => original(count, ...targets),
        )
        set()
      }
    }),
  ])
}

/** A separate function, so that its closures do not hold the target. */
function enter({ ledger, births }: TrackerContext, ref: WeakRef<object>, before: number): Entry {
  return ledger.add({
    isAlive() {
      const target = ref.deref()
      return target !== undefined && maxOf(target) !== before
    },
    describe() {
      const target = ref.deref()
      if (target === undefined) return undefined
      const name = target === process ? '`process`' : target.constructor.name
      return { kind: 'process-state', detail: `maximum of listeners on ${name}` }
    },
    countsSince(serial) {
      const target = ref.deref()
      return target !== undefined && births.isBefore(target, serial)
    },
  })
}

function maxOf(target: object): number {
  return events.getMaxListeners(target as EventEmitter)
}
