import { textOf } from '@tenure/core/internal'
import type { Ledger } from '../ledger.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

interface AsyncWait {
  readonly async: boolean
  readonly value: unknown
}

interface LockManager {
  request(...args: unknown[]): Promise<unknown>
}

type WaitAsync = (...args: unknown[]) => AsyncWait

/** Waits for shared memory, and locks of `navigator.locks` that are held or waited for, until they are over. */
export const trackPendingWaits: Tracker = ({ ledger }) => undoAll([watchAtomics(ledger), watchLocks(ledger)])

function watchAtomics(ledger: Ledger): Undo {
  const holder = Atomics as unknown as { waitAsync?: WaitAsync }
  if (holder.waitAsync === undefined) return () => {}
  return replaceProperty(holder as { waitAsync: WaitAsync }, 'waitAsync', (original) => (...args) => {
    const wait = original(...args)
    if (wait.async && wait.value instanceof Promise) enter(ledger, wait.value, '`Atomics.waitAsync()`')
    return wait
  })
}

function watchLocks(ledger: Ledger): Undo {
  const { navigator } = globalThis as { navigator?: { readonly locks?: LockManager } }
  if (navigator?.locks === undefined) return () => {}
  return replaceProperty(
    Object.getPrototypeOf(navigator.locks) as LockManager,
    'request',
    (original) =>
      function request(this: LockManager, ...args) {
        const released = original.apply(this, args)
        enter(ledger, released, `lock \`${textOf(args[0])}\``)
        return released
      },
  )
}

function enter(ledger: Ledger, promise: Promise<unknown>, detail: string): void {
  const entry = ledger.add({ isAlive: () => true, describe: () => ({ kind: 'wait', detail }) })
  const over = () => ledger.remove(entry)
  promise.then(over, over)
}
