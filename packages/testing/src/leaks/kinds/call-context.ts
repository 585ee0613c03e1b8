import net from 'node:net'
import { currentOrigin, runWithOrigin } from '../origin.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

/** Calls that open something later, when the stack no longer shows who made them: they carry their place along. */
export const trackCallContext: Tracker = () =>
  undoAll([
    replaceProperty(globalThis, 'fetch', (original) => (...args) => withCall(() => original(...args))),
    replaceProperty(
      net.Server.prototype as unknown as { listen: (this: net.Server, ...args: unknown[]) => net.Server },
      'listen',
      (original) =>
        function listen(...args) {
          return withCall(() => original.apply(this, args))
        },
    ),
  ])

function withCall<T>(work: () => T): T {
  return runWithOrigin({ ...currentOrigin(), call: takeTrace() }, work)
}
