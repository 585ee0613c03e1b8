import { getEventListeners } from 'node:events'
import type { Entry } from '../ledger.ts'
import { replaceProperty, setterOf, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { trackListener } from './listeners.ts'

/** Listeners on EventTargets and AbortSignals, also those of a signal that follows an older one. */
export const trackEventTargets: Tracker = (context) => {
  const entries = new WeakMap<object, Entry>()
  return undoAll([
    noteBirthsOf(context, 'EventTarget'),
    noteBirthsOf(context, 'AbortController', (controller) => [(controller as AbortController).signal]),
    noteDerivedSignals(context),
    formatReasons(),
    watchAddEventListener(context, entries),
    watchHandlers(context, entries),
  ])
}

/** The entries of the listeners that call an `onabort` or its like. */
type Entries = WeakMap<object, Entry>

type Constructor = 'EventTarget' | 'AbortController'

/** Sees `new` on the global name. A class that was derived before keeps the original; what it makes is taken to be old. */
function noteBirthsOf(
  { births }: TrackerContext,
  name: Constructor,
  partsOf: (made: object) => readonly object[] = () => [],
): Undo {
  const globals = globalThis as unknown as Record<Constructor, new () => object>
  return replaceProperty(
    globals,
    name,
    (original) =>
      new Proxy(original, {
        construct(target, args, newTarget) {
          const made = Reflect.construct(target, args, newTarget) as object
          for (const object of [made, ...partsOf(made)]) births.note(object)
          return made
        },
      }),
  )
}

/** A signal made by `AbortSignal.any()` is kept alive by the signals that it follows as soon as it has a listener. */
function noteDerivedSignals({ births }: TrackerContext): Undo {
  const undoAny = replaceProperty(AbortSignal, 'any', (original) => (signals) => {
    const sources = [...signals]
    const signal = original.call(AbortSignal, sources)
    births.noteDerived(signal, sources)
    return signal
  })
  const undoTimeout = replaceProperty(AbortSignal, 'timeout', (original) => (delayMs) => {
    const signal = original.call(AbortSignal, delayMs)
    births.note(signal)
    return signal
  })
  return undoAll([undoAny, undoTimeout])
}

/**
 * An error holds the receivers of all calls on its stack until its `stack` is read. Node keeps the reason of the last signal that
 * removed a listener. The user cannot release a Term that is only reachable through that reason.
 */
function formatReasons(): Undo {
  return replaceProperty(
    AbortController.prototype,
    'abort',
    (original) =>
      function abort(this: AbortController, ...reason: unknown[]) {
        original.apply(this, reason as [])
        const given: unknown = this.signal.reason
        if (given instanceof Error) void given.stack
      },
  )
}

function watchAddEventListener(context: TrackerContext, entries: Entries): Undo {
  return replaceProperty(
    EventTarget.prototype,
    'addEventListener',
    (original) =>
      function addEventListener(this: EventTarget, ...args: Parameters<EventTarget['addEventListener']>) {
        const [type, listener, options] = args
        original.apply(this, args)
        if (listener === null || isWeak(options)) return
        const entry = trackListener(context, {
          target: this,
          event: type,
          listener,
          kind: this instanceof AbortSignal ? 'abort-listener' : 'event-target-listener',
          detail: `\`${type}\` on ${this.constructor.name}`,
          listenersOf: (target) => getEventListeners(target as EventTarget, type),
        })
        if (entry !== undefined && Object.hasOwn(listener, 'handler')) entries.set(listener, entry)
      },
  )
}

/**
 * `signal.onabort = …` adds a listener the first time only: later on, the one that is there calls something else. That may have been
 * before anybody watched.
 */
function watchHandlers(context: TrackerContext, entries: Entries): Undo {
  const own = Object.getOwnPropertyDescriptor(AbortSignal.prototype, 'onabort')
  const set = setterOf(own)
  if (own === undefined || set === undefined) return () => {}
  const observed = function (this: AbortSignal, value: unknown) {
    const before = new Set(getEventListeners(this, 'abort') as object[])
    set.call(this, value)
    const handler = getEventListeners(this, 'abort').find((listener) => Reflect.get(listener, 'handler') === value)
    if (typeof value !== 'function' || handler === undefined || !before.has(handler)) return
    const known = entries.get(handler)
    if (known !== undefined) context.ledger.remove(known)
    const entry = trackListener(context, {
      target: this,
      event: 'abort',
      listener: handler,
      kind: 'abort-listener',
      detail: '`onabort` on AbortSignal',
      listenersOf: (target) => getEventListeners(target as EventTarget, 'abort'),
    })
    if (entry !== undefined) entries.set(handler, entry)
  }
  Object.defineProperty(AbortSignal.prototype, 'onabort', { ...own, set: observed })
  return () => void Object.defineProperty(AbortSignal.prototype, 'onabort', own)
}

/** Node itself listens weakly to the `signal` option of other listeners. */
function isWeak(options: unknown): boolean {
  if (typeof options !== 'object' || options === null) return false
  return Object.getOwnPropertySymbols(options).some(({ description }) => description === 'kWeak')
}
