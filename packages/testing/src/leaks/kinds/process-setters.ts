import util, { inspect } from 'node:util'
import type { Ledger } from '../ledger.ts'
import { PROCESS_SETTINGS } from '../process-settings.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'
import { watchAssignments } from '../watch-assignments.ts'

type Call = (this: unknown, ...args: unknown[]) => unknown

/** Records the origin of changes to process state, if the call or assignment can be observed. */
export const trackProcessSetters: Tracker = ({ ledger }) =>
  undoAll([
    ...PROCESS_SETTINGS.flatMap(({ name, calls = [], property }) => [
      ...calls.map(([owner, method]) => noteCalls(ledger, owner, method, name)),
      ...(property === undefined ? [] : [noteAssignments(ledger, property(), name)]),
    ]),
    replaceObject(
      process,
      'env',
      noting(ledger, process.env, (name) => `process.env.${name}`),
    ),
    ...(['argv', 'execArgv'] as const).map((list) =>
      replaceObject(
        process,
        list,
        noting(ledger, process[list], () => `process.${list}`),
      ),
    ),
    noteInspectOptions(ledger),
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
        if (isChange(method, args.length)) ledger.noteSetter(state)
        return original.apply(this, args)
      },
  )
}

/** Without arguments a setter reads. `events.setMaxListeners()` changes the default only if it gets no targets. */
function isChange(method: string, count: number): boolean {
  if (method === 'setMaxListeners') return count === 1
  return count > 0 || method.endsWith('able')
}

function noteAssignments(ledger: Ledger, [owner, key]: readonly [object, string], state: string): Undo {
  return watchAssignments(owner, key, () => {
    if (!isUnobserved()) ledger.noteSetter(state)
  })
}

/** The same object, but it records its changes. Code that copied the original earlier continues to use it. */
function noting<T extends object>(ledger: Ledger, original: T, stateOf: (name: string) => string): T {
  const note = (name: string | symbol) => ledger.noteSetter(stateOf(String(name)))
  return new Proxy(original, {
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
}

function replaceObject<T extends object, K extends keyof T>(owner: T, key: K, value: T[K]): Undo {
  const own = Object.getOwnPropertyDescriptor(owner, key)
  if (own?.configurable !== true || !('value' in own)) return () => {}
  Object.defineProperty(owner, key, { ...own, value })
  return () => {
    if (owner[key] === value) Object.defineProperty(owner, key, own)
  }
}

/** Neither the property `defaultOptions` nor the options can be redefined, but the function that they belong to can be replaced. */
function noteInspectOptions(ledger: Ledger): Undo {
  const state = 'util.inspect.defaultOptions'
  const options = noting(ledger, inspect.defaultOptions, () => state)
  const watched = new Proxy(inspect, {
    get: (target, key) => (key === 'defaultOptions' ? options : (Reflect.get(target, key) as unknown)),
    set(target, key, value) {
      if (key === 'defaultOptions') ledger.noteSetter(state)
      return Reflect.set(target, key, value)
    },
  })
  return replaceObject(util, 'inspect', watched)
}
