import module from 'node:module'
import { replaceProperty, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'

interface Hooks {
  deregister(): void
}

type Register = (...args: unknown[]) => Hooks

/** Hooks of the module loader that are registered in this thread, where this Node has them. */
export const trackModuleHooks: Tracker = ({ ledger }) => {
  const holder = module as unknown as { registerHooks?: Register }
  if (holder.registerHooks === undefined) return () => {}
  const registered = new WeakSet<object>()
  const probe = holder.registerHooks({})
  probe.deregister()
  const undoRegister = replaceProperty(
    holder as { registerHooks: Register },
    'registerHooks',
    (original) =>
      (...args) => {
        const hooks = original(...args)
        registered.add(hooks)
        ledger.add({ isAlive: () => registered.has(hooks), describe: () => ({ kind: 'module-hook' }) })
        return hooks
      },
  )
  const undoDeregister = replaceProperty(
    Object.getPrototypeOf(probe) as Hooks,
    'deregister',
    (original) =>
      function deregister(this: Hooks) {
        registered.delete(this)
        original.call(this)
      },
  )
  return undoAll([undoRegister, undoDeregister])
}
