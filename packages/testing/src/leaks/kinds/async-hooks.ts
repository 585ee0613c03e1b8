import { type AsyncHook, createHook } from 'node:async_hooks'
import type { Entry } from '../ledger.ts'
import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

/** Enabled async hooks. Each one slows down every promise of the process. */
export const trackAsyncHooks: Tracker = ({ ledger }) => {
  const prototype = Object.getPrototypeOf(createHook({})) as AsyncHook
  const enabled = new Map<AsyncHook, Entry>()
  const undoEnable = replaceProperty(
    prototype,
    'enable',
    (original) =>
      function enable(this: AsyncHook) {
        const result = original.call(this)
        if (!enabled.has(this) && !isUnobserved() && !isByAsyncLocalStorage()) {
          const isAlive = () => enabled.has(this)
          enabled.set(this, ledger.add({ isAlive, describe: () => ({ kind: 'async-hook' }) }))
        }
        return result
      },
  )
  const undoDisable = replaceProperty(
    prototype,
    'disable',
    (original) =>
      function disable(this: AsyncHook) {
        enabled.delete(this)
        return original.call(this)
      },
  )
  return undoAll([undoEnable, undoDisable])
}

/** Before Node 24 the first use of an `AsyncLocalStorage` enables a hook of Node, which stays. */
function isByAsyncLocalStorage(): boolean {
  return /\bAsyncLocalStorage\._enable\b/.test(new Error().stack ?? '')
}
