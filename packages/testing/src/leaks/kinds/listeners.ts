import type { LeakKind } from '../leak-kind.ts'
import type { Entry, Ledger, TrackedThing } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import type { TrackerContext } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

/** A listener that has been added. */
export interface AddedListener {
  /** What it was added to. */
  readonly target: object
  readonly event: string | symbol
  readonly listener: object
  readonly kind: LeakKind
  readonly detail: string
  /** All listeners that `target` has for `event` at present. */
  readonly listenersOf: (target: object, event: string | symbol) => readonly object[]
}

/**
 * Enters a listener in the ledger, unless its target goes when the listener's owner goes anyway. Holds neither.
 */
export function trackListener({ ledger, births }: TrackerContext, added: AddedListener): Entry | undefined {
  const { target, kind, detail } = added
  const { run } = currentOrigin()
  if (isUnobserved() || births.isOfRun(target, run)) return undefined
  if (run === undefined && births.isKnown(target) && !births.isBefore(target, ledger.newestWatch)) return undefined
  const targetRef = new WeakRef(target)
  const isAttached = attachmentOf(ledger, added)
  const thing: TrackedThing = {
    isAlive: isAttached,
    describe: () => ({ kind, detail }),
    countsSince(serial) {
      const target = targetRef.deref()
      return target !== undefined && births.isBefore(target, serial)
    },
  }
  return ledger.add(thing)
}

function attachmentOf(ledger: Ledger, { target, event, listener, listenersOf }: AddedListener): () => boolean {
  const targetRef = new WeakRef(target)
  const listenerRef = new WeakRef(listener)
  return () => {
    const target = targetRef.deref()
    const listener = listenerRef.deref()
    if (target === undefined || listener === undefined || isIdleHandler(listener)) return false
    return present(ledger, target, event, listenersOf).has(listener)
  }
}

/** Node keeps a listener for `onabort` and its like on the target, also when there is nothing for it to call. */
function isIdleHandler(listener: object): boolean {
  return Object.hasOwn(listener, 'handler') && typeof Reflect.get(listener, 'handler') !== 'function'
}

let seen = new WeakMap<object, Map<string | symbol, WeakSet<object>>>()
let seenIn: readonly [ledger: Ledger, pass: number] | undefined

/** Thousands of listeners may hang on one target: they are listed once for all of them. */
function present(
  ledger: Ledger,
  target: object,
  event: string | symbol,
  listenersOf: AddedListener['listenersOf'],
): WeakSet<object> {
  if (seenIn?.[0] !== ledger || seenIn[1] !== ledger.pass) seen = new WeakMap()
  seenIn = [ledger, ledger.pass]
  const events = seen.get(target) ?? new Map<string | symbol, WeakSet<object>>()
  seen.set(target, events)
  const listeners = events.get(event) ?? new WeakSet(listenersOf(target, event))
  events.set(event, listeners)
  return listeners
}
