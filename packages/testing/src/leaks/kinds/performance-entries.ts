import { type PerformanceEntry, performance } from 'node:perf_hooks'
import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

type Make = (this: unknown, name: string, ...rest: unknown[]) => PerformanceEntry

/** Marks and measures. The timeline of the process keeps them until they are cleared. */
export const trackPerformanceEntries: Tracker = ({ ledger }) => {
  const prototype = Object.getPrototypeOf(performance) as Record<'mark' | 'measure', Make>
  return undoAll(
    (['mark', 'measure'] as const).map((method) =>
      replaceProperty(
        prototype,
        method,
        (original) =>
          function make(name, ...rest) {
            const entry = original.call(this, name, ...rest)
            const ref = new WeakRef(entry)
            ledger.add({
              isAlive: () => performance.getEntriesByName(name, method).some((there) => there === ref.deref()),
              describe: () => ({ kind: 'performance-entry', detail: `${method} \`${name}\`` }),
            })
            return entry
          },
      ),
    ),
  )
}
