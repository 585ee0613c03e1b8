import { setterOf, type Undo } from './replace-property.ts'

/**
 * Calls `note` before every assignment to a property. The returned undo restores the property with its latest value.
 *
 * Does nothing if the property cannot be redefined. Do not use it for native properties of Node that appear as values, such as
 * `process.title`: redefining them breaks them.
 */
export function watchAssignments(owner: object, key: string, note: () => void): Undo {
  const own = Object.getOwnPropertyDescriptor(owner, key)
  if (own?.configurable === false || own?.writable === false) return () => {}
  const watched = own !== undefined && !('value' in own) ? watchedAccessor(own, note) : watchedValue(owner, key, note)
  if (watched === undefined) return () => {}
  Object.defineProperty(owner, key, watched.descriptor)
  return () => {
    const present = Object.getOwnPropertyDescriptor(owner, key)
    if (present === undefined || setterOf(present) !== setterOf(watched.descriptor)) return
    const original = watched.original()
    if (original === undefined) Reflect.deleteProperty(owner, key)
    else Object.defineProperty(owner, key, original)
  }
}

interface Watched {
  readonly descriptor: PropertyDescriptor
  /** The descriptor to restore. Undefined for a property that did not exist and was not assigned. */
  readonly original: () => PropertyDescriptor | undefined
}

function watchedAccessor(own: PropertyDescriptor, note: () => void): Watched | undefined {
  const set = setterOf(own)
  if (set === undefined) return undefined
  const descriptor: PropertyDescriptor = {
    ...own,
    set(value) {
      note()
      set.call(this, value)
    },
  }
  return { descriptor, original: () => own }
}

function watchedValue(owner: object, key: string, note: () => void): Watched {
  const own = Object.getOwnPropertyDescriptor(owner, key)
  let original = own
  const descriptor: PropertyDescriptor = {
    configurable: true,
    enumerable: own?.enumerable ?? false,
    get: () => original?.value as unknown,
    set(value) {
      const assigned = { enumerable: true, ...own, configurable: true, writable: true, value: value as unknown }
      if (this === owner) {
        note()
        original = assigned
      } else {
        Object.defineProperty(this, key, assigned) // Assigned on an object that inherits from it.
      }
    },
  }
  return { descriptor, original: () => original }
}
