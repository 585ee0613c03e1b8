import { EventEmitter } from 'node:events'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { trackListener } from './listeners.ts'

type Listener = (...args: unknown[]) => void
type AddMethod = 'on' | 'addListener' | 'prependListener'

/** Listeners on EventEmitters, `process` among them. `once()` and its relatives end up in the methods that are watched. */
export const trackEventEmitters: Tracker = (context) =>
  undoAll([
    noteBirths(context),
    ...(['on', 'addListener', 'prependListener'] as const).map((method) => watchMethod(context, method)),
  ])

/** Every constructor of an emitter calls `EventEmitter.init`. */
function noteBirths({ ledger, births, pools }: TrackerContext): Undo {
  const holder = EventEmitter as unknown as { init: (this: EventEmitter, ...args: unknown[]) => void }
  return replaceProperty(
    holder,
    'init',
    (original) =>
      function init(this: EventEmitter, ...args) {
        births.note(this)
        pools.note(this, ledger.serial)
        original.apply(this, args)
      },
  )
}

function watchMethod(context: TrackerContext, method: AddMethod): Undo {
  return replaceProperty(
    EventEmitter.prototype as unknown as Record<
      AddMethod,
      (event: string | symbol, listener: Listener) => EventEmitter
    >,
    method,
    (original) =>
      function add(this: EventEmitter, event, listener) {
        noteUninitialized(context, this)
        const result = original.call(this, event, listener)
        trackListener(context, {
          target: this,
          event,
          listener,
          kind: (this as object) === process ? 'process-listener' : 'event-listener',
          detail: `\`${String(event)}\` on ${nameOf(this)}`,
          listenersOf: (emitter) => (emitter as EventEmitter).rawListeners(event),
        })
        return result
      },
  )
}

/** Old libraries inherit from EventEmitter and never call its constructor: such an emitter is new when it gets its first listener. */
function noteUninitialized({ births }: TrackerContext, emitter: EventEmitter): void {
  if (Reflect.get(emitter, '_events') === undefined && !births.isKnown(emitter)) births.note(emitter)
}

function nameOf(emitter: EventEmitter): string {
  return (emitter as object) === process ? '`process`' : emitter.constructor.name
}
