import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { GCProfiler } from 'node:v8'
import type { LeakKind } from '../leak-kind.ts'
import type { Ledger } from '../ledger.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

type Histogram = ReturnType<typeof monitorEventLoopDelay>

/** To make a histogram takes longer than all the rest. */
let histogram: Histogram | undefined

/** PerformanceObservers and event loop delay monitors that are still on. */
export const trackPerformanceMonitors: Tracker = ({ ledger }) => {
  histogram ??= Object.getPrototypeOf(monitorEventLoopDelay()) as Histogram
  return undoAll([
    ...watchSwitch({
      ledger,
      prototype: PerformanceObserver.prototype,
      on: 'observe',
      off: 'disconnect',
      kind: 'performance-observer',
    }),
    ...watchSwitch({ ledger, prototype: GCProfiler.prototype, on: 'start', off: 'stop', kind: 'handle' }),
    ...watchSwitch({ ledger, prototype: histogram, on: 'enable', off: 'disable', kind: 'event-loop-monitor' }),
  ])
}

interface Switch<On extends PropertyKey, Off extends PropertyKey> {
  readonly ledger: Ledger
  readonly prototype: Record<On | Off, (...args: never[]) => unknown>
  readonly on: On
  readonly off: Off
  readonly kind: LeakKind
}

function watchSwitch<On extends PropertyKey, Off extends PropertyKey>(of: Switch<On, Off>): readonly Undo[] {
  const active = new WeakSet<object>()
  const { ledger, kind } = of
  const prototype = of.prototype as Record<PropertyKey, (...args: unknown[]) => unknown>
  const undoOn = replaceProperty(
    prototype,
    of.on,
    (original) =>
      function switchOn(this: object, ...args) {
        const result = original.apply(this, args)
        if (active.has(this)) return result
        active.add(this)
        ledger.add({ isAlive: isAlive(this, active), describe: () => ({ kind }) })
        return result
      },
  )
  const undoOff = replaceProperty(
    prototype,
    of.off,
    (original) =>
      function switchOff(this: object, ...args) {
        active.delete(this)
        return original.apply(this, args)
      },
  )
  return [undoOn, undoOff]
}

function isAlive(object: object, active: WeakSet<object>): () => boolean {
  const ref = new WeakRef(object)
  return () => {
    const object = ref.deref()
    return object !== undefined && active.has(object)
  }
}
