import { promiseHooks } from 'node:v8'
import { isNodeFrame, isOwnFrame } from '../frame-owner.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import { rawFramesOf, takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'

type Install = (...args: unknown[]) => () => unknown

/** Hooks of V8 for every promise of the process. The function that their installation returns removes them. */
export const trackPromiseHooks: Tracker = ({ ledger }) => {
  const holder = promiseHooks as unknown as Record<string, Install>
  return undoAll(
    ['createHook', 'onInit', 'onBefore', 'onAfter', 'onSettled'].map((method) =>
      replaceProperty(holder, method, (original) => (...args) => {
        const stop = original(...args)
        if (isCalledByNode()) return stop
        const entry = ledger.add({
          isAlive: () => true,
          describe: () => ({ kind: 'async-hook', detail: `\`v8.promiseHooks.${method}()\`` }),
        })
        return () => {
          ledger.remove(entry)
          return stop()
        }
      }),
    ),
  )
}

/** Before Node 24, `AsyncLocalStorage` uses them. */
function isCalledByNode(): boolean {
  const caller = rawFramesOf(takeTrace()).find((frame) => !isOwnFrame(frame))
  return caller === undefined || isNodeFrame(caller)
}
