/** Undoes a change. Calling it again does nothing. */
export type Undo = () => void

/**
 * Replaces a function. The returned undo restores the same descriptor, or removes the property if it was inherited.
 *
 * If other code has replaced the function since, its replacement stays. A wrapper around this replacement then calls the original.
 * The replacement has the name, the length, the prototype and the properties of the original.
 */
export function replaceProperty<T extends object, K extends keyof T>(
  target: T,
  key: K,
  make: (original: T[K]) => T[K],
): Undo {
  const own = Object.getOwnPropertyDescriptor(target, key)
  const original = target[key]
  const replacement = make(original)
  let isActive = true
  const value = standingIn(original, () => (isActive ? replacement : original))
  const { enumerable = false, writable = true } = own ?? {}
  const isData = own === undefined || 'value' in own
  const descriptor = isData ? { value, writable, enumerable } : { get: () => value, enumerable }
  Object.defineProperty(target, key, { ...descriptor, configurable: true })
  return () => {
    isActive = false
    if (target[key] !== value) return
    if (own === undefined) delete target[key]
    else Object.defineProperty(target, key, own)
  }
}

/** The setter of an accessor. */
export function setterOf(descriptor: PropertyDescriptor = {}): ((this: unknown, value: unknown) => void) | undefined {
  const set: unknown = Reflect.get(descriptor, 'set')
  return typeof set === 'function' ? (set as (this: unknown, value: unknown) => void) : undefined
}

/** Undoes several changes, last one first. */
export function undoAll(undos: readonly Undo[]): Undo {
  return () => {
    for (const undo of undos.toReversed()) undo()
  }
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown

function standingIn<F>(original: F, present: () => F): F {
  const current = present as () => AnyFunction
  return new Proxy(original as AnyFunction, {
    apply: (_target, self, args) => Reflect.apply(current(), self, args),
    construct: (_target, args, newTarget) => Reflect.construct(current(), args, newTarget) as object,
  }) as F
}
