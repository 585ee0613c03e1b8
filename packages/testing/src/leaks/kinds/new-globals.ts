import type { Tracker } from '../tracker.ts'

/**
 * Who has added a global. A new property of `globalThis` is looked for along its prototypes first, and there a proxy sees the
 * assignment. A global that exists already, or is defined with `Object.defineProperty()`, does not come by.
 */
export const trackNewGlobals: Tracker = ({ ledger }) => {
  const parent = Object.getPrototypeOf(globalThis) as object | null
  const inherited = parent === null ? null : (Object.getPrototypeOf(parent) as object | null)
  if (parent === null || inherited === null) return () => {}
  const door = new Proxy(Object.create(inherited) as object, {
    set(target, key, value, receiver) {
      if (typeof key === 'string' && receiver === globalThis) ledger.noteSetter(`globalThis.${key}`)
      return Reflect.set(target, key, value, receiver)
    },
  })
  // A context of node:vm may have other prototypes, and a hardened one does not let them be changed.
  if (!Reflect.setPrototypeOf(parent, door)) return () => {}
  return () => {
    if (Object.getPrototypeOf(parent) === door) Object.setPrototypeOf(parent, inherited)
  }
}
