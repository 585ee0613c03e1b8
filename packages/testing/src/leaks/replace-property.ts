/** Undoes a change. Calling it again does nothing. */
export type Undo = () => void

/**
 * Replaces a property and returns the function that puts back exactly what was there: the same descriptor, or none where the
 * property was inherited. Where somebody else has replaced it since, theirs stays.
 */
export function replaceProperty<T extends object, K extends keyof T>(
  target: T,
  key: K,
  make: (original: T[K]) => T[K],
): Undo {
  const own = Object.getOwnPropertyDescriptor(target, key)
  const original = target[key]
  const value = make(original)
  copyProperties(original, value)
  const writable = own === undefined || 'value' in own
  Object.defineProperty(
    target,
    key,
    writable
      ? { value, configurable: true, enumerable: own?.enumerable ?? false, writable: own?.writable ?? true }
      : { get: () => value, configurable: true, enumerable: own.enumerable ?? false },
  )
  return () => {
    if (target[key] !== value) return
    if (own === undefined) delete target[key]
    else Object.defineProperty(target, key, own)
  }
}

/** Undoes several changes, last one first. */
export function undoAll(undos: readonly Undo[]): Undo {
  return () => {
    for (const undo of undos.toReversed()) undo()
  }
}

/** A function stands in for another better when it has its name, its length and its custom properties. */
function copyProperties(from: unknown, to: unknown): void {
  if (typeof from !== 'function' || typeof to !== 'function' || from === to) return
  for (const [key, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(from))) {
    if (key !== 'prototype' && key !== 'arguments' && key !== 'caller') Object.defineProperty(to, key, descriptor)
  }
  for (const key of Object.getOwnPropertySymbols(from)) {
    const descriptor = Object.getOwnPropertyDescriptor(from, key)
    if (descriptor !== undefined) Object.defineProperty(to, key, descriptor)
  }
}
