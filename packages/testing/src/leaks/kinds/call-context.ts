import fs from 'node:fs'
import net from 'node:net'
import { currentOrigin, runWithOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** Calls that open something later, when the stack no longer shows the caller. Their place is carried along. */
export const trackCallContext: Tracker = () =>
  undoAll([
    carryPlace(globalThis, 'fetch'),
    carryPlace(net.Server.prototype, 'listen'),
    carryPlace(fs, 'createReadStream'),
    carryPlace(fs, 'createWriteStream'),
  ])

function carryPlace<K extends PropertyKey>(target: Record<K, unknown>, name: K): Undo {
  return replaceProperty(
    target as Record<K, Call>,
    name,
    (original) =>
      function carryingPlace(...args) {
        return runWithOrigin({ ...currentOrigin(), call: takeTrace() }, () => original.apply(this, args))
      },
  )
}
