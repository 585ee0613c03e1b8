import type { EntryContext, Ledger } from '../ledger.ts'
import { currentOrigin } from '../origin.ts'
import { PROCESS_SETTINGS } from '../process-settings.ts'
import { replaceProperty, setterOf, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** Who has changed what there is once in a process, as far as that takes a call or an assignment that can be seen. */
export const trackProcessSetters: Tracker = ({ ledger }) =>
  undoAll([
    ...PROCESS_SETTINGS.flatMap(({ name, calls = [], accessor }) => [
      ...calls.map(([owner, method]) => noteCalls(ledger, owner, method, name)),
      ...(accessor === undefined ? [] : [noteAssignments(ledger, accessor, name)]),
    ]),
    noteEnvironment(ledger),
  ])

/** A function that this release of Node does not have changes nothing. */
function noteCalls(ledger: Ledger, owner: object, method: string, state: string): Undo {
  const target = owner as Record<string, Call>
  if (typeof target[method] !== 'function') return () => {}
  return replaceProperty(
    target,
    method,
    (original) =>
      function noted(...args) {
        if (args.length > 0) ledger.noteSetter(state, present())
        return original.apply(this, args)
      },
  )
}

function noteAssignments(ledger: Ledger, [owner, key]: readonly [object, string], state: string): Undo {
  const own = Object.getOwnPropertyDescriptor(owner, key)
  const set = setterOf(own)
  if (own?.configurable !== true || set === undefined) return () => {}
  const noted: PropertyDescriptor = {
    ...own,
    set(value) {
      if (!isUnobserved()) ledger.noteSetter(state, present())
      set.call(this, value)
    },
  }
  Object.defineProperty(owner, key, noted)
  return () => {
    if (Object.getOwnPropertyDescriptor(owner, key)?.set === noted.set) Object.defineProperty(owner, key, own)
  }
}

/** Code that has taken `process.env` before goes on with the original, which is the same variables. */
function noteEnvironment(ledger: Ledger): Undo {
  const own = Object.getOwnPropertyDescriptor(process, 'env')
  const original = process.env
  const note = (name: string | symbol) => ledger.noteSetter(`process.env.${String(name)}`, present())
  const env = new Proxy(original, {
    set(target, name, value) {
      note(name)
      return Reflect.set(target, name, value)
    },
    defineProperty(target, name, descriptor) {
      note(name)
      return Reflect.defineProperty(target, name, descriptor)
    },
    deleteProperty(target, name) {
      note(name)
      return Reflect.deleteProperty(target, name)
    },
  })
  if (own?.configurable !== true || !('value' in own)) return () => {}
  Object.defineProperty(process, 'env', { ...own, value: env })
  return () => {
    if (process.env === env) Object.defineProperty(process, 'env', own)
  }
}

function present(): EntryContext {
  return { trace: takeTrace(), origin: currentOrigin() }
}
