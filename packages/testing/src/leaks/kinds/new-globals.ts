import type { Tracker } from '../tracker.ts'

/**
 * Records where a global was added. An assignment of a new property searches the prototypes of `globalThis` first, and a proxy there
 * observes it. It does not observe existing globals or `Object.defineProperty()`.
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
